/* Ports that fail at any call, and memory that runs out at any call: each request is answered,
 * nothing is applied by half, and the same request goes through afterwards. */
#include "tests/backend/api_world.h"

#include "tests/support/failing_allocator.h"

#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 200

/* ---- ports that fail ---- */

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_BEFORE, /* the call does nothing */
    FAULT_AFTER   /* a write takes effect, and the response is lost */
} fault_kind;

static kedge_records real_records;
static kedge_blobs real_blobs;
static int calls;
static int fail_at;
static fault_kind fault;

static bool fails(fault_kind kind)
{
    return fault == kind && calls == fail_at;
}

static kedge_status begin(void)
{
    calls++;
    return fails(FAULT_BEFORE) ? KEDGE_UNAVAILABLE : KEDGE_OK;
}

static kedge_status end(kedge_status status)
{
    return status == KEDGE_OK && fails(FAULT_AFTER) ? KEDGE_UNAVAILABLE : status;
}

static kedge_status records_get(void *self, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK || fails(FAULT_AFTER)) return KEDGE_UNAVAILABLE;
    return real_records.vtable->get(real_records.self, key, consistent, set, error);
}

static kedge_status records_batch_get(void *self, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK || fails(FAULT_AFTER)) return KEDGE_UNAVAILABLE;
    return real_records.vtable->batch_get(real_records.self, keys, count, consistent, set, error);
}

static kedge_status records_query(void *self, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK || fails(FAULT_AFTER)) return KEDGE_UNAVAILABLE;
    return real_records.vtable->query(real_records.self, query, set, error);
}

static kedge_status records_write(void *self, const kedge_record_write *write, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK) return KEDGE_UNAVAILABLE;
    return end(real_records.vtable->write(real_records.self, write, error));
}

static kedge_status records_transact(void *self, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK) return KEDGE_UNAVAILABLE;
    return end(real_records.vtable->transact(real_records.self, writes, count, error));
}

static void records_close(void *self)
{
    (void)self;
    real_records.vtable->close(real_records.self);
}

static kedge_status blobs_put(void *self, kedge_bytes key, kedge_bytes bytes, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK) return KEDGE_UNAVAILABLE;
    return end(real_blobs.vtable->put_if_absent(real_blobs.self, key, bytes, error));
}

static kedge_status blobs_get(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    (void)self;
    if (begin() != KEDGE_OK || fails(FAULT_AFTER)) return KEDGE_UNAVAILABLE;
    return real_blobs.vtable->get(real_blobs.self, key, out, error);
}

static void blobs_close(void *self)
{
    (void)self;
    real_blobs.vtable->close(real_blobs.self);
}

static void wrap_ports(api_world *world)
{
    static const kedge_records_vtable records = {.get = records_get,
                                                 .batch_get = records_batch_get,
                                                 .query = records_query,
                                                 .write = records_write,
                                                 .transact = records_transact,
                                                 .close = records_close};
    /* The backend tags, removes and lists no blobs while it answers what is asked here. */
    static const kedge_blobs_vtable blobs = {
        .put_if_absent = blobs_put, .get = blobs_get, .close = blobs_close};
    real_records = world->records;
    real_blobs = world->blobs;
    world->records = (kedge_records){.vtable = &records, .self = world};
    world->blobs = (kedge_blobs){.vtable = &blobs, .self = world};
    fault = FAULT_NONE;
}

/* ---- requests ---- */

typedef struct script_step {
    const char *method;
    const char *path;
    const char *body;
} script_step;

#define BASE "/v1/orgs/acme/projects/notes"

/* 20,000 bytes, so that a body goes to the blobs, are put in the place of LARGE. */
static const script_step steps[] = {
    {"PUT", "/v1/orgs/acme/projects/other", ""},
    {"POST", BASE "/push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},\"mutations\":[{"
     "\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"collection\":\"d\",\"id\":"
     "\"a\",\"value\":\"LARGE\"},\"timestamp\":1},{\"clientID\":\"c2\",\"id\":1,\"name\":"
     "\"\\u006eope\","
     "\"timestamp\":1}]}"},
    {"POST", BASE "/push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},\"mutations\":[{"
     "\"clientID\":\"c1\",\"id\":2,\"name\":\"kedge.put\",\"args\":{\"collection\":\"e\",\"id\":"
     "\"b\",\"value\":2},\"timestamp\":1}]}"},
    {"POST", BASE "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"},
    {"POST", BASE "/pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null,\"kedge\":{\"client\":\"c1\","
     "\"lowest_pending\":1,\"highest_id\":2}}"},
    {"GET", BASE "/snapshot?version=1&limit_bytes=10", ""},
    {"GET", BASE "/versions?limit=2", ""},
    {"GET", BASE "/versions/1?items=1", ""},
    {"GET", BASE "/versions/latest/collections/d", ""},
    {"GET", BASE "/versions/latest/collections/d/a", ""},
    {"GET", BASE "/clients/c1/mutations", ""},
    {"GET", BASE "/clients/c1/mutations/latest", ""},
    {"POST", BASE "/clients/c1/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}"},
    {"GET", "/v1/orgs/acme/projects", ""},
    {"GET", BASE, ""},
};

