/* kedge-kill9 --server PROGRAM [--hits N] [--phase NAME]: see kill9.h. Ends 1 when an acknowledged
 * edit is missing or came twice. */
#include "tests/kill9/kill9.h"

#include "common/json.h"
#include "tests/support/files.h"
#include "tests/support/history.h"
#include "tests/support/server_process.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EDITS_A_RUN     48
#define EDITS_AT_LAST   8
#define RUNS_MAX        400 /* a phase that is not hit often enough within these is a failure */
#define TOKENS_MAX      100000
#define RUN_TIMEOUT_MS  600000
#define SYNC_TIMEOUT_MS 120000

static const char *const phases[] = {
    "mutate-before-outbox", "mutate-between-commits", "push-sent",         KILL9_IN_FLIGHT,
    "pull-before-inbox",    "pull-before-cache",      "pull-before-delete"};
#define PHASE_COUNT (sizeof phases / sizeof *phases)

static unsigned char acknowledged[TOKENS_MAX];
static unsigned char arrived[TOKENS_MAX]; /* how often, in the server's history */
static unsigned char inboxed[TOKENS_MAX]; /* how often, in the inbox of rejected edits */

static bool writer_failed; /* then the rest is skipped, and the check tells what is lost */

static void fail(const char *what)
{
    fprintf(stderr, "kill9: %s\n", what);
    exit(1);
}

/* Reads the acknowledged tokens until the writer's end of the pipe is closed. Kills the writer at
 * its n-th push, when that is asked; true when the push was still in flight. */
static bool read_tokens(int file, pid_t child, long kill_at)
{
    FILE *lines = fdopen(file, "r");
    char line[64];
    bool in_flight = false;
    while (lines && fgets(line, sizeof line, lines)) {
        if (line[strlen(line) - 1] != '\n') continue;
        if (strcmp(line, "push\n") == 0 || strcmp(line, "pull\n") == 0) {
            in_flight = line[1] == 'u' && line[2] == 's';
            if (in_flight && --kill_at == 0) kill(child, SIGKILL);
            continue;
        }
        long token = strtol(line, NULL, 10);
        if (token > 0 && token < TOKENS_MAX) acknowledged[token] = 1;
    }
    if (lines) fclose(lines);
    return in_flight;
}

/* Runs one writer in a process of its own; true when it was killed in its phase. */
static bool run_writer(kill9_writer writer)
{
    int ends[2];
    if (pipe(ends) != 0) fail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        writer.report = ends[1];
        alarm(RUN_TIMEOUT_MS / 1000);
        _exit(kill9_write(&writer));
    }
    close(ends[1]);
    bool outside = writer.phase && strcmp(writer.phase, KILL9_IN_FLIGHT) == 0;
    bool in_flight = read_tokens(ends[0], child, outside ? writer.nth : 0);
    int status = 0;
    if (waitpid(child, &status, 0) != child) fail("lost a writer");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return !outside || in_flight;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("  a writer for the phase %s ended with status %d\n",
               writer.phase ? writer.phase : "(none)", status);
        writer_failed = true;
    }
    return false;
}

/* A small generator: the runs are the same each time, the system's timing is not. */
static unsigned long draw(unsigned long below)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned long)(state % below);
}

static long kill_in_phases(const char *folder, const char *url, const char *only, int hits_wanted)
{
    long token = 1;
    for (size_t i = 0; i < PHASE_COUNT && !writer_failed; i++) {
        if (only && strcmp(only, phases[i]) != 0) continue;
        int hits = 0;
        int runs = 0;
        for (; hits < hits_wanted && runs < RUNS_MAX && !writer_failed; runs++) {
            kill9_writer writer = {.folder = folder,
                                   .url = url,
                                   .phase = phases[i],
                                   .nth = 1 + (long)draw(i < 2 ? 40 : 6),
                                   .first_token = token,
                                   .edits = EDITS_A_RUN};
            token += EDITS_A_RUN;
            hits += run_writer(writer);
        }
        printf("  killed %2d times in %-24s (%d runs)\n", hits, phases[i], runs);
        fflush(stdout);
        if (hits < hits_wanted && !writer_failed) fail("a phase was not hit often enough");
    }
    return token;
}

