/* kedge_one_thread ends a program that starts a thread, and lets others be. The test starts itself
 * under it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *launcher, *self;

static void *do_nothing(void *argument)
{
    return argument;
}

static int wait_for(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* What this program does under the launcher. */
static int play(const char *part)
{
    if (strcmp(part, "thread") == 0) {
        pthread_t thread;
        int failure = pthread_create(&thread, NULL, do_nothing, NULL);
        if (failure == 0) pthread_join(thread, NULL);
        return 0; /* whether there was a thread or not */
    }
    if (strcmp(part, "process") == 0) {
        pid_t child = fork();
        if (child == 0) _exit(7);
        return wait_for(child);
    }
    if (strcmp(part, "abort") == 0) abort();
    pid_t child = fork(); /* "child": it has a thread of its own */
    if (child == 0) _exit(play("thread"));
    return wait_for(child) < 0 ? 8 : 9;
}

static int launch(const char *part)
{
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        execl(launcher, launcher, self, "--play", part, (char *)NULL);
        _exit(99);
    }
    return wait_for(child);
}

static void test_a_program_that_starts_a_thread_fails(void **state)
{
    (void)state;
    assert_int_equal(launch("thread"), 126);
}

static void test_a_child_that_starts_a_thread_is_killed(void **state)
{
    (void)state;
    assert_int_equal(launch("child"), 8);
}

static void test_a_program_may_start_processes_and_its_status_is_kept(void **state)
{
    (void)state;
    assert_int_equal(launch("process"), 7);
}

static void test_a_program_that_aborts_fails(void **state)
{
    (void)state;
    assert_int_equal(launch("abort"), 134);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--play") == 0) return play(argv[2]);
    if (argc != 2) return 2;
    self = argv[0];
    launcher = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_that_starts_a_thread_fails),
        cmocka_unit_test(test_a_child_that_starts_a_thread_is_killed),
        cmocka_unit_test(test_a_program_may_start_processes_and_its_status_is_kept),
        cmocka_unit_test(test_a_program_that_aborts_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
