/* Keeping credentials: one thread fetches, the others go on with the old ones or wait for it; they
 * are fetched again before they expire; and what happens when they cannot be. */
#include "tests/aws/credentials_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TARGET  "/creds"
#define HOUR_MS INT64_C(3600000)
#define THREADS 16
#define DOCUMENT(n, expiry)                                                                        \
    "{\"AccessKeyId\":\"ASIA-" n "\",\"SecretAccessKey\":\"" MARK "\",\"Token\":\"" MARK           \
    "\",\"Expiration\":\"" expiry "\"}"
#define FIRST  DOCUMENT("1", "2027-01-15T09:00:00Z") /* in an hour */
#define SECOND DOCUMENT("2", "2027-01-15T15:00:00Z")
#define THIRD  DOCUMENT("3", "2027-01-15T21:00:00Z")

static void response(world *w, int status, const char *body)
{
    world_routes_clear(w);
    world_route_add(
        w, (world_route){.method = "GET", .target = TARGET, .status = status, .body = body});
}

static int begin(void **state)
{
    world_begin(state);
    world *w = *state;
    world_set(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", TARGET);
    response(w, 200, FIRST);
    return 0;
}

static void go_to(world *w, int64_t since_start_ms)
{
    int64_t step = WORLD_START_MS + since_start_ms - atomic_load(&w->now_ms);
    atomic_fetch_add(&w->now_ms, step);
    if (step > 0) atomic_fetch_add(&w->monotonic_ms, step);
}

static void assert_key(world *w, const char *key_id, int requests)
{
    world_assert_got(w, key_id, MARK, MARK);
    assert_int_equal(scripted_server_requests(w->server), requests);
}

static void test_they_are_fetched_again_five_minutes_before_they_expire(void **state)
{
    world *w = *state;
    assert_key(w, "ASIA-1", 1);
    response(w, 200, SECOND);
    go_to(w, HOUR_MS - 300001);
    assert_key(w, "ASIA-1", 1);
    go_to(w, HOUR_MS - 300000);
    assert_key(w, "ASIA-2", 2);
    go_to(w, 6 * HOUR_MS);
    assert_key(w, "ASIA-2", 2);
    response(w, 200, THIRD);
    go_to(w, 7 * HOUR_MS - 300000);
    assert_key(w, "ASIA-3", 3);
}

static void test_the_old_ones_serve_while_new_ones_cannot_be_had(void **state)
{
    world *w = *state;
    assert_key(w, "ASIA-1", 1);
    response(w, 404, "");
    go_to(w, HOUR_MS - 300000);
    assert_key(w, "ASIA-1", 2);
    /* Not asked for at every call: again after half a minute. */
    go_to(w, HOUR_MS - 300000 + 29999);
    assert_key(w, "ASIA-1", 2);
    go_to(w, HOUR_MS - 300000 + 30000);
    assert_key(w, "ASIA-1", 3);
    go_to(w, HOUR_MS - 1);
    assert_key(w, "ASIA-1", 4);
    go_to(w, HOUR_MS);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-expired",
                         "expired 0 s ago, and new ones cannot be had: the container's");
    go_to(w, HOUR_MS + 61000);
    response(w, 503, "");
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-expired", "expired 61 s ago");
    response(w, 200, SECOND);
    world_assert_got(w, "ASIA-2", MARK, MARK);
}

static void
test_a_source_that_gives_the_old_ones_again_is_asked_twice_a_minute_at_most(void **state)
{
    world *w = *state;
    assert_key(w, "ASIA-1", 1);
    go_to(w, HOUR_MS - 300000);
    assert_key(w, "ASIA-1", 2);
    for (int i = 0; i < 100; i++) {
        go_to(w, HOUR_MS - 300000 + i * 290);
        assert_key(w, "ASIA-1", 2);
    }
    go_to(w, HOUR_MS - 270000);
    assert_key(w, "ASIA-1", 3);
}

static void test_fresh_ones_are_handed_out_though_our_clock_says_that_they_expired(void **state)
{
    world *w = *state;
    go_to(w, 2 * HOUR_MS);
    assert_key(w, "ASIA-1", 1);
    assert_key(w, "ASIA-1", 1);
    go_to(w, 2 * HOUR_MS + 30000);
    assert_key(w, "ASIA-1", 2);
    /* The clock is put right. */
    go_to(w, 0);
    assert_key(w, "ASIA-1", 2);
}

