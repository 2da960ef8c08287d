/* Snapshots of log projects of which a part is gone or damaged: no client is sent to them for long,
 * and the next one that is made is whole. */
#include "tests/backend/api_world.h"

#include "backend/base/backend.h"
#include "backend/logged/snapshot_object.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/model/layout.h"
#include "common/hash.h"

#include <string.h>

#define BASE        "/v1/orgs/acme/projects/sheet"
#define CHUNKS      "acme/projects/sheet/chunks/"
#define BODIES      "acme/projects/sheet/d/"
#define SMALL       3000  /* in a chunk */
#define LARGE       10000 /* a blob of its own, which the page has */
#define BY_HASH     70000 /* one that the page names by its hash */
#define SMALL_ITEMS 60
#define LARGE_ITEMS 4

static const kedge_project_ref ref = {{"acme", 4}, {"sheet", 5}};

static int ask_as(api_world *world, const kedge_identity *who, const char *method, const char *path,
                  kedge_bytes body)
{
    return api_ask(world, who, method, api_format(BASE "%s", path), body);
}

static api_world *new_world(void)
{
    api_world *world = api_world_new();
    assert_int_equal(ask_as(world, &ann, "PUT", "", KEDGE_BYTES("{\"kind\":\"log\"}")), 201);
    return world;
}

static void push(api_world *world, const char *client, kedge_bytes mutation)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"%s\",\"mutations\":[%.*s],"
                               "\"kedge\":{\"client\":\"%s\"}}",
                               client, (int)mutation.size, mutation.data, client);
    ask_as(world, &ann, "POST", "/push", kedge_buffer_bytes(&body));
    assert_response_is(world, 200, "");
    kedge_buffer_free(&body);
}

static void put(api_world *world, int id, size_t size)
{
    static char text[BY_HASH + 1];
    kedge_buffer mutation = kedge_buffer_make(&kedge_allocator_default);
    memset(text, 'a' + id % 26, size);
    text[size] = '\0';
    kedge_buffer_append_format(&mutation,
                               "{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
                               "\"collection\":\"d\",\"id\":\"i%04d\",\"value\":\"%s\"},"
                               "\"timestamp\":7}",
                               id, id, text);
    push(world, "c1", kedge_buffer_bytes(&mutation));
    kedge_buffer_free(&mutation);
}

/* A patch of an item that is not there: replays reject it. */
static void patch_nothing(api_world *world, const char *client, int id, const char *more)
{
    push(world, client,
         kedge_bytes_of(api_format("{\"clientID\":\"%s\",\"id\":%d,\"name\":\"kedge.patch\","
                                   "\"args\":{\"collection\":\"d\",\"id\":\"none\",\"patch\":[]},"
                                   "\"timestamp\":7%s}",
                                   client, id, more)));
}

static void pull(api_world *world, const char *client, const char *cookie)
{
    const char *body =
        api_format("{\"pullVersion\":1,\"clientGroupID\":\"%s\",\"cookie\":%s,\"kedge\":{"
                   "\"client\":\"%s\",\"lowest_pending\":1,\"highest_id\":9}}",
                   client, cookie, client);
    ask_as(world, &ann, "POST", "/pull", kedge_bytes_of(body));
}

static void snap(api_world *world, int64_t version)
{
    ask_as(world, &root, "POST", "/snapshot", KEDGE_BYTES(""));
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "version"), version);
    assert_true(cJSON_IsTrue(api_at(world, "made")));
}

static void get_page(api_world *world, int64_t version)
{
    ask_as(world, &ann, "GET", api_format("/snapshot?version=%lld", (long long)version),
           KEDGE_BYTES(""));
}

static size_t failures(const api_world *world)
{
    return world->background_failures[KEDGE_BACKGROUND_LOG_SNAPSHOTS];
}

/* A client without a cookie gets the snapshot, or the entries. */
static void expect_snapshot(api_world *world, int64_t version)
{
    pull(world, "new", "null");
    assert_response_is(world, 200, "");
    assert_int_equal(api_number(world, "kedge.snapshot.version"), version);
}

static void expect_entries(api_world *world, int count)
{
    pull(world, "new", "null");
    assert_response_is(world, 200, "");
    assert_true(cJSON_IsNull(api_at(world, "kedge.snapshot")));
    assert_int_equal(api_number(world, "kedge.from"), 0);
    assert_int_equal(api_count(world, "kedge.log.entries"), count);
}

