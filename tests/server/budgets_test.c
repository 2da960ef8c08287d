/* Budgets of users and organizations: rates, levels, forgotten users, the option. */
#include "backend/http/budgets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int64_t time_ms;

static int64_t told_time(void *context)
{
    (void)context;
    return time_ms;
}

static kedge_environment environment;

static kedge_budgets *start(int64_t user, int64_t organization, kedge_budget budget)
{
    environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    time_ms = 5000;
    kedge_budget_limits limits = kedge_budget_limits_default(true);
    limits.of[budget][KEDGE_BUDGET_OF_USER] = user;
    limits.of[budget][KEDGE_BUDGET_OF_ORGANIZATION] = organization;
    kedge_budgets *budgets = kedge_budgets_new(&environment, &limits);
    assert_non_null(budgets);
    return budgets;
}

static kedge_budget_account account_of(kedge_budgets *budgets, const char *organization,
                                       const char *user)
{
    kedge_budget_account account;
    const kedge_budget_owner owner = kedge_budget_owner_of(organization, user);
    assert_true(kedge_budgets_open(budgets, &owner, &account));
    return account;
}

static int begin_all(const kedge_budget_account *account, kedge_budget_refusal *refusal)
{
    int begun = 0;
    while (begun < 1000 && kedge_budget_begin(account, refusal))
        begun++;
    return begun;
}

static void test_a_rate_lets_two_seconds_worth_pass_at_once_and_then_its_rate(void **state)
{
    (void)state;
    kedge_budgets *budgets = start(10, 25, KEDGE_BUDGET_REQUESTS);
    kedge_budget_account u = account_of(budgets, "a", "u");
    kedge_budget_account v = account_of(budgets, "a", "v");
    kedge_budget_account w = account_of(budgets, "a", "w");
    kedge_budget_account other = account_of(budgets, "b", "u");
    kedge_budget_refusal refusal;
    assert_int_equal(begin_all(&u, &refusal), 20);
    assert_string_equal(refusal.name, "user_requests_per_second");
    assert_int_equal(refusal.limit, 10);
    assert_int_equal(refusal.retry_after_s, 1);
    assert_int_equal(begin_all(&v, &refusal), 20);
    assert_int_equal(begin_all(&w, &refusal), 10); /* the organization's */
    assert_string_equal(refusal.name, "organization_requests_per_second");
    assert_int_equal(begin_all(&other, &refusal), 20);
    time_ms += 500;
    assert_int_equal(begin_all(&u, &refusal), 5);
    time_ms += 1000000;
    assert_int_equal(begin_all(&u, &refusal), 20);
    kedge_buffer text = kedge_buffer_make(environment.allocator);
    kedge_budgets_write_metrics(budgets, &text);
    assert_non_null(strstr(text.data, "{budget=\"user_requests_per_second\"} 5\n"));
    kedge_buffer_free(&text);
    kedge_budget_account_release(&u);
    kedge_budget_account_release(&v);
    kedge_budget_account_release(&w);
    kedge_budget_account_release(&other);
    kedge_budgets_free(budgets);
}

static void test_bytes_are_taken_afterwards_and_the_next_request_waits_for_them(void **state)
{
    (void)state;
    kedge_budgets *budgets = start(100, 0, KEDGE_BUDGET_BYTES);
    kedge_budget_account u = account_of(budgets, "a", "u");
    kedge_budget_refusal refusal;
    assert_true(kedge_budget_begin(&u, &refusal));
    kedge_budget_charge(&u, 1200);
    assert_false(kedge_budget_begin(&u, &refusal));
    assert_string_equal(refusal.name, "user_bytes_per_second");
    assert_int_equal(refusal.retry_after_s, 11);
    time_ms += 10000;
    assert_false(kedge_budget_begin(&u, &refusal));
    time_ms += 11;
    assert_true(kedge_budget_begin(&u, &refusal));
    kedge_budget_charge(&u, 1000000000);
    assert_false(kedge_budget_begin(&u, &refusal));
    assert_int_equal(refusal.retry_after_s, KEDGE_BUDGET_RETRY_MAX_S);
    kedge_budget_account_release(&u);
    kedge_budgets_free(budgets);
}

