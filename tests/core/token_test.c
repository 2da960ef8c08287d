/* The driver, when a token is refused: by the server, or by somebody else. */
#include "sdk/driver/driver_internal.h"
#include "tests/core/scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/failing_allocator.h"

static void test_a_token_is_asked_for_and_used(void **state)
{
    scripted *s = *state;
    assert_string_equal(s->pull.token, "");
    scripted_refuse_pull(s, 401, "token-missing");
    assert_int_equal(s->tokens_asked, 1);
    assert_false(s->token_doubted);
    assert_int_equal(s->pull.number, 0);
    kedge_driver_token(s->driver, "abc");
    assert_string_equal(s->pull.token, "abc");
    scripted_refuse_pull(s, 401, "token-expired");
    assert_int_equal(s->tokens_asked, 1);
    assert_int_equal(s->connection, KEDGE_STOPPED);
    assert_int_equal(s->error.status, KEDGE_UNAUTHORIZED);
}

static void test_a_token_is_not_lost_for_want_of_memory(void **state)
{
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    scripted *s = test_malloc(sizeof *s);
    scripted_open(s, &memory.allocator);
    assert_non_null(s->driver);
    kedge_driver_start(s->driver);
    scripted_refuse_pull(s, 401, "token-missing");
    failing_allocator_arm(&memory, 1, true);
    kedge_driver_token(s->driver, "abc");
    assert_true(memory.failed > 0);
    failing_allocator_arm(&memory, 0, false);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    while (s->pull.number == 0)
        scripted_timer(s);
    assert_string_equal(s->pull.token, "abc");
    scripted_close(s);
    test_free(s);
}

static void wait_for_pull(scripted *s)
{
    while (s->pull.number == 0)
        scripted_timer(s);
}

/* Somebody else than the server refuses the pull. */
static void doubt(scripted *s, int tokens_asked)
{
    wait_for_pull(s);
    scripted_respond_pull(s, 401, "<html>proxy</html>");
    assert_int_equal(s->tokens_asked, tokens_asked);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    assert_string_equal(s->error.code, "unexpected-status");
}

/* The token that was asked for because of a proxy is one that the server has not refused. */
static void test_a_401_without_a_problem_document_asks_for_one_token_and_does_not_stop(void **state)
{
    scripted *s = *state;
    doubt(s, 1);
    assert_true(s->token_doubted);
    kedge_driver_token(s->driver, "abc");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(s->pull.token, "abc");
        doubt(s, 1);
        scripted_timer(s);
    }
    scripted_refuse_pull(s, 401, "token-expired");
    assert_int_equal(s->tokens_asked, 2);
    assert_false(s->token_doubted);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    kedge_driver_token(s->driver, "def");
    doubt(s, 2);
    scripted_timer(s);
    scripted_refuse_pull(s, 401, "token-expired");
    assert_int_equal(s->tokens_asked, 2);
    assert_int_equal(s->connection, KEDGE_STOPPED);
    assert_int_equal(s->error.status, KEDGE_UNAUTHORIZED);
}

/* A gateway may have refused the token when the app could not renew it. */
static void test_a_token_that_is_doubted_for_long_is_asked_for_again(void **state)
{
    scripted *s = *state;
    int asked = 1;
    for (int failures = 1; failures <= 3 * KEDGE_CORE_DOUBTS; failures++) {
        bool again = failures % KEDGE_CORE_DOUBTS == 0;
        if (again) asked++;
        doubt(s, asked);
        if (failures == 1 || again) kedge_driver_token(s->driver, "abc");
    }
    wait_for_pull(s);
    assert_string_equal(s->pull.token, "abc");
}

static void test_a_pull_that_goes_well_lets_a_proxy_be_doubted_anew(void **state)
{
    scripted *s = *state;
    doubt(s, 1);
    kedge_driver_token(s->driver, "abc");
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_int_equal(s->connection, KEDGE_ONLINE);
    kedge_driver_sync(s->driver);
    doubt(s, 2);
    kedge_driver_token(s->driver, "def");
    wait_for_pull(s);
    assert_string_equal(s->pull.token, "def");
}

static void test_a_proxy_does_not_stop_an_app_without_tokens(void **state)
{
    scripted *s = *state;
    doubt(s, 1);
    kedge_driver_token(s->driver, NULL);
    assert_int_equal(s->connection, KEDGE_CONNECTING);
    for (int i = 0; i < 3; i++)
        doubt(s, 1);
    scripted_timer(s);
    scripted_pulled(s, 0, 0, 0, "", "");
    assert_int_equal(s->connection, KEDGE_ONLINE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scripted_setup, scripted_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_token_is_asked_for_and_used),
        cmocka_unit_test(test_a_token_is_not_lost_for_want_of_memory),
        TEST(test_a_401_without_a_problem_document_asks_for_one_token_and_does_not_stop),
        TEST(test_a_token_that_is_doubted_for_long_is_asked_for_again),
        TEST(test_a_pull_that_goes_well_lets_a_proxy_be_doubted_anew),
        TEST(test_a_proxy_does_not_stop_an_app_without_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
