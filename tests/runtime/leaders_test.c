/* Two processes edit one folder, and the one that syncs is killed a hundred times: the other one
 * takes over each time, a third one joins, and every edit that either acknowledged arrives once.
 *
 *   leaders_test PATH-OF-KEDGE-SERVER
 *   leaders_test --edit FOLDER URL FIRST-TOKEN     one of the processes */
#include "common/json.h"
#include "tests/runtime/client.h"
#include "tests/support/files.h"
#include "tests/support/history.h"
#include "tests/support/server_process.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS            100
#define EDITORS          2
#define TOKENS_A_PROCESS 1000
#define TOKENS_MAX       ((KILLS + EDITORS) * TOKENS_A_PROCESS)
#define EDITS_A_SYNC     3
#define SYNC_TIMEOUT_MS  120000
#define LINE_BYTES       32

static const char *server_program;

/* ---- a process that edits ---- */

/* Edits and syncs until it is killed. After each edit it writes one line: its token, and whether
 * this process does the syncing. */
static int edit_until_killed(const char *folder, const char *url, long token)
{
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_options options = client_options(folder, url);
    if (kedge_open(&options, &db, &error) != KEDGE_OK) return 3;
    for (long i = 0; i < TOKENS_A_PROCESS; i++, token++) {
        char args[128], line[LINE_BYTES];
        kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
        int size = snprintf(args, sizeof args,
                            "{\"collection\":\"notes\",\"id\":\"t%ld\",\"value\":{\"token\":%ld}}",
                            token, token);
        if (kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error) != KEDGE_OK) return 4;
        if (kedge_get_sync_status(db, &status, &error) != KEDGE_OK) return 5;
        size = snprintf(line, sizeof line, "%ld %d\n", token, status.connection != KEDGE_FOLLOWER);
        if (write(STDOUT_FILENO, line, (size_t)size) != size) return 6;
        if (i % EDITS_A_SYNC == EDITS_A_SYNC - 1 &&
            kedge_sync(db, SYNC_TIMEOUT_MS, &error) != KEDGE_OK)
            return 7;
    }
    return 8; /* it should have been killed before */
}

/* ---- the one that kills ---- */

typedef struct editor {
    pid_t pid;
    FILE *lines;
    long led;        /* the newest lines in a row in which it was the one that syncs */
    long kill_after; /* so many of these lines */
} editor;

typedef struct world {
    char root[CLIENT_PATH_SIZE];
    char folder[FILES_PATH_BYTES];
    server_process server;
    editor editors[EDITORS];
    long started;
    unsigned char acknowledged[TOKENS_MAX];
    unsigned char arrived[TOKENS_MAX];
} world;

/* Always the same numbers, so that processes are killed at the same points in each run. */
static long draw(long least, long most)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least + (long)(state % (uint64_t)(most - least + 1));
}

static void start_editor(world *w, editor *one)
{
    int ends[2];
    char token[LINE_BYTES];
    snprintf(token, sizeof token, "%ld", w->started++ * TOKENS_A_PROCESS);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "leaders_test", "--edit", w->folder, w->server.url, token,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_true(child > 0);
    *one = (editor){.pid = child, .lines = fdopen(ends[0], "r"), .kill_after = draw(1, 7)};
    assert_non_null(one->lines);
    assert_int_equal(setvbuf(one->lines, NULL, _IONBF, 0), 0);
}

static void take_line(world *w, editor *one, const char *line)
{
    long token = 0;
    int leads = 0;
    assert_int_equal(sscanf(line, "%ld %d", &token, &leads), 2);
    assert_true(token >= 0 && token < TOKENS_MAX);
    w->acknowledged[token] = 1;
    one->led = leads ? one->led + 1 : 0;
}

static void read_line(world *w, editor *one)
{
    char line[LINE_BYTES];
    if (fgets(line, sizeof line, one->lines)) {
        take_line(w, one, line);
        return;
    }
    int status = 0;
    waitpid(one->pid, &status, 0);
    fail_msg("a process ended by itself with status %d", status);
}

