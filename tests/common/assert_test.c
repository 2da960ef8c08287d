/* KEDGE_ASSERT where it is on: a condition that does not hold ends the process and says where. */
#undef KEDGE_ASSERT_OFF /* a coverage build is without assertions */
#include "common/assert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int broken_line;

static void check_ids(int lmid, int next)
{
    broken_line = __LINE__ + 1;
    KEDGE_ASSERT(lmid < next);
}

/* How the process ends that checks these two, and what it says before. */
static int status_after(int lmid, int next, char *said, size_t said_size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        check_ids(lmid, next);
        _exit(0);
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t got;
    while ((got = read(ends[0], said + size, said_size - 1 - size)) > 0)
        size += (size_t)got;
    said[size] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_condition_that_holds_changes_nothing(void **state)
{
    (void)state;
    char said[512];
    int status = status_after(4, 5, said, sizeof said);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(said, "");
}

static void a_condition_that_does_not_hold_is_printed_and_aborts(void **state)
{
    (void)state;
    char said[512];
    char expected[512];
    int status = status_after(5, 5, said, sizeof said);
    check_ids(4, 5); /* sets the line */
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    snprintf(expected, sizeof expected, "%s:%d: check_ids: assertion failed: lmid < next\n",
             __FILE__, broken_line);
    assert_string_equal(said, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_that_holds_changes_nothing),
        cmocka_unit_test(a_condition_that_does_not_hold_is_printed_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