static const char *path_of_body(int id, size_t size)
{
    static char text[BY_HASH + 3];
    uint8_t hash[KEDGE_SHA256_SIZE];
    char hex[KEDGE_SHA256_HEX];
    memset(text, 'a' + id % 26, size + 2);
    text[0] = text[size + 1] = '"';
    kedge_sha256((kedge_bytes){text, size + 2}, hash);
    kedge_hex_encode(hash, sizeof hash, hex);
    return api_format("/collections/d/bodies/%s", hex);
}

/* ---- a client that has begun with it ---- */

static void test_nobody_is_sent_again_to_a_snapshot_whose_part_is_lost(void **state)
{
    static const struct {
        size_t size;
        int items;
        const char *lost;
    } cases[] = {{SMALL, SMALL_ITEMS, CHUNKS}, {LARGE, 2, BODIES}, {BY_HASH, 2, BODIES}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        api_world *world = new_world();
        const size_t size = cases[i / 2].size;
        const int items = cases[i / 2].items;
        for (int id = 1; id <= items; id++)
            put(world, id, size);
        snap(world, items);
        api_world_lose_blobs(world, cases[i / 2].lost, i % 2 == 1);
        expect_snapshot(world, items);
        get_page(world, items);
        if (size == BY_HASH) {
            assert_response_is(world, 200, "");
            ask_as(world, &ann, "GET", path_of_body(1, size), KEDGE_BYTES(""));
            assert_response_is(world, 404, "body-not-found");
        } else {
            assert_response_is(world, 410, "version-gone");
        }
        assert_int_equal(failures(world), 1);
        expect_entries(world, items);
        api_world_restart(world); /* another server knows it, too */
        expect_entries(world, items);
        snap(world, items);
        api_world_restart(world);
        expect_snapshot(world, items);
        get_page(world, items);
        assert_response_is(world, 200, "");
        assert_int_equal(api_count(world, "items"), items);
        ask_as(world, &ann, "GET", path_of_body(1, size), KEDGE_BYTES(""));
        assert_response_is(world, size == SMALL ? 404 : 200, size == SMALL ? "body-not-found" : "");
        api_world_free(world);
    }
}

/* A body that no snapshot refers to says nothing about the snapshot. */
static void test_a_body_that_is_unknown_discards_no_snapshot(void **state)
{
    api_world *world = new_world();
    (void)state;
    put(world, 1, BY_HASH);
    snap(world, 1);
    ask_as(world, &ann, "GET", path_of_body(2, BY_HASH), KEDGE_BYTES(""));
    assert_response_is(world, 404, "body-not-found");
    assert_int_equal(failures(world), 0);
    expect_snapshot(world, 1);
    api_world_free(world);
}

/* ---- made again ---- */

static void test_the_next_snapshot_replaces_what_is_damaged(void **state)
{
    (void)state;
    for (int same_entry = 0; same_entry <= 1; same_entry++) {
        api_world *world = new_world();
        for (int id = 1; id <= SMALL_ITEMS; id++)
            put(world, id, SMALL);
        put(world, SMALL_ITEMS + 1, LARGE);
        int entries = SMALL_ITEMS + 1;
        snap(world, entries);
        api_world_lose_blobs(world, CHUNKS, true);
        api_world_lose_blobs(world, BODIES, true);
        if (!same_entry) put(world, ++entries, 10);
        snap(world, entries);
        api_world_restart(world);
        expect_snapshot(world, entries);
        get_page(world, entries);
        assert_response_is(world, 200, "");
        assert_int_equal(api_count(world, "items"), entries);
        api_world_free(world);
    }
}

/* ---- what it has decided ---- */

static void lose_rejections(api_world *world, int64_t number)
{
    kedge_key partition = kedge_key_partition(&ref);
    kedge_key sort = kedge_key_collection(KEDGE_BYTES(KEDGE_LOGGED_REJECTIONS), number, 0);
    const kedge_record_write remove = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}},
        .condition = KEDGE_IF_ANY};
    assert_int_equal(world->records.vtable->write(world->records.self, &remove, NULL), KEDGE_OK);
    api_world_restart(world);
}

static const char origin[] = ",\"origin\":{\"client\":\"c1\",\"id\":1}";

static void expect_rejected(api_world *world)
{
    assert_response_is(world, 200, "");
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.outcome"), "duplicate");
    assert_string_equal(api_string(world, "kedge.log.entries.0.mutations.0.code"),
                        "item-not-found");
}