static void test_a_level_is_taken_whole_or_not_at_all_and_comes_back(void **state)
{
    (void)state;
    kedge_budgets *budgets = start(4, 6, KEDGE_BUDGET_STREAMS);
    kedge_budget_account u = account_of(budgets, "a", "u");
    kedge_budget_account v = account_of(budgets, "a", "v");
    kedge_budget_refusal refusal;
    assert_true(kedge_budget_take(&u, KEDGE_BUDGET_STREAMS, 3, &refusal));
    assert_false(kedge_budget_take(&u, KEDGE_BUDGET_STREAMS, 2, &refusal));
    assert_string_equal(refusal.name, "user_event_streams");
    assert_false(kedge_budget_take(&v, KEDGE_BUDGET_STREAMS, 4, &refusal));
    assert_string_equal(refusal.name, "organization_event_streams");
    assert_true(kedge_budget_take(&v, KEDGE_BUDGET_STREAMS, 3, &refusal));
    kedge_budget_give(&u, KEDGE_BUDGET_STREAMS, 3);
    assert_true(kedge_budget_take(&v, KEDGE_BUDGET_STREAMS, 1, &refusal));
    kedge_budget_give(&v, KEDGE_BUDGET_STREAMS, 4);
    kedge_budget_account_release(&u);
    kedge_budget_account_release(&v);
    const kedge_budget_account nobody = {0};
    assert_true(kedge_budget_take(&nobody, KEDGE_BUDGET_STREAMS, 1000, &refusal));
    kedge_budgets_free(budgets);
}

/* Whatever the others hold, one that comes may hold half of what they leave, and a little more. */
static void test_an_organization_holds_half_of_what_the_others_leave(void **state)
{
    (void)state;
    const int64_t pool = KEDGE_BUDGET_HELD_POOL;
    kedge_budgets *budgets = start(pool, pool, KEDGE_BUDGET_HELD);
    kedge_budget_account accounts[5];
    kedge_budget_refusal refusal;
    int64_t left = pool;
    for (int i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        const int64_t most = left / 2 + KEDGE_BUDGET_HELD_LEAST;
        accounts[i] = account_of(budgets, name, "u");
        assert_false(
            kedge_budget_take(&accounts[i], KEDGE_BUDGET_HELD, (size_t)most + 1, &refusal));
        assert_string_equal(refusal.name, "organization_held_bytes");
        assert_int_equal(refusal.limit, most);
        assert_true(kedge_budget_take(&accounts[i], KEDGE_BUDGET_HELD, (size_t)most - 1, &refusal));
        assert_true(kedge_budget_take(&accounts[i], KEDGE_BUDGET_HELD, 1, &refusal));
        left -= most;
    }
    /* What comes back is there for all. */
    kedge_budget_give(&accounts[0], KEDGE_BUDGET_HELD,
                      (size_t)(pool / 2 + KEDGE_BUDGET_HELD_LEAST));
    assert_true(kedge_budget_take(&accounts[4], KEDGE_BUDGET_HELD, (size_t)pool / 4, &refusal));
    for (int i = 0; i < 5; i++)
        kedge_budget_account_release(&accounts[i]);
    kedge_budgets_free(budgets);
}

