/* The event stream: when it is opened, how it is missed, how often it is tried. */
#include "tests/core/trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_the_stream_is_opened_after_the_first_pull(void **state)
{
    trace *t = *state;
    trace_start(t, 3, 1, 0);
    trace_ok(t, KEDGE_REQUEST_PULL);
    trace_applied(t, 3, 0);
    trace_stream_up(t, 3);
    trace_expect(t, "[    0] start at version 3\n"
                    "          send pull\n"
                    "          report connecting\n"
                    "[    0] pull ok\n"
                    "          apply pull\n"
                    "          report online\n"
                    "[    0] applied version 3, covers 0\n"
                    "          open stream\n"
                    "[    0] stream up\n"
                    "[    0] poke of version 3\n");
}

/* A restored backend tells a lower version. */
static void test_the_first_poke_of_a_stream_pulls_also_when_it_is_lower(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_simple(t, KEDGE_EVENT_STREAM_DOWN, "stream down");
    trace_timer(t);
    trace_stream_up(t, 2);
    trace_expect(t, "[    0] stream down\n"
                    "[   72] timer\n"
                    "          open stream\n"
                    "[   72] stream up\n"
                    "[   72] poke of version 2\n"
                    "          send pull\n");
}

static void test_a_silent_stream_is_closed_and_opened_again(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    trace_pass(t, 30000);
    trace_simple(t, KEDGE_EVENT_PING, "ping");
    trace_timer(t);
    trace_timer(t);
    assert_true(t->now_ms >= 30000 + KEDGE_CORE_STREAM_SILENCE_MS);
    trace_expect(t, "[30000] ping\n"
                    "[70000] timer\n"
                    "          close stream\n"
                    "          send pull\n"
                    "[70094] timer\n"
                    "          open stream\n");
}

static void test_a_stream_that_keeps_closing_is_tried_less_and_less(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    for (int i = 0; i < 40; i++) {
        trace_simple(t, KEDGE_EVENT_STREAM_DOWN, "stream down");
        while (!t->core.stream.running)
            trace_timer(t);
        trace_stream_up(t, 3);
    }
    assert_true(t->now_ms > INT64_C(10) * KEDGE_CORE_BACKOFF_MAX_MS);
    trace_skip(t);
}

static void test_a_stream_that_lived_for_a_while_is_reopened_soon(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    for (int i = 0; i < 8; i++) {
        trace_simple(t, KEDGE_EVENT_STREAM_DOWN, "stream down");
        trace_timer(t);
        trace_stream_up(t, 3);
    }
    trace_pass(t, KEDGE_CORE_STREAM_STEADY_MS);
    trace_skip(t);
    int64_t before = t->now_ms;
    trace_simple(t, KEDGE_EVENT_STREAM_DOWN, "stream down");
    trace_timer(t);
    assert_true(t->now_ms - before <= KEDGE_CORE_BACKOFF_MIN_MS);
    trace_skip(t);
}

static void test_a_stream_that_refuses_the_token_makes_a_pull_ask_for_another(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    kedge_core_event down = {.kind = KEDGE_EVENT_STREAM_DOWN,
                             .stream_down = {.error = {.status = KEDGE_UNAUTHORIZED}}};
    trace_event(t, down, "stream down: unauthorized");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_UNAUTHORIZED);
    trace_expect(t, "[    0] stream down: unauthorized\n"
                    "          send pull\n"
                    "[    0] pull unauthorized\n"
                    "          ask token\n"
                    "          report connecting: unauthorized\n");
}

static void test_a_stream_that_breaks_shows_that_the_server_is_gone(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    kedge_core_event down = {.kind = KEDGE_EVENT_STREAM_DOWN,
                             .stream_down = {.error = {.status = KEDGE_NETWORK}}};
    trace_event(t, down, "stream down: network");
    trace_failed(t, KEDGE_REQUEST_PULL, KEDGE_RESPONSE_NETWORK);
    trace_skip(t);
    assert_int_equal(t->core.connection, KEDGE_CONNECTING);
}

static void test_a_stream_is_not_asked_for_before_the_server_wants_that(void **state)
{
    trace *t = *state;
    trace_settle(t, 3);
    kedge_core_event down = {
        .kind = KEDGE_EVENT_STREAM_DOWN,
        .stream_down = {.error = {.status = KEDGE_UNAVAILABLE}, .retry_after_ms = 5000}};
    trace_event(t, down, "stream down: overloaded");
    trace_timer(t);
    trace_expect(t, "[    0] stream down: overloaded\n"
                    "[ 5072] timer\n"
                    "          open stream\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_stream_is_opened_after_the_first_pull, trace_setup,
                                        trace_teardown),
        cmocka_unit_test_setup_teardown(test_the_first_poke_of_a_stream_pulls_also_when_it_is_lower,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_silent_stream_is_closed_and_opened_again,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_keeps_closing_is_tried_less_and_less,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_lived_for_a_while_is_reopened_soon,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(
            test_a_stream_that_refuses_the_token_makes_a_pull_ask_for_another, trace_setup,
            trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_that_breaks_shows_that_the_server_is_gone,
                                        trace_setup, trace_teardown),
        cmocka_unit_test_setup_teardown(test_a_stream_is_not_asked_for_before_the_server_wants_that,
                                        trace_setup, trace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
