/* How many projects an organization may have, and how many bytes may be stored for it. */
#include "tests/backend/api_world.h"

#include "backend/api/open.h"
#include "backend/ports/meter.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/usage/usage.h"
#include "tests/support/project.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024
#define MIB 1048576

static int64_t time_ms;
static kedge_meter *meter;

static int64_t told_time(void *context)
{
    (void)context;
    return time_ms;
}

/* Of every write of a record, when it is armed; nothing is written then. */
static bool away;
static kedge_records inner;
static kedge_blobs inner_blobs;
static kedge_records_vtable outer;

/* In the middle of a write the same organization asks again, on another thread. */
static struct {
    api_world *world;
    const char *method;
    const char *path;
    const char *body;
    int status; /* of the request in between */
} between;

static void *ask_between(void *unused)
{
    (void)unused;
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    const kedge_api_request request = {.method = kedge_bytes_of(between.method),
                                       .path = kedge_bytes_of(between.path),
                                       .body = kedge_bytes_of(between.body),
                                       .identity = &ann};
    kedge_backend_handle(between.world->backend, &request, &response);
    between.status = response.status;
    kedge_buffer_free(&response.body);
    return NULL;
}

static void run_between(void)
{
    pthread_t thread;
    if (between.world == NULL || between.status != 0) return;
    between.status = -1;
    assert_int_equal(pthread_create(&thread, NULL, ask_between, NULL), 0);
    pthread_join(thread, NULL);
}

static kedge_status write_or_not(void *self, const kedge_record_write *write, kedge_error *error)
{
    kedge_bytes sort = write->record.key.sort;
    if (away && kedge_bytes_equal_text(sort, "Stored")) {
        if (error != NULL) *error = (kedge_error){.status = KEDGE_UNAVAILABLE};
        return KEDGE_UNAVAILABLE;
    }
    if (write->kind == KEDGE_WRITE_PUT && !kedge_bytes_equal_text(sort, "Stored")) run_between();
    return inner.vtable->write(self, write, error);
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    run_between();
    return inner.vtable->transact(self, writes, count, error);
}

static void measure(api_world *world)
{
    inner = world->records;
    inner_blobs = world->blobs;
    outer = *inner.vtable;
    outer.write = write_or_not;
    outer.transact = transact;
    const kedge_records failing = {&outer, inner.self};
    assert_int_equal(kedge_meter_new(&kedge_allocator_default, failing, world->blobs,
                                     (kedge_queue){0}, (kedge_stream){0}, &meter, NULL),
                     KEDGE_OK);
    world->records = kedge_meter_records(meter);
    world->blobs = kedge_meter_blobs(meter);
}

/* A world whose organizations may have so many projects, and so many bytes. */
static api_world *bounded(int64_t projects, int64_t bytes)
{
    away = false;
    time_ms = 1000000;
    api_world *world = api_world_new_with(&kedge_allocator_default, measure);
    world->environment.monotonic_ms = told_time;
    world->projects_max = projects;
    world->stored_max = bytes;
    api_world_restart(world);
    return world;
}

static void end(api_world *world)
{
    world->records = inner; /* to be closed */
    world->blobs = inner_blobs;
    api_world_free(world);
    kedge_meter_free(meter);
}

/* What the record of an organization says. */
static int64_t recorded(api_world *world, const char *organization)
{
    const kedge_project_ref ref = {kedge_bytes_of(organization), {NULL, 0}};
    int64_t bytes = -1;
    assert_int_equal(kedge_usage_read(HANDLE(world->backend, &ref), &bytes, NULL), KEDGE_OK);
    return bytes;
}