#define STEP_COUNT (sizeof steps / sizeof steps[0])

static int ask_step(api_world *world, const script_step *step)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    const char *large = strstr(step->body, "LARGE");
    if (large == NULL) {
        kedge_buffer_append_text(&body, step->body);
    } else {
        kedge_buffer_append(&body, step->body, (size_t)(large - step->body));
        for (int at = 0; at < 20000; at++)
            kedge_buffer_append_byte(&body, (char)('a' + at * at % 23));
        kedge_buffer_append_text(&body, large + strlen("LARGE"));
    }
    int status = api_ask(world, &ann, step->method, step->path, kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    return status;
}

/* What the steps have brought about, whatever happened on the way. */
static void check_end(api_world *world)
{
    api_get(world, "versions");
    assert_int_equal(api_count(world, "versions"), 3);
    assert_string_equal(api_string(world, "versions.0.retired"), "c1");
    assert_int_equal(api_count(world, "versions.1.mutations"), 1);
    assert_int_equal(api_count(world, "versions.2.mutations"), 2);
    assert_string_equal(api_string(world, "versions.2.mutations.1.outcome"), "rejected");
    api_get(world, "versions/latest/collections/d/a");
    assert_int_equal(api_number(world, "size"), 20002);
    api_get(world, "clients/c1/mutations/latest");
    assert_int_equal(api_number(world, "id"), 2);
    api_ask(world, &ann, "GET", "/v1/orgs/acme/projects", (kedge_bytes){NULL, 0});
    assert_int_equal(api_count(world, "projects"), 2);
}

static bool is_fine(int status)
{
    return status == 200 || status == 201;
}

/* One step of all fails at one call. False when it makes no such call. */
static bool run_with_fault(size_t faulty, int at, fault_kind kind)
{
    bool failed = false;
    api_world *world = api_world_new_with(NULL, wrap_ports);
    for (size_t step = 0; step < STEP_COUNT; step++) {
        if (step == faulty) {
            calls = 0;
            fail_at = at;
            fault = kind;
            int status = ask_step(world, &steps[step]);
            fault = FAULT_NONE;
            failed = calls >= at;
            if (!is_fine(status)) assert_response_is(world, 503, "unavailable");
        }
        if (!is_fine(ask_step(world, &steps[step]))) fail_msg("%s", api_text(world));
    }
    check_end(world);
    api_world_free(world);
    return failed;
}

static void test_a_port_may_fail_at_any_call_of_any_request(void **state)
{
    static const fault_kind kinds[] = {FAULT_BEFORE, FAULT_AFTER};
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t step = 0; step < STEP_COUNT; step++) {
            int at = 1;
            while (at < POINTS_MAX && run_with_fault(step, at, kinds[kind]))
                at++;
            assert_true(at > 1 && at < POINTS_MAX);
        }
    }
    (void)state;
}

/* ---- memory that runs out ---- */

/* False when the step makes no such call. */
static bool run_without_memory(size_t faulty, uint64_t at)
{
    failing_allocator failing;
    failing_allocator_init(&failing);
    bool failed = false;
    api_world *world = api_world_new_with(&failing.allocator, NULL);
    for (size_t step = 0; step < STEP_COUNT; step++) {
        if (step == faulty) {
            failing_allocator_arm(&failing, at, false);
            int status = ask_step(world, &steps[step]);
            failed = failing.failed > 0;
            failing_allocator_arm(&failing, 0, false);
            if (!is_fine(status)) assert_response_is(world, 503, "unavailable");
        }
        if (!is_fine(ask_step(world, &steps[step]))) fail_msg("%s", api_text(world));
    }
    check_end(world);
    api_world_free(world);
    assert_int_equal(failing.living, 0);
    return failed;
}

static void test_memory_may_run_out_at_any_call_of_any_request(void **state)
{
    for (size_t step = 0; step < STEP_COUNT; step++) {
        uint64_t at = 1;
        while (at < POINTS_MAX && run_without_memory(step, at))
            at++;
        assert_true(at > 1);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_port_may_fail_at_any_call_of_any_request),
        cmocka_unit_test(test_memory_may_run_out_at_any_call_of_any_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
