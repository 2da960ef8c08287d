/* App mutators in child processes: the good, the crashing, the endless, the talkative.
 *
 * The program is its own child (--mutator-child), and with --hold a server that is killed. */
#include "backend/plugin/plugin.h"
#include "backend/ports/deadline.h"

#include "tests/mutate/tx_fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 90000 /* for what must happen soon, on a machine that is slow */

static char *program;
static char *good_plugin;
static char *empty_plugin;
static char *dying_plugin;
static kedge_environment environment;

typedef struct plugin_fixture {
    kedge_plugin *plugin;
    tx_fixture tx;
    char failed[160]; /* the mutator and the code that were told last */
} plugin_fixture;

static void note_failure(void *context, const char *mutator, const kedge_error *error)
{
    plugin_fixture *fixture = context;
    (void)snprintf(fixture->failed, sizeof fixture->failed, "%s %s", mutator, error->code);
}

static void open_plugin(plugin_fixture *fixture, uint32_t children, int64_t cpu_ms, int64_t wall_ms)
{
    const kedge_mutator *mutators;
    size_t count;
    kedge_error error = {0};
    kedge_plugin_options options = {cpu_ms, wall_ms, children, note_failure, fixture};
    fixture->failed[0] = '\0';
    kedge_status status =
        kedge_plugin_start(&environment, good_plugin, &options, &fixture->plugin, &error);
    if (status != KEDGE_OK) fail_msg("%s", error.message);
    kedge_plugin_mutators(fixture->plugin, &mutators, &count);
    assert_int_equal(count, 19);
    assert_true(tx_fixture_open(&fixture->tx, environment.allocator, mutators, count));
}

static void close_plugin(plugin_fixture *fixture)
{
    tx_fixture_close(&fixture->tx);
    kedge_plugin_stop(fixture->plugin);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void applies(plugin_fixture *fixture, const char *name, const char *args)
{
    kedge_status status = tx_fixture_run(&fixture->tx, name, args);
    if (status != KEDGE_OK) print_error("%s: %s\n", name, fixture->tx.error.message);
    assert_int_equal(status, KEDGE_OK);
}

static void refuses(plugin_fixture *fixture, const char *name, const char *code)
{
    assert_int_equal(tx_fixture_run(&fixture->tx, name, "null"), KEDGE_REJECTED);
    assert_string_equal(fixture->tx.error.code, code);
}

static const char *item(plugin_fixture *fixture, const char *collection, const char *id)
{
    return tx_fixture_item(&fixture->tx, collection, id);
}

/* ---- what works ---- */

static void test_a_plugins_mutators_read_and_write_as_if_they_ran_here(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 2, 10000, 60000);
    applies(&fixture, "count_up", "null");
    applies(&fixture, "count_up", "null");
    assert_string_equal(item(&fixture, "c", "count"), "2");
    assert_int_equal(kedge_overlay_put(fixture.tx.below, KEDGE_BYTES("c"), KEDGE_BYTES(""),
                                       KEDGE_BYTES("\"below\""), NULL),
                     KEDGE_OK);
    applies(&fixture, "move_all", "{\"name\":\"Kitchen\"}");
    assert_null(item(&fixture, "c", "count"));
    assert_string_equal(item(&fixture, "d", "count"), "2");
    assert_string_equal(item(&fixture, "d", ""), "\"below\"");
    assert_string_equal(item(&fixture, "d", "by"), "\"anna editor client-1 1700000000000\"");
    assert_string_equal(item(&fixture, "", ""), "{\"name\":\"Kitchen\"}");
    assert_int_equal(kedge_registry_find(fixture.tx.registry, KEDGE_BYTES("count_up"))->version, 3);
    close_plugin(&fixture);
}

static char *make_large(size_t size, char letter)
{
    char *made = malloc(size + 1);
    assert_non_null(made);
    memset(made, letter, size);
    made[0] = made[size - 1] = '"';
    made[size] = '\0';
    return made;
}

static void test_a_plugin_takes_the_largest_args_and_reads_and_writes_the_largest_item(void **state)
{
    (void)state;
    plugin_fixture fixture;
    char *value = make_large(KEDGE_LIMIT_ITEM_BYTES, 'v');
    char *args = make_large(KEDGE_LIMIT_ARGS_BYTES, 'a');
    open_plugin(&fixture, 1, 60000, 60000);
    assert_int_equal(kedge_overlay_put(fixture.tx.below, KEDGE_BYTES("c"), KEDGE_BYTES("large"),
                                       kedge_bytes_of(value), NULL),
                     KEDGE_OK);
    applies(&fixture, "copy_large", args);
    assert_string_equal(item(&fixture, "d", "large"), value);
    assert_string_equal(item(&fixture, "d", "args"), args);
    close_plugin(&fixture);
    free(args);
    free(value);
}