/* Adds one mutation to `arrived`; both outcomes count as an arrival. */
static void count_mutation(void *context, kedge_bytes mutation)
{
    (void)context;
    kedge_bytes args;
    kedge_bytes value;
    kedge_bytes outcome;
    int64_t token = -1;
    if (!kedge_json_member(mutation, "args", &args) || !kedge_json_member(args, "value", &value) ||
        !kedge_json_member_integer(value, "token", &token) || token < 0 || token >= TOKENS_MAX)
        return;
    bool rejected = kedge_json_member(mutation, "outcome", &outcome) &&
                    kedge_json_text_equals(outcome, "rejected");
    if (rejected != kill9_is_rejected((long)token)) fail("an edit has the wrong outcome");
    arrived[token]++;
}

static void read_inbox(kedge_db *db)
{
    kedge_mutation_list *list = NULL;
    kedge_error error = {0};
    if (kedge_rejected_open(db, &list, &error) != KEDGE_OK) fail(error.message);
    kedge_mutation row = KEDGE_MUTATION_INIT;
    while (kedge_mutation_list_next(list, &row, NULL) == KEDGE_OK) {
        kedge_bytes value;
        int64_t token = -1;
        if (kedge_json_member((kedge_bytes){row.args, row.args_size}, "value", &value) &&
            kedge_json_member_integer(value, "token", &token) && token >= 0 && token < TOKENS_MAX) {
            inboxed[token]++;
        }
    }
    kedge_mutation_list_close(list);
}

static int check(const char *folder, const char *url)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = folder;
    options.url = url;
    options.organization = KILL9_ORGANIZATION;
    options.project = KILL9_PROJECT;
    options.mutators = kill9_mutators;
    options.mutator_count = 1;
    options.server_wait_ms = -1;
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    if (kedge_open(&options, &db, &error) != KEDGE_OK) fail(error.message);
    if (kedge_sync(db, SYNC_TIMEOUT_MS, &error) != KEDGE_OK) {
        printf("the last sync failed: %s\n", error.message);
    }
    if (kedge_get_sync_status(db, &status, &error) != KEDGE_OK) fail(error.message);
    if (history_visit(db, SYNC_TIMEOUT_MS, count_mutation, NULL, &error) != KEDGE_OK)
        fail(error.message);
    read_inbox(db);
    kedge_close(db);

    int known = 0;
    int lost = 0;
    int doubled = 0;
    int inbox_wrong = 0;
    for (long token = 0; token < TOKENS_MAX; token++) {
        known += acknowledged[token];
        lost += acknowledged[token] && arrived[token] == 0;
        doubled += arrived[token] > 1;
        inbox_wrong += inboxed[token] != (kill9_is_rejected(token) ? arrived[token] : 0);
    }
    printf("%d acknowledged edits: %d lost, %d arrived twice, %d wrong in the inbox, %lld still "
           "pending\n",
           known, lost, doubled, inbox_wrong, (long long)status.pending);
    return lost || doubled || inbox_wrong || status.pending || known == 0 || writer_failed;
}

int main(int argc, char **argv)
{
    const char *server = NULL;
    const char *only = NULL;
    int hits = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--server") == 0) server = argv[i + 1];
        if (strcmp(argv[i], "--phase") == 0) only = argv[i + 1];
        if (strcmp(argv[i], "--hits") == 0) hits = (int)strtol(argv[i + 1], NULL, 10);
    }
    if (!server || hits < 1) {
        fputs("usage: kedge-kill9 --server PROGRAM [--hits N] [--phase NAME]\n", stderr);
        return 2;
    }
    char folder[256];
    char data[FILES_PATH_BYTES];
    char client[FILES_PATH_BYTES];
    server_process child;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/kedge-kill9.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) fail("no temporary folder");
    files_path(data, folder, "server");
    files_path(client, folder, "client");
    server_process_start(&child, server, data);

    long token = kill_in_phases(client, child.url, only, hits);
    run_writer((kill9_writer){
        .folder = client, .url = child.url, .first_token = token, .edits = EDITS_A_RUN});
    int result = check(client, child.url);
    server_process_stop(&child);
    files_remove_folder(folder);
    return result;
}