/* Kills the process, and then reads the rest of its lines: their edits are acknowledged, too. */
static void kill_editor(world *w, editor *one)
{
    char line[LINE_BYTES];
    int status = 0;
    assert_int_equal(kill(one->pid, SIGKILL), 0);
    assert_int_equal(waitpid(one->pid, &status, 0), one->pid);
    assert_true(WIFSIGNALED(status));
    while (fgets(line, sizeof line, one->lines))
        if (strchr(line, '\n')) take_line(w, one, line);
    fclose(one->lines);
}

/* Waits for a line of any process. The streams are unbuffered, so that poll sees each line. */
static void read_any(world *w)
{
    struct pollfd set[EDITORS];
    for (int i = 0; i < EDITORS; i++)
        set[i] = (struct pollfd){.fd = fileno(w->editors[i].lines), .events = POLLIN};
    if (poll(set, EDITORS, SYNC_TIMEOUT_MS) <= 0) fail_msg("no process makes an edit any more");
    for (int i = 0; i < EDITORS; i++)
        if (set[i].revents) read_line(w, &w->editors[i]);
}

static void count_arrival(void *context, kedge_bytes mutation)
{
    world *w = context;
    kedge_bytes args, value;
    int64_t token = -1;
    assert_true(kedge_json_member(mutation, "args", &args));
    assert_true(kedge_json_member(args, "value", &value));
    assert_true(kedge_json_member_integer(value, "token", &token));
    assert_true(token >= 0 && token < TOKENS_MAX);
    w->arrived[token]++;
}

static void check_arrivals(world *w)
{
    kedge_error error = {0};
    kedge_options options = client_options(w->folder, w->server.url);
    kedge_db *db = client_open(&options);
    if (kedge_sync(db, SYNC_TIMEOUT_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(client_status(db).pending, 0);
    assert_int_equal(client_status(db).rejected, 0);
    if (history_visit(db, SYNC_TIMEOUT_MS, count_arrival, w, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    kedge_close(db);
    long acknowledged = 0;
    for (long token = 0; token < TOKENS_MAX; token++) {
        acknowledged += w->acknowledged[token];
        if (w->acknowledged[token] && w->arrived[token] == 0) fail_msg("edit %ld is lost", token);
        if (w->arrived[token] > 1) fail_msg("edit %ld arrived twice", token);
    }
    print_message("%d kills of the process that syncs, %ld acknowledged edits\n", KILLS,
                  acknowledged);
    assert_true(acknowledged > KILLS);
}

static void test_a_leader_that_is_killed_a_hundred_times_loses_no_edit(void **state)
{
    world *w = *state;
    int kills = 0;
    for (int i = 0; i < EDITORS; i++)
        start_editor(w, &w->editors[i]);
    while (kills < KILLS) {
        read_any(w);
        for (int i = 0; i < EDITORS; i++) {
            editor *one = &w->editors[i];
            if (one->led < one->kill_after) continue;
            kill_editor(w, one);
            start_editor(w, one);
            kills++;
        }
    }
    for (int i = 0; i < EDITORS; i++)
        kill_editor(w, &w->editors[i]);
    check_arrivals(w);
}

static int make_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    char data[FILES_PATH_BYTES];
    assert_non_null(w);
    client_make_folder(w->root);
    files_path(w->folder, w->root, "client");
    files_path(data, w->root, "server");
    server_process_start(&w->server, server_program, data);
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    world *w = *state;
    server_process_stop(&w->server);
    client_remove_folder(w->root);
    free(w);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_leader_that_is_killed_a_hundred_times_loses_no_edit,
                                        make_world, end_world),
    };
    if (argc == 5 && strcmp(argv[1], "--edit") == 0)
        return edit_until_killed(argv[2], argv[3], strtol(argv[4], NULL, 10));
    if (argc != 2) return 2;
    server_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