static void test_a_plugin_refuses_with_its_own_code(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    refuses(&fixture, "refuse", "not-today");
    assert_string_equal(fixture.tx.error.message, "come back tomorrow");
    assert_int_equal(tx_fixture_run(&fixture.tx, "move_all", "7"), KEDGE_REJECTED);
    assert_string_equal(fixture.tx.error.code, "project-record-invalid");
    assert_int_equal(kedge_overlay_count(fixture.tx.overlay), 0);
    close_plugin(&fixture);
}

static void test_a_failed_read_leaves_the_mutation_undecided(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    fixture.tx.fail_read = 1;
    assert_int_equal(tx_fixture_run(&fixture.tx, "count_up", "null"), KEDGE_IO);
    assert_string_equal(fixture.tx.error.code, "read-failed");
    applies(&fixture, "count_up", "null");
    assert_string_equal(item(&fixture, "c", "count"), "1");
    close_plugin(&fixture);
}

static void test_a_child_holds_no_file_of_the_server(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 2, 10000, 60000);
    applies(&fixture, "files", "null");
    assert_string_equal(item(&fixture, "c", "files"), "\"0 1 2 3 \"");
    close_plugin(&fixture);
}

/* ---- what does not ---- */

static void test_a_mutator_that_ends_its_process_costs_only_its_own_mutation(void **state)
{
    (void)state;
    static const char *const crashes[] = {"fault", "abort", "exit_well", "garbage"};
    char count[8], told[64];
    plugin_fixture fixture;
    open_plugin(&fixture, 2, 10000, 60000);
    for (int i = 0; i < 4; i++) {
        refuses(&fixture, crashes[i], "mutator-crashed");
        (void)snprintf(told, sizeof told, "%s mutator-crashed", crashes[i]);
        assert_string_equal(fixture.failed, told);
        assert_non_null(strstr(fixture.tx.error.message, crashes[i]));
        applies(&fixture, "count_up", "null");
        snprintf(count, sizeof count, "%d", i + 1);
        assert_string_equal(item(&fixture, "c", "count"), count);
    }
    close_plugin(&fixture);
}

static void test_a_mutator_that_loops_is_ended_by_its_cpu_limit(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 100, 600000);
    refuses(&fixture, "loop", "mutator-timeout");
    applies(&fixture, "count_up", "null");
    close_plugin(&fixture);
}

static void test_a_mutator_that_hangs_is_ended_by_its_time_limit(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 500);
    refuses(&fixture, "hang", "mutator-timeout");
    close_plugin(&fixture);
}

static void test_what_one_mutation_leaves_behind_does_not_harm_the_next(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "poison", "null");
    applies(&fixture, "count_up", "null");
    assert_string_equal(item(&fixture, "c", "count"), "1");
    applies(&fixture, "chatter", "2");
    applies(&fixture, "count_up", "null");
    assert_string_equal(item(&fixture, "c", "count"), "2");
    close_plugin(&fixture);
}

static void test_a_child_that_died_while_idle_is_replaced(void **state)
{
    (void)state;
    plugin_fixture fixture;
    siginfo_t info;
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "process", "null");
    pid_t first = (pid_t)strtol(item(&fixture, "c", "process"), NULL, 10);
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    applies(&fixture, "process", "null");
    assert_int_not_equal(strtol(item(&fixture, "c", "process"), NULL, 10), first);
    close_plugin(&fixture);
}

/* `times` files, which is how often its process is killed. */
static kedge_status run_killed(plugin_fixture *fixture, int times)
{
    char folder[] = "/tmp/kedge-plugin-test-XXXXXX";
    char path[128], args[128];
    assert_non_null(mkdtemp(folder));
    for (int i = 1; i <= times; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        FILE *file = fopen(path, "wx");
        assert_non_null(file);
        fclose(file);
    }
    snprintf(args, sizeof args, "\"%s/\"", folder);
    kedge_status status = tx_fixture_run(&fixture->tx, "is_killed", args);
    assert_int_equal(rmdir(folder), 0); /* so often it was killed */
    return status;
}

static void test_a_mutation_whose_new_process_is_killed_is_run_by_another(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    assert_int_equal(run_killed(&fixture, 1), KEDGE_OK);
    assert_string_equal(item(&fixture, "c", "alive"), "true");
    assert_null(item(&fixture, "c", "half"));
    /* This one has run a mutation, so that it does not count. */
    assert_int_equal(run_killed(&fixture, 3), KEDGE_OK);
    assert_string_equal(fixture.failed, "");
    close_plugin(&fixture);
    open_plugin(&fixture, 1, 10000, 60000);
    assert_int_equal(run_killed(&fixture, 3), KEDGE_REJECTED);
    assert_string_equal(fixture.tx.error.code, "mutator-crashed");
    assert_int_equal(kedge_overlay_count(fixture.tx.overlay), 0);
    close_plugin(&fixture);
}