static void push_large(api_world *world, int id, size_t size)
{
    char *value = malloc(size + 3);
    assert_non_null(value);
    uint32_t seed = 12345u + (uint32_t)id;
    value[0] = '"';
    for (size_t i = 1; i <= size; i++) {
        seed = seed * 1664525u + 1013904223u; /* what gzip makes hardly smaller */
        value[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[seed >> 26];
    }
    memcpy(value + size + 1, "\"", 2);
    char *body = malloc(size + 512);
    assert_non_null(body);
    (void)snprintf(body, size + 512,
                   "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c\","
                   "\"id\":%d,\"name\":\"kedge.put\",\"timestamp\":1,\"args\":{\"collection\":"
                   "\"items\",\"id\":\"k%d\",\"value\":%s}}],\"kedge\":{\"client\":\"c\"}}",
                   id, id, value);
    api_post(world, "push", body);
    free(body);
    free(value);
}

static int create(api_world *world, const char *project, const char *body)
{
    return api_ask(world, &ann, "PUT", api_format("/v1/orgs/acme/projects/%s", project),
                   kedge_bytes_of(body));
}

/* ---- bytes ---- */

static void test_what_is_stored_is_counted_and_refused_beyond_the_bound(void **state)
{
    api_world *world = bounded(0, 3 * MIB);
    int id = 0;
    while (id < 100) {
        push_large(world, ++id, 256 * KIB);
        if (world->response.status != 200) break;
    }
    assert_response_is(world, 429, "budget-exceeded");
    assert_int_equal(world->response.retry_after_s, KEDGE_USAGE_MS / 1000);
    assert_string_equal(api_string(world, "detail"),
                        "the budget organization_stored_bytes is 3145728, and used up; "
                        "try again in 60 s");
    assert_string_equal(world->response.exceeded, KEDGE_USAGE_STORED);
    /* 6 bits a byte: the item is a blob of some 192 KiB, and so are the args. */
    assert_in_range(id, 8, 10);
    assert_in_range(recorded(world, "acme"), 2 * MIB, 4 * MIB);
    /* Nothing of it was applied, and reads go on. */
    assert_int_equal(api_head(world), id - 1);
    assert_int_equal(api_get(world, api_format("versions/%d", id - 1)), 200);
    end(world);
    (void)state;
}

static void test_each_request_that_stores_is_refused_beyond_the_bound(void **state)
{
    static const struct {
        const kedge_identity *who;
        const char *method;
        const char *path;
        const char *body;
    } asked[] = {
        {&ann, "PUT", "projects/other", ""},
        {&root, "POST", "projects/notes/fork", "{\"version\":1,\"to\":\"forked\"}"},
        {&root, "PUT", "settings", "{}"},
        {&root, "PUT", "resources/rule/r1", "{}"},
        {&root, "PUT", "projects/notes/settings", "{}"},
        {&root, "PUT", "projects/notes/access", "{}"},
        {&ann, "POST", "projects/notes/push/upload", "{}"},
        {&ann, "POST", "projects/notes/clients/c/retire", "{}"}, /* it is a version, too */
        {&ann, "PUT", "projects/notes/logs/events", ""},
        {&ann, "POST", "projects/notes/logs/events/entries", "{}"},
        {&ann, "POST", "projects/notes/logs/events/segments", "{}"},
    };
    api_world *world = bounded(0, 1);
    push_large(world, 1, 8);
    assert_response_is(world, 200, "");
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        api_ask(world, asked[i].who, asked[i].method, api_format("/v1/orgs/acme/%s", asked[i].path),
                kedge_bytes_of(asked[i].body));
        assert_response_is(world, 429, "budget-exceeded");
    }
    /* One that was admitted goes on in its next time slice. */
    world->goes_on = true;
    push_large(world, 2, 8);
    assert_response_is(world, 200, "");
    world->goes_on = false;
    push_large(world, 3, 8);
    assert_response_is(world, 429, "budget-exceeded");
    /* It stores nothing, since the project is there. */
    assert_int_equal(create(world, "notes", ""), 200);
    /* Another organization has its own, and foreign and absent projects look alike. */
    api_ask(world, &eve, "PUT", "/v1/orgs/evil/projects/p", kedge_bytes_of(""));
    assert_response_is(world, 201, "");
    api_post_as(world, &eve, "push", "{}");
    assert_response_is(world, 404, "project-not-found");
    /* So do foreign and absent organizations. */
    static const char *const foreign[] = {"acme/settings", "none/settings", "acme/resources/k/r",
                                          "none/resources/k/r"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        api_ask(world, &eve, "PUT", api_format("/v1/orgs/%s", foreign[i]), kedge_bytes_of("{}"));
        assert_response_is(world, 404, "organization-not-found");
    }
    api_ask(world, &eve, "POST", "/v1/orgs/acme/resources/k/r/rollback", kedge_bytes_of("{}"));
    assert_response_is(world, 404, "organization-not-found");
    end(world);
    (void)state;
}