static void test_users_that_are_gone_make_room_and_those_that_are_there_do_not(void **state)
{
    (void)state;
    kedge_budgets *budgets = start(5, 0, KEDGE_BUDGET_STREAMS);
    static kedge_budget_account kept[KEDGE_BUDGET_ROWS];
    char name[32];
    kedge_budget_refusal refusal;
    for (int i = 0; i < 3 * KEDGE_BUDGET_ROWS; i++) { /* each comes and goes */
        snprintf(name, sizeof name, "u%d", i);
        kedge_budget_account gone = account_of(budgets, "a", name);
        kedge_budget_account_release(&gone);
    }
    size_t count = KEDGE_BUDGET_ROWS - 1; /* beside the organization */
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "u%zu", i);
        kept[i] = account_of(budgets, "a", name);
        assert_true(kedge_budget_take(&kept[i], KEDGE_BUDGET_STREAMS, i % 5 + 1, &refusal));
    }
    kedge_budget_account more;
    const kedge_budget_owner owner = kedge_budget_owner_of("a", "one too many");
    assert_false(kedge_budgets_open(budgets, &owner, &more));
    assert_null(more.budgets);
    for (size_t i = 0; i < count; i++) {
        assert_false(kedge_budget_take(&kept[i], KEDGE_BUDGET_STREAMS, 5 - i % 5, &refusal));
        kedge_budget_give(&kept[i], KEDGE_BUDGET_STREAMS, i % 5 + 1);
        kedge_budget_account_release(&kept[i]);
    }
    kedge_budget_account there = account_of(budgets, "a", "one too many");
    kedge_budget_account_release(&there);
    kedge_budgets_free(budgets);
}

static void test_an_owner_is_its_organization_and_user_and_no_other_pair(void **state)
{
    (void)state;
    const kedge_budget_owner a = kedge_budget_owner_of("ab", "c");
    const kedge_budget_owner b = kedge_budget_owner_of("a", "bc");
    const kedge_budget_owner c = kedge_budget_owner_of("ab", "d");
    assert_memory_not_equal(a.of[KEDGE_BUDGET_OF_USER], b.of[KEDGE_BUDGET_OF_USER],
                            KEDGE_BUDGET_KEY_SIZE);
    assert_memory_not_equal(a.of[KEDGE_BUDGET_OF_USER], c.of[KEDGE_BUDGET_OF_USER],
                            KEDGE_BUDGET_KEY_SIZE);
    assert_memory_equal(a.of[KEDGE_BUDGET_OF_ORGANIZATION], c.of[KEDGE_BUDGET_OF_ORGANIZATION],
                        KEDGE_BUDGET_KEY_SIZE);
}

static void test_the_option_takes_known_names_and_whole_numbers(void **state)
{
    (void)state;
    environment = kedge_environment_system(NULL);
    kedge_budget_limits limits = kedge_budget_limits_default(false);
    kedge_error error = {0};
    assert_int_equal(kedge_budget_limits_parse("user_event_streams=7", &limits, &error), KEDGE_OK);
    assert_int_equal(limits.of[KEDGE_BUDGET_STREAMS][KEDGE_BUDGET_OF_USER], 7);
    assert_int_equal(kedge_budget_limits_parse("address_connections=0", &limits, &error), KEDGE_OK);
    assert_int_equal(kedge_budget_limits_parse("stranger_connections=1", &limits, &error),
                     KEDGE_OK);
    static const char *const wrong[] = {"",
                                        "user_event_streams",
                                        "user_event_stream=1",
                                        "user_event_streams=",
                                        "user_event_streams=-1",
                                        "user_event_streams=1x",
                                        "user_event_streams=99999999999999999999",
                                        "stranger_connections=0",
                                        "=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(kedge_budget_limits_parse(wrong[i], &limits, &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "budget-invalid");
    }
    kedge_buffer text = kedge_buffer_make(environment.allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_budget_limits_write(&limits, &writer);
    assert_non_null(strstr(text.data, "\"user_event_streams\":7,"));
    kedge_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rate_lets_two_seconds_worth_pass_at_once_and_then_its_rate),
        cmocka_unit_test(test_bytes_are_taken_afterwards_and_the_next_request_waits_for_them),
        cmocka_unit_test(test_a_level_is_taken_whole_or_not_at_all_and_comes_back),
        cmocka_unit_test(test_an_organization_holds_half_of_what_the_others_leave),
        cmocka_unit_test(test_users_that_are_gone_make_room_and_those_that_are_there_do_not),
        cmocka_unit_test(test_an_owner_is_its_organization_and_user_and_no_other_pair),
        cmocka_unit_test(test_the_option_takes_known_names_and_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