/* ---- many at once ---- */

#define THREADS 8
#define TURNS   12

typedef struct plugin_worker {
    pthread_t thread;
    tx_fixture tx;
    bool crashes;
    int wrong;
} plugin_worker;

static void *work(void *context)
{
    plugin_worker *worker = context;
    for (int i = 0; i < TURNS; i++) {
        const char *name = worker->crashes && i % 4 == 0 ? "abort" : "count_up";
        kedge_status expected = name[0] == 'a' ? KEDGE_REJECTED : KEDGE_OK;
        if (tx_fixture_run(&worker->tx, name, "null") != expected) worker->wrong++;
    }
    return NULL;
}

static void test_threads_share_the_children_and_a_crash_harms_no_other(void **state)
{
    (void)state;
    static plugin_worker workers[THREADS];
    const kedge_mutator *mutators;
    size_t count;
    plugin_fixture fixture;
    open_plugin(&fixture, 3, 10000, 60000);
    kedge_plugin_mutators(fixture.plugin, &mutators, &count);
    for (int i = 0; i < THREADS; i++) {
        assert_true(tx_fixture_open(&workers[i].tx, environment.allocator, mutators, count));
        workers[i].crashes = i < 2;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        assert_string_equal(tx_fixture_item(&workers[i].tx, "c", "count"), i < 2 ? "9" : "12");
        tx_fixture_close(&workers[i].tx);
    }
    close_plugin(&fixture);
}

/* ---- the deadline of the thread ---- */

static bool is_over(void *context)
{
    return *(bool *)context;
}

/* Nothing is decided, so the mutation may be pushed again; its process is ended. */
static void test_a_mutation_that_nobody_waits_for_is_left_undecided(void **state)
{
    (void)state;
    plugin_fixture fixture;
    bool over = false;
    kedge_deadline deadline = {.environment = &environment,
                               .slice_end_ms = INT64_MAX,
                               .end_ms = environment.monotonic_ms(environment.context) + 300,
                               .is_cancelled = is_over,
                               .context = &over};
    open_plugin(&fixture, 1, 600000, 600000);
    kedge_deadline_set(&deadline);
    assert_int_equal(tx_fixture_run(&fixture.tx, "hang", "null"), KEDGE_UNAVAILABLE);
    assert_string_equal(fixture.tx.error.code, "deadline-exceeded");
    deadline.end_ms = INT64_MAX;
    over = true;
    assert_int_equal(tx_fixture_run(&fixture.tx, "count_up", "null"), KEDGE_UNAVAILABLE);
    kedge_deadline_set(NULL);
    applies(&fixture, "count_up", "null");
    assert_string_equal(item(&fixture, "c", "count"), "1");
    close_plugin(&fixture);
}

/* ---- starting and ending ---- */

static void refuses_to_start(const char *path, const char *word)
{
    kedge_error error = {0};
    kedge_plugin *plugin = NULL;
    kedge_plugin_options options = KEDGE_PLUGIN_OPTIONS_INIT;
    assert_int_equal(kedge_plugin_start(&environment, path, &options, &plugin, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_null(plugin);
    assert_string_equal(error.code, "plugin-invalid");
    if (strstr(error.message, path) == NULL || strstr(error.message, word) == NULL) {
        fail_msg("\"%s\" names not both %s and %s", error.message, path, word);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_a_library_that_is_no_plugin_is_refused_with_the_reason(void **state)
{
    (void)state;
    refuses_to_start("/no/such/plugin.so", "No such file");
    refuses_to_start("/dev/null", "/dev/null");
    refuses_to_start(empty_plugin, KEDGE_PLUGIN_ENTRY);
    refuses_to_start(dying_plugin, "loaded");
}

static void test_a_plugin_is_named_by_its_file_alone_in_its_folder(void **state)
{
    (void)state;
    char here[4096];
    char folder[4096];
    char *whole = good_plugin;
    char *name = strrchr(good_plugin, '/');
    plugin_fixture fixture;
    assert_non_null(name);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(folder, sizeof folder, "%.*s", (int)(name - good_plugin), good_plugin);
    assert_int_equal(chdir(folder), 0);
    good_plugin = name + 1;
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "count_up", "null");
    close_plugin(&fixture);
    good_plugin = whole;
    assert_int_equal(chdir(here), 0);
}

static void test_a_child_has_no_credentials_in_its_environment(void **state)
{
    (void)state;
    plugin_fixture fixture;
    assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
    assert_int_equal(setenv("LANG", "C.UTF-8", 1), 0);
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "variables", "null");
    assert_string_equal(item(&fixture, "c", "variables"), "\"LANG \"");
    close_plugin(&fixture);
    unsetenv("AWS_SECRET_ACCESS_KEY");
}

static void test_a_mutator_may_start_a_thread(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "thread", "null");
    assert_string_equal(item(&fixture, "c", "thread"), "true");
    close_plugin(&fixture);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void test_a_mutator_starts_no_process_and_becomes_no_other_program(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    refuses(&fixture, "start", "no-fork");
    refuses(&fixture, "exec", "no-exec");
    close_plugin(&fixture);
}
#else
static void test_what_a_mutator_started_ends_with_its_process(void **state)
{
    (void)state;
    plugin_fixture fixture;
    open_plugin(&fixture, 1, 10000, 60000);
    applies(&fixture, "start", "null");
    long started = strtol(item(&fixture, "c", "process"), NULL, 10);
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, (pid_t)started, 0), .events = POLLIN};
    assert_true(ended.fd >= 0);
    assert_int_equal(poll(&ended, 1, 0), 0);
    close_plugin(&fixture);
    assert_int_equal(poll(&ended, 1, WAIT_MS), 1);
    close(ended.fd);
}
#endif