/* c2's duplicate stands after the snapshot from which its cache began, and c1's edit before it.
 * `puts` entries stand between the two. Gives c2's cookie. */
static const char *lose_snapshot(api_world *world, int puts, bool whole_object)
{
    world->backend->options.stream_is_followed = true;
    patch_nothing(world, "c1", 1, "");
    for (int id = 2; id < 2 + puts; id++)
        put(world, id, 10);
    ask_as(world, &root, "POST", "/snapshot", KEDGE_BYTES(""));
    int64_t number = api_number(world, "version");
    pull(world, "c2", "null");
    assert_int_equal(api_number(world, "kedge.snapshot.version"), number);
    const char *cookie = api_cookie(world);
    patch_nothing(world, "c2", 1, origin);
    if (whole_object)
        lose_rejections(world, number);
    else
        api_world_lose_blobs(world, "acme/projects/sheet/versions/", false);
    world->backend->options.stream_is_followed = true;
    return cookie;
}

static void test_a_replay_tells_what_a_snapshot_that_is_lost_has_decided(void **state)
{
    (void)state;
    for (int whole_object = 0; whole_object <= 1; whole_object++) {
        api_world *world = new_world();
        const char *cookie = lose_snapshot(world, 3, whole_object);
        pull(world, "c2", cookie);
        expect_rejected(world);
        assert_true(failures(world) > 0);
        expect_entries(world, 4); /* up to the snapshot */
        api_world_free(world);
    }
}

/* The start is too far for a replay. A new snapshot is asked for once, by an entry. */
static void test_who_waits_for_a_snapshot_asks_for_it(void **state)
{
    (void)state;
    for (int whole_object = 0; whole_object <= 1; whole_object++) {
        api_world *world = new_world();
        const char *cookie = lose_snapshot(world, KEDGE_LOGGED_REPLAY_ENTRIES, whole_object);
        int64_t number = api_number(world, "kedge.version");
        for (int pulls = 0; pulls < 3; pulls++) {
            pull(world, "c2", cookie);
            assert_int_equal(world->response.status, 500);
        }
        snap(world, number + 1);
        pull(world, "c2", cookie);
        expect_rejected(world);
        api_world_free(world);
    }
}

/* ---- one that cannot be made again ---- */

typedef struct later_work {
    void (*run)(void *argument);
    void *argument;
    size_t taken;
} later_work;

static bool take_later(void *context, void (*run)(void *argument), void *argument)
{
    later_work *work = context;
    work->run = run;
    work->argument = argument;
    work->taken++;
    return true;
}

static int64_t now_ms;

static int64_t monotonic_ms(void *context)
{
    (void)context;
    return now_ms;
}

static void pull_in_vain(api_world *world, const char *cookie, later_work *later, size_t taken)
{
    size_t before = later->taken;
    pull(world, "c2", cookie);
    assert_int_equal(world->response.status, 500);
    assert_int_equal(later->taken, taken);
    if (later->taken > before) later->run(later->argument);
}

static kedge_status do_nothing(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    return KEDGE_OK;
}

static void open_with(api_world *world, kedge_registry *registry)
{
    world->registry = registry;
    api_world_restart(world);
}

/* A mutator that this server does not have any more stands behind the snapshot. */
static void test_a_snapshot_that_cannot_be_made_is_tried_again_after_a_while(void **state)
{
    static const kedge_mutator mutator = {"test.nothing", 1, do_nothing, NULL};
    api_world *world = new_world();
    kedge_registry *without = world->registry, *with = NULL;
    later_work later = {.taken = 0};
    (void)state;
    now_ms = 1000;
    assert_int_equal(kedge_registry_new(world->environment.allocator, &mutator, 1, &with, NULL),
                     KEDGE_OK);
    open_with(world, with);
    const char *cookie = lose_snapshot(world, KEDGE_LOGGED_REPLAY_ENTRIES, true);
    push(world, "c3",
         KEDGE_BYTES("{\"clientID\":\"c3\",\"id\":1,\"name\":\"test.nothing\",\"args\":null,"
                     "\"timestamp\":7}"));
    open_with(world, without);
    kedge_registry_free(with);
    world->environment.monotonic_ms = monotonic_ms;
    world->backend->options.later = take_later;
    world->backend->options.later_context = &later;
    pull_in_vain(world, cookie, &later, 1);
    size_t failed = failures(world);
    pull_in_vain(world, cookie, &later, 1);
    now_ms += KEDGE_REMAKE_MS - 1;
    pull_in_vain(world, cookie, &later, 1);
    assert_true(failures(world) > failed); /* each pull tells the damage */
    now_ms++;
    pull_in_vain(world, cookie, &later, 2);
    now_ms += KEDGE_REMAKE_MS - 1;
    pull_in_vain(world, cookie, &later, 2);
    api_world_free(world);
}