static void test_the_count_outlives_its_process_and_is_known_to_others(void **state)
{
    api_world *world = bounded(0, 3 * MIB);
    for (int id = 1; id <= 4; id++)
        push_large(world, id, 6 * KIB);
    int64_t first = recorded(world, "acme"); /* the rest waits in memory */
    api_world_restart(world);
    int64_t whole = recorded(world, "acme");
    assert_in_range(whole, first + 3 * 6 * KIB, 4 * 16 * KIB);
    /* Another process has stored as much as may be: it is seen when the count is old. */
    push_large(world, 5, 8);
    assert_response_is(world, 200, "");
    const kedge_project_ref ref = {KEDGE_BYTES("acme"), {NULL, 0}};
    int64_t bytes;
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &ref), 3 * MIB, &bytes, NULL),
                     KEDGE_OK);
    push_large(world, 6, 8);
    assert_response_is(world, 200, "");
    time_ms += KEDGE_USAGE_MS;
    push_large(world, 7, 8);
    assert_response_is(world, 429, "budget-exceeded");
    /* And so is that there is room again. */
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &ref), -3 * MIB, &bytes, NULL),
                     KEDGE_OK);
    time_ms += KEDGE_USAGE_MS;
    push_large(world, 7, 8);
    assert_response_is(world, 200, "");
    end(world);
    (void)state;
}

static void test_what_cannot_be_added_is_added_later(void **state)
{
    api_world *world = bounded(0, 100 * MIB);
    push_large(world, 1, 8);
    away = true;
    for (int id = 2; id <= 12; id++) {
        push_large(world, id, 256 * KIB);
        assert_response_is(world, 200, "");
    }
    assert_true(world->background_failures[KEDGE_BACKGROUND_USAGE] > 0);
    assert_in_range(recorded(world, "acme"), 0, 16 * KIB);
    away = false;
    push_large(world, 13, 8);
    assert_in_range(recorded(world, "acme"), 11 * 384 * KIB, 11 * 448 * KIB);
    end(world);
    (void)state;
}

/* ---- projects ---- */

static void test_an_organization_has_as_many_projects_as_it_may(void **state)
{
    api_world *world = bounded(3, 0);
    assert_int_equal(create(world, "p2", ""), 201);
    assert_int_equal(create(world, "p3", "{\"kind\":\"log\"}"), 201);
    create(world, "p4", "");
    assert_response_is(world, 429, "budget-exceeded");
    assert_string_equal(api_string(world, "detail"),
                        "the budget organization_projects is 3, and used up; try again in 60 s");
    assert_string_equal(world->response.exceeded, KEDGE_USAGE_PROJECTS);
    create(world, "p4", "{\"kind\":\"log\"}");
    assert_response_is(world, 429, "budget-exceeded");
    /* Of the log project nothing is there. */
    assert_int_equal(
        api_ask(world, &ann, "GET", "/v1/orgs/acme/projects/p4/logs", kedge_bytes_of("")), 404);
    assert_int_equal(create(world, "p2", ""), 200); /* it is there */
    const kedge_project_ref p2 = {KEDGE_BYTES("acme"), KEDGE_BYTES("p2")};
    kedge_error error = {0};
    assert_int_equal(kedge_api_check_new_project(HANDLE(world->backend, &p2), &error), KEDGE_OK);
    assert_string_equal(error.code, ""); /* a later failure is not taken for the budget */
    api_put(world, "c", 1, "items/k", "1");
    api_post_as(world, &root, "fork", "{\"version\":1,\"to\":\"forked\"}");
    assert_response_is(world, 429, "budget-exceeded");
    assert_int_equal(api_ask(world, &eve, "PUT", "/v1/orgs/evil/projects/p", kedge_bytes_of("")),
                     201);
    /* In a new process they are counted. */
    api_world_restart(world);
    create(world, "p4", "");
    assert_response_is(world, 429, "budget-exceeded");
    end(world);
    (void)state;
}

static void test_a_project_that_went_makes_room_within_a_minute(void **state)
{
    api_world *world = bounded(2, 0);
    assert_int_equal(create(world, "p2", ""), 201);
    create(world, "p3", "");
    assert_response_is(world, 429, "budget-exceeded");
    kedge_key partition = kedge_key_organization(KEDGE_BYTES("acme"));
    kedge_key sort = kedge_key_project(KEDGE_BYTES("p2"));
    const kedge_record_write gone = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}}};
    assert_int_equal(world->records.vtable->write(world->records.self, &gone, NULL), KEDGE_OK);
    time_ms += KEDGE_USAGE_MS;
    assert_int_equal(create(world, "p3", ""), 201);
    end(world);
    (void)state;
}