/* A server whose only child runs a mutator that hangs, and says its process on stderr. */
static int hold(void)
{
    kedge_plugin *plugin = NULL;
    const kedge_mutator *mutators;
    size_t count;
    tx_fixture tx;
    kedge_plugin_options options = {
        .cpu_ms_max = WAIT_MS, .wall_ms_max = 2 * WAIT_MS, .children = 1};
    if (kedge_plugin_start(&environment, good_plugin, &options, &plugin, NULL) != KEDGE_OK) {
        return 1;
    }
    kedge_plugin_mutators(plugin, &mutators, &count);
    if (!tx_fixture_open(&tx, environment.allocator, mutators, count)) return 1;
    return tx_fixture_run(&tx, "hang", "true") == KEDGE_OK;
}

static void test_children_die_with_the_server(void **state)
{
    (void)state;
    int ends[2];
    char line[32] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        dup2(ends[1], STDERR_FILENO);
        execl("/proc/self/exe", program, good_plugin, empty_plugin, dying_plugin, "--hold", NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    assert_non_null(fgets(line, sizeof line, output));
    int child = (int)syscall(SYS_pidfd_open, (pid_t)strtol(line, NULL, 10), 0);
    assert_true(child >= 0);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
    struct pollfd ended = {.fd = child, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, WAIT_MS), 1);
    close(child);
    fclose(output);
}

int main(int argc, char **argv)
{
    int code = kedge_plugin_child_dispatch(argc, argv);
    if (code >= 0) return code;
    if (argc < 4) return 2;
    program = argv[0];
    good_plugin = argv[1];
    empty_plugin = argv[2];
    dying_plugin = argv[3];
    environment = kedge_environment_system(NULL);
    if (argc == 5 && strcmp(argv[4], "--hold") == 0) return hold();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plugins_mutators_read_and_write_as_if_they_ran_here),
        cmocka_unit_test(
            test_a_plugin_takes_the_largest_args_and_reads_and_writes_the_largest_item),
        cmocka_unit_test(test_a_plugin_refuses_with_its_own_code),
        cmocka_unit_test(test_a_failed_read_leaves_the_mutation_undecided),
        cmocka_unit_test(test_a_child_holds_no_file_of_the_server),
        cmocka_unit_test(test_a_mutator_that_ends_its_process_costs_only_its_own_mutation),
        cmocka_unit_test(test_a_mutator_that_loops_is_ended_by_its_cpu_limit),
        cmocka_unit_test(test_a_mutator_that_hangs_is_ended_by_its_time_limit),
        cmocka_unit_test(test_what_one_mutation_leaves_behind_does_not_harm_the_next),
        cmocka_unit_test(test_a_child_that_died_while_idle_is_replaced),
        cmocka_unit_test(test_a_mutation_whose_new_process_is_killed_is_run_by_another),
        cmocka_unit_test(test_threads_share_the_children_and_a_crash_harms_no_other),
        cmocka_unit_test(test_a_mutation_that_nobody_waits_for_is_left_undecided),
        cmocka_unit_test(test_a_library_that_is_no_plugin_is_refused_with_the_reason),
        cmocka_unit_test(test_a_plugin_is_named_by_its_file_alone_in_its_folder),
        cmocka_unit_test(test_a_child_has_no_credentials_in_its_environment),
        cmocka_unit_test(test_a_mutator_may_start_a_thread),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_a_mutator_starts_no_process_and_becomes_no_other_program),
#else
        cmocka_unit_test(test_what_a_mutator_started_ends_with_its_process),
#endif
        cmocka_unit_test(test_children_die_with_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