static void test_those_that_a_service_refused_are_fetched_anew_but_once(void **state)
{
    world *w = *state;
    assert_key(w, "ASIA-1", 1);
    response(w, 200, SECOND);
    go_to(w, 1000);
    kedge_aws_credentials_forget(w->provider);
    assert_key(w, "ASIA-2", 2);
    /* Another request that was sent with the old ones. */
    response(w, 200, THIRD);
    kedge_aws_credentials_forget(w->provider);
    assert_key(w, "ASIA-2", 2);
    go_to(w, 2000);
    kedge_aws_credentials_forget(w->provider);
    assert_key(w, "ASIA-3", 3);
}

static void test_a_profile_is_read_again_when_a_service_refused_its_keys(void **state)
{
    world *w = *state;
    world_unset(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    world_write(w, "credentials",
                "[default]\naws_access_key_id=A\naws_secret_access_key=" MARK "\n");
    world_assert_got(w, "A", MARK, "");
    world_write(w, "credentials",
                "[default]\naws_access_key_id=B\naws_secret_access_key=" MARK "\n");
    go_to(w, 1000 * HOUR_MS);
    world_assert_got(w, "A", MARK, "");
    kedge_aws_credentials_forget(w->provider);
    world_assert_got(w, "B", MARK, "");
}

/* ---- threads ---- */

typedef struct getter {
    world *w;
    pthread_t thread;
    kedge_status status;
    kedge_aws_credentials got;
    kedge_error error;
} getter;

static void *get(void *context)
{
    getter *self = context;
    self->status = kedge_aws_credentials_get(self->w->provider, &self->got, &self->error);
    return NULL;
}

static void start(getter *self, world *w)
{
    *self = (getter){.w = w};
    assert_int_equal(pthread_create(&self->thread, NULL, get, self), 0);
}

static void test_one_thread_fetches_while_the_others_go_on_with_the_old_ones(void **state)
{
    world *w = *state;
    getter one;
    assert_key(w, "ASIA-1", 1);
    response(w, 200, SECOND);
    go_to(w, HOUR_MS - 300000);
    world_hold(w, true);
    start(&one, w);
    assert_true(world_wait_for_held(w, 1));
    for (int i = 0; i < 100; i++) {
        assert_key(w, "ASIA-1", 2);
    }
    world_hold(w, false);
    pthread_join(one.thread, NULL);
    assert_int_equal(one.status, KEDGE_OK);
    assert_string_equal(one.got.key_id, "ASIA-2");
    assert_key(w, "ASIA-2", 2);
}

static void get_with_all(world *w, getter all[THREADS])
{
    world_make_provider(w, NULL);
    world_hold(w, true);
    start(&all[0], w);
    assert_true(world_wait_for_held(w, 1));
    for (int i = 1; i < THREADS; i++) {
        start(&all[i], w);
    }
    world_hold(w, false);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
    }
}

static void test_all_threads_wait_for_one_first_fetch(void **state)
{
    world *w = *state;
    getter all[THREADS];
    get_with_all(w, all);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].status, KEDGE_OK);
        assert_string_equal(all[i].got.key_id, "ASIA-1");
    }
    assert_int_equal(scripted_server_requests(w->server), 1);
}

static void test_those_who_waited_share_the_failure(void **state)
{
    world *w = *state;
    getter all[THREADS];
    response(w, 404, "");
    get_with_all(w, all);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].status, KEDGE_UNAUTHORIZED);
        assert_string_equal(all[i].error.code, "aws-credentials-invalid");
        assert_string_equal(all[i].got.key_id, "");
    }
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, begin, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_they_are_fetched_again_five_minutes_before_they_expire),
        IN_WORLD(test_the_old_ones_serve_while_new_ones_cannot_be_had),
        IN_WORLD(test_a_source_that_gives_the_old_ones_again_is_asked_twice_a_minute_at_most),
        IN_WORLD(test_fresh_ones_are_handed_out_though_our_clock_says_that_they_expired),
        IN_WORLD(test_those_that_a_service_refused_are_fetched_anew_but_once),
        IN_WORLD(test_a_profile_is_read_again_when_a_service_refused_its_keys),
        IN_WORLD(test_one_thread_fetches_while_the_others_go_on_with_the_old_ones),
        IN_WORLD(test_all_threads_wait_for_one_first_fetch),
        IN_WORLD(test_those_who_waited_share_the_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