static void test_in_open_mode_no_use_creates_a_project_too_many(void **state)
{
    api_world *world = bounded(1, 0);
    world->open = true;
    api_world_restart(world);
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/other/pull",
            kedge_bytes_of("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"));
    assert_response_is(world, 429, "budget-exceeded");
    api_put(world, "c", 1, "items/k", "1");
    end(world);
    (void)state;
}

static void test_in_open_mode_no_use_creates_a_project_beyond_what_may_be_stored(void **state)
{
    api_world *world = bounded(0, 1);
    world->open = true;
    api_world_restart(world);
    push_large(world, 1, 8);
    assert_response_is(world, 200, "");
    api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/other/pull",
            kedge_bytes_of("{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"));
    assert_response_is(world, 429, "budget-exceeded");
    end(world);
    (void)state;
}

/* More than one page of their records is counted. */
static void test_many_projects_are_counted_to_the_bound(void **state)
{
    api_world *world = bounded(0, 0);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(create(world, api_format("p%04d", i), ""), 201);
    const kedge_project_ref ref = {KEDGE_BYTES("acme"), {NULL, 0}};
    int64_t count = 0;
    assert_int_equal(kedge_usage_count_projects(HANDLE(world->backend, &ref), 5000, &count, NULL),
                     KEDGE_OK);
    assert_int_equal(count, 1501);
    assert_int_equal(kedge_usage_count_projects(HANDLE(world->backend, &ref), 1200, &count, NULL),
                     KEDGE_OK);
    assert_int_equal(count, 1200);
    assert_int_equal(recorded(world, "acme"), 0); /* without bounds nothing is counted */
    end(world);
    (void)state;
}

/* ---- requests at once ---- */

static void test_what_requests_at_once_will_store_is_reserved(void **state)
{
    api_world *world = bounded(0, 600 * KIB);
    push_large(world, 1, 8); /* the count is known then */
    memset(&between, 0, sizeof between);
    between.method = "PUT";
    between.path = "/v1/orgs/acme/projects/other";
    between.body = "";
    between.world = world;
    push_large(world, 2, 650 * KIB);
    assert_response_is(world, 200, "");
    between.world = NULL;
    assert_int_equal(between.status, 429);
    end(world);
    (void)state;
}

static void test_a_project_that_is_being_created_is_reserved(void **state)
{
    api_world *world = bounded(3, 0);
    memset(&between, 0, sizeof between);
    assert_int_equal(create(world, "p2", ""), 201);
    between.method = "PUT";
    between.path = "/v1/orgs/acme/projects/p4";
    between.body = "";
    between.world = world;
    assert_int_equal(create(world, "p3", ""), 201);
    between.world = NULL;
    assert_int_equal(between.status, 429);
    /* One that was there gives its place back. */
    api_world_restart(world);
    world->projects_max = 4;
    api_world_restart(world);
    for (int i = 0; i < 3; i++)
        assert_int_equal(create(world, "p3", ""), 200);
    assert_int_equal(create(world, "p4", ""), 201);
    create(world, "p5", "");
    assert_response_is(world, 429, "budget-exceeded");
    end(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_stored_is_counted_and_refused_beyond_the_bound),
        cmocka_unit_test(test_each_request_that_stores_is_refused_beyond_the_bound),
        cmocka_unit_test(test_the_count_outlives_its_process_and_is_known_to_others),
        cmocka_unit_test(test_what_cannot_be_added_is_added_later),
        cmocka_unit_test(test_an_organization_has_as_many_projects_as_it_may),
        cmocka_unit_test(test_a_project_that_went_makes_room_within_a_minute),
        cmocka_unit_test(test_in_open_mode_no_use_creates_a_project_too_many),
        cmocka_unit_test(test_in_open_mode_no_use_creates_a_project_beyond_what_may_be_stored),
        cmocka_unit_test(test_many_projects_are_counted_to_the_bound),
        cmocka_unit_test(test_what_requests_at_once_will_store_is_reserved),
        cmocka_unit_test(test_a_project_that_is_being_created_is_reserved),
    };
    return cmocka_run_group_tests_name("what an organization may have", tests, NULL, NULL);
}