/* ---- what no snapshot has decided ---- */

/* As in a backend that was restored to a time before the snapshot from which c2's cache began: what
 * the snapshot has decided stands between the last one and c2's cookie. */
static void test_a_replay_tells_what_no_snapshot_has_decided_yet(void **state)
{
    (void)state;
    for (int snapshots = 0; snapshots <= 1; snapshots++) {
        api_world *world = new_world();
        put(world, 1, 10);
        if (snapshots == 1) snap(world, 1);
        patch_nothing(world, "c3", 1, "");
        pull(world, "c2", "null");
        if (snapshots == 1) pull(world, "c2", api_cookie(world));
        assert_int_equal(api_number(world, "kedge.version"), 2);
        const char *cookie = api_cookie(world);
        patch_nothing(world, "c2", 1, ",\"origin\":{\"client\":\"c3\",\"id\":1}");
        api_world_restart(world);
        pull(world, "c2", cookie);
        expect_rejected(world);
        api_world_free(world);
    }
}

/* Of an object; `args` names the member of the args that it is. */
static void push_large(api_world *world, int id, const char *name, const char *args, size_t size)
{
    kedge_buffer mutation = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&mutation,
                               "{\"clientID\":\"c1\",\"id\":%d,\"name\":\"%s\",\"timestamp\":7,"
                               "\"args\":{\"collection\":\"d\",\"id\":\"i%d\",\"%s\":{\"%s\":\"",
                               id, name, id % LARGE_ITEMS, args, args);
    for (size_t i = 0; i < size; i++)
        kedge_buffer_append_byte(&mutation, 'v');
    kedge_buffer_append_text(&mutation, "\"}}}");
    push(world, "c1", kedge_buffer_bytes(&mutation));
    kedge_buffer_free(&mutation);
}

/* Small entries that change large items. Behind the bound nothing is told. */
static void test_a_replay_holds_a_bounded_part_of_the_items(void **state)
{
    (void)state;
    for (int changed = 1; changed <= LARGE_ITEMS; changed += LARGE_ITEMS - 1) {
        api_world *world = new_world();
        for (int id = 1; id <= LARGE_ITEMS; id++)
            push_large(world, id, "kedge.put", "value", KEDGE_LOGGED_REPLAY_CHANGES / LARGE_ITEMS);
        snap(world, LARGE_ITEMS);
        patch_nothing(world, "c3", 1, "");
        for (int id = 1; id <= changed; id++)
            push_large(world, LARGE_ITEMS + id, "kedge.merge", "patch", 1);
        put(world, LARGE_ITEMS + changed + 1, 10);
        pull(world, "c2", "null");
        pull(world, "c2", api_cookie(world));
        assert_int_equal(api_number(world, "kedge.version"), LARGE_ITEMS + changed + 2);
        const char *cookie = api_cookie(world);
        patch_nothing(world, "c2", 1, ",\"origin\":{\"client\":\"c3\",\"id\":1}");
        pull(world, "c2", cookie);
        if (changed == 1) {
            expect_rejected(world);
        } else {
            assert_response_is(world, 200, "");
            assert_null(api_at(world, "kedge.log.entries.0.mutations.0.code"));
        }
        api_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_sent_again_to_a_snapshot_whose_part_is_lost),
        cmocka_unit_test(test_a_body_that_is_unknown_discards_no_snapshot),
        cmocka_unit_test(test_the_next_snapshot_replaces_what_is_damaged),
        cmocka_unit_test(test_a_replay_tells_what_a_snapshot_that_is_lost_has_decided),
        cmocka_unit_test(test_who_waits_for_a_snapshot_asks_for_it),
        cmocka_unit_test(test_a_snapshot_that_cannot_be_made_is_tried_again_after_a_while),
        cmocka_unit_test(test_a_replay_tells_what_no_snapshot_has_decided_yet),
        cmocka_unit_test(test_a_replay_holds_a_bounded_part_of_the_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
