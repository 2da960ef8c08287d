/* Log projects over a front end whose responses are small: an entry that none of them can carry
 * would keep all clients from what is behind it. */
#include "tests/backend/api_world.h"

#include "backend/base/backend.h"

#include <string.h>

#include "common/gzip.h"

#define BASE    "/v1/orgs/acme/projects/sheet"
#define CARRIED 1000000

static api_world *new_world(void)
{
    api_world *world = api_world_new();
    assert_int_equal(api_ask(world, &ann, "PUT", BASE, KEDGE_BYTES("{\"kind\":\"log\"}")), 201);
    world->accepts_gzip = true;
    return world;
}

/* From now on. */
static void carry(api_world *world, size_t bytes)
{
    world->carried_max = bytes;
    api_world_restart(world);
}

/* kedge.put of a string of `size` bytes, with the ids from `first` on. One that is dense compresses
 * to some seven tenths. */
static void push(api_world *world, int first, const size_t *sizes, size_t count, bool dense)
{
    static uint64_t random = 1;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&body, "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"kedge\":{"
                                    "\"client\":\"c1\"},\"mutations\":[");
    for (size_t i = 0; i < count; i++) {
        kedge_buffer_append_format(
            &body,
            "%s{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"timestamp\":1,"
            "\"args\":{\"collection\":\"d\",\"id\":\"a\",\"value\":\"",
            i == 0 ? "" : ",", first + (int)i);
        for (size_t at = 0; at < sizes[i]; at++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            kedge_buffer_append_byte(&body, dense ? (char)('0' + (random >> 33) % 43) : 'x');
        }
        kedge_buffer_append_text(&body, "\"}}");
    }
    kedge_buffer_append_text(&body, "]}");
    assert_int_equal(api_ask(world, &ann, "POST", BASE "/push", kedge_buffer_bytes(&body)), 200);
    kedge_buffer_free(&body);
}

static int ask_pull(api_world *world, const char *cookie)
{
    const char *body = api_format("{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"cookie\":%s,"
                                  "\"kedge\":{\"client\":\"c1\",\"lowest_pending\":1,"
                                  "\"highest_id\":9}}",
                                  cookie);
    return api_ask(world, &ann, "POST", BASE "/pull", kedge_bytes_of(body));
}

/* Gives the size of the response as gzip. */
static size_t pull(api_world *world, const char *cookie)
{
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(ask_pull(world, cookie), 200);
    assert_int_equal(kedge_gzip(kedge_buffer_bytes(&world->response.body), &packed, NULL),
                     KEDGE_OK);
    size_t size = packed.size;
    kedge_buffer_free(&packed);
    return size;
}

/* The codes of the mutations in the response's entries: "-" for one that is open. */
static void note_codes(api_world *world, kedge_buffer *codes)
{
    const cJSON *entry, *mutation;
    cJSON_ArrayForEach(entry, api_at(world, "kedge.log.entries"))
    {
        cJSON_ArrayForEach(mutation, cJSON_GetObjectItem(entry, "mutations"))
        {
            const cJSON *code = cJSON_GetObjectItem(mutation, "code");
            kedge_buffer_append_format(codes, "%s ", code == NULL ? "-" : code->valuestring);
        }
    }
}

static void test_args_that_no_response_can_carry_are_rejected(void **state)
{
    static const size_t dense[] = {400000, 400000, 400000, 1000000, 1600000}, thin[] = {3000000};
    const char *cookie = "null";
    kedge_buffer codes = kedge_buffer_make(&kedge_allocator_default);
    api_world *world = new_world();
    (void)state;
    carry(world, CARRIED);
    push(world, 1, dense, 5, true);
    push(world, 6, thin, 1, false);
    do {
        assert_true(pull(world, cookie) <= CARRIED);
        note_codes(world, &codes);
        cookie = api_cookie(world);
    } while (cJSON_IsTrue(api_at(world, "kedge.log.more")));
    assert_string_equal(codes.data, "- - - - args-too-large - ");
    kedge_buffer_free(&codes);
    api_world_free(world);
}

static const size_t small[] = {10}, large[] = {1600000};

/* Three entries, appended by a front end that carries all; the second is the large one. Gives the
 * cookie of the first. */
static const char *push_all(api_world *world)
{
    push(world, 1, small, 1, true);
    pull(world, "null");
    const char *cookie = api_cookie(world);
    push(world, 2, large, 1, true);
    push(world, 3, small, 1, true);
    return cookie;
}

static void test_a_snapshot_takes_the_place_of_an_entry_that_no_response_can_carry(void **state)
{
    api_world *world = new_world();
    const char *cookie = push_all(world);
    (void)state;
    carry(world, CARRIED);
    assert_true(pull(world, cookie) > CARRIED);
    assert_int_equal(api_ask(world, &root, "POST", BASE "/snapshot", KEDGE_BYTES("")), 200);
    push(world, 4, small, 1, true);
    assert_true(pull(world, cookie) < 10000);
    assert_int_equal(api_number(world, "kedge.snapshot.version"), 3);
    assert_int_equal(api_number(world, "kedge.lmid"), 3);
    assert_int_equal(api_count(world, "kedge.outcomes"), 3);
    pull(world, api_cookie(world));
    assert_int_equal(api_number(world, "kedge.lmid"), 4);
    assert_int_equal(api_count(world, "kedge.log.entries"), 1);
    /* Without the limit nothing is replaced. */
    carry(world, 0);
    assert_true(pull(world, cookie) > CARRIED);
    assert_int_equal(api_count(world, "kedge.log.entries"), 2);
    api_world_free(world);
}

static bool run_at_once(void *context, void (*run)(void *argument), void *argument)
{
    (void)context;
    run(argument);
    return true;
}

static void test_a_damaged_snapshot_behind_such_an_entry_is_made_anew(void **state)
{
    api_world *world = new_world();
    const char *cookie = push_all(world);
    (void)state;
    assert_int_equal(api_ask(world, &root, "POST", BASE "/snapshot", KEDGE_BYTES("")), 200);
    api_world_lose_blobs(world, "acme/projects/sheet/versions/", true);
    carry(world, CARRIED);
    world->backend->options.later = run_at_once;
    assert_int_equal(ask_pull(world, cookie), 500);
    assert_int_equal(world->background_failures[KEDGE_BACKGROUND_LOG_SNAPSHOTS], 1);
    assert_true(pull(world, cookie) < 10000);
    assert_int_equal(api_number(world, "kedge.snapshot.version"), 3);
    api_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args_that_no_response_can_carry_are_rejected),
        cmocka_unit_test(test_a_snapshot_takes_the_place_of_an_entry_that_no_response_can_carry),
        cmocka_unit_test(test_a_damaged_snapshot_behind_such_an_entry_is_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
