/* Pages of a pinned version, bodies by hash, versions, collections, items, mutations. */
#include "tests/backend/api_world.h"

#include "backend/versioned/model/layout.h"
#include "common/gzip.h"
#include "common/hash.h"
#include "common/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of `size` bytes of JSON. */
static const char *text_value(size_t size)
{
    static char text[200000];
    assert_true(size >= 2 && size < sizeof text);
    memset(text, 'v', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    return text;
}

static void put_large(api_world *world, int id, const char *item, const char *value)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(
        &body,
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
        "\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\",\"args\":{"
        "\"collection\":\"d\",\"id\":\"%s\",\"value\":%s},\"timestamp\":1}]}",
        id, item, value);
    assert_int_equal(api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                             kedge_buffer_bytes(&body)),
                     200);
    assert_string_equal(api_text(world), "{}");
    kedge_buffer_free(&body);
}

/* What a path or query needs encoded of the keys used here. */
static const char *encode(const char *text)
{
    char encoded[256];
    size_t size = 0;
    for (; *text != '\0'; text++) {
        assert_true(size + 4 < sizeof encoded);
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9');
        if (plain) {
            encoded[size++] = *text;
        } else {
            static const char digits[] = "0123456789ABCDEF";
            encoded[size++] = '%';
            encoded[size++] = digits[(unsigned char)*text >> 4];
            encoded[size++] = digits[(unsigned char)*text & 15];
        }
    }
    encoded[size] = '\0';
    return api_format("%s", encoded);
}

/* ---- snapshots ---- */

/* All pages in one text, "key=value " per item; new versions are committed between the pages. */
static void read_pages(api_world *world, int64_t version, int limit, int *next_id,
                       kedge_buffer *out)
{
    const char *after = "";
    for (int page = 0; page < 1000; page++) {
        api_get(world, api_format("snapshot?version=%lld&limit_bytes=%d&after=%s",
                                  (long long)version, limit, after));
        assert_response_is(world, 200, "");
        assert_int_equal(api_number(world, "version"), version);
        int count = api_count(world, "items");
        for (int at = 0; at < count; at++) {
            char *value = cJSON_PrintUnformatted(api_at(world, api_format("items.%d.value", at)));
            assert_non_null(value);
            kedge_buffer_append_format(out, "%s=%s ",
                                       api_string(world, api_format("items.%d.key", at)), value);
            cJSON_free(value);
        }
        if (cJSON_IsNull(api_at(world, "next"))) return;
        assert_true(count > 0);
        const char *last = api_string(world, api_format("items.%d.key", count - 1));
        assert_string_equal(api_string(world, "next"), last);
        after = encode(last);
        if (next_id == NULL) continue;
        api_put(world, "c1", *next_id, api_format("a/%d", *next_id % 9), "\"later\"");
        *next_id += 1;
    }
    fail_msg("the pages do not end");
}

static void test_pages_of_any_size_make_up_the_pinned_version(void **state)
{
    static const char *const keys[] = {"_/",  "_/project", "_/a/b", "_/x y", "a/",  "a/1",
                                       "a/2", "a-b/1",     "b/ü",   "b/%",   "b/z", "c/1"};
    static const int limits[] = {1, 40, 100, 1048576};
    api_world *world = api_world_new();
    int id = 1;
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++)
        api_put(world, "c1", id++, keys[at], api_format("%zu", at));
    api_post(world, "push",
             "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c2\","
             "\"id\":1,\"name\":\"kedge.project\",\"args\":{\"name\":\"n\"},\"timestamp\":1}]}");
    int64_t version = api_head(world);
    kedge_buffer whole = kedge_buffer_make(&kedge_allocator_default);
    read_pages(world, version, 4194304, NULL, &whole);
    assert_string_equal(whole.data, "project={\"name\":\"n\"} _/=0 _/a/b=2 _/project=1 x y=3 a/=4 "
                                    "a/1=5 a/2=6 a-b/1=7 b/%=9 b/z=10 b/ü=8 c/1=11 ");
    for (size_t at = 0; at < sizeof limits / sizeof limits[0]; at++) {
        kedge_buffer pages = kedge_buffer_make(&kedge_allocator_default);
        read_pages(world, version, limits[at], &id, &pages);
        assert_string_equal(pages.data, whole.data);
        kedge_buffer_free(&pages);
    }
    kedge_buffer_free(&whole);
    api_world_free(world);
    (void)state;
}

static void test_a_page_goes_on_behind_a_key_that_is_gone(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "b/1", "1");
    api_put(world, "c1", 2, "b/3", "3");
    api_put(world, "c1", 3, "d/1", "4");
    api_get(world, "snapshot?after=b%2F2");
    assert_string_equal(api_string(world, "items.0.key"), "b/3");
    assert_int_equal(api_count(world, "items"), 2);
    api_get(world, "snapshot?after=c%2Fx");
    assert_string_equal(api_string(world, "items.0.key"), "d/1");
    api_get(world, "snapshot?after=project");
    assert_int_equal(api_count(world, "items"), 3);
    api_get(world, "snapshot?after=z%2Fz");
    assert_int_equal(api_count(world, "items"), 0);
    assert_true(cJSON_IsNull(api_at(world, "next")));
    api_world_free(world);
    (void)state;
}

static void test_a_page_of_a_version_that_is_not_there_is_gone(void **state)
{
    api_world *world = api_world_new();
    assert_int_equal(api_get(world, "snapshot"), 200);
    assert_int_equal(api_number(world, "version"), 0);
    assert_int_equal(api_count(world, "items"), 0);
    api_get(world, "snapshot?version=1");
    assert_response_is(world, 410, "version-gone");
    api_put(world, "c1", 1, "d/a", "1");
    assert_int_equal(api_get(world, "snapshot?version=1"), 200);
    api_get(world, "snapshot?version=2");
    assert_response_is(world, 410, "version-gone");
    api_world_free(world);
    (void)state;
}

static void lose_body(api_world *world, const char *collection, const char *value)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("notes")};
    kedge_sha256(kedge_bytes_of(value), hash);
    kedge_key key = kedge_key_body(&ref, kedge_bytes_of(collection), hash);
    assert_int_equal(world->blobs.vtable->remove(world->blobs.self, kedge_key_bytes(&key), NULL),
                     KEDGE_OK);
}

static void damage_body(api_world *world, const char *collection, const char *value)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("notes")};
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    lose_body(world, collection, value);
    kedge_sha256(kedge_bytes_of(value), hash);
    kedge_key key = kedge_key_body(&ref, kedge_bytes_of(collection), hash);
    assert_int_equal(kedge_gzip(KEDGE_BYTES("{\"not\":\"it\"}"), &other, NULL), KEDGE_OK);
    assert_int_equal(world->blobs.vtable->put_if_absent(world->blobs.self, kedge_key_bytes(&key),
                                                        kedge_buffer_bytes(&other), NULL),
                     KEDGE_OK);
    kedge_buffer_free(&other);
}

static void test_a_page_leaves_out_lost_items_and_names_them(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", text_value(20000));
    put_large(world, 2, "b", text_value(20001));
    put_large(world, 3, "c", text_value(20002));
    lose_body(world, "d", text_value(20000));
    damage_body(world, "d", text_value(20002));
    api_world_restart(world);
    api_get(world, "snapshot?version=3");
    assert_response_is(world, 200, "");
    assert_int_equal(api_count(world, "items"), 1);
    assert_string_equal(api_string(world, "items.0.key"), "d/b");
    assert_string_equal(api_string(world, "damaged.code"), "items-damaged");
    assert_int_equal(api_number(world, "damaged.count"), 2);
    assert_int_equal(api_count(world, "damaged.keys"), 2);
    assert_string_equal(api_string(world, "damaged.keys.0"), "d/a");
    assert_string_equal(api_string(world, "damaged.keys.1"), "d/c");
    assert_int_equal(world->response.damaged_items, 2);
    assert_string_equal(world->response.cause.code, "item-body-damaged");
    put_large(world, 4, "a", text_value(20003));
    put_large(world, 5, "c", text_value(20004));
    api_get(world, "snapshot?version=5");
    assert_int_equal(api_count(world, "items"), 3);
    assert_null(api_at(world, "damaged"));
    assert_int_equal(world->response.damaged_items, 0);
    api_world_free(world);
    (void)state;
}

static void test_a_page_names_large_values_by_their_hash(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "at", text_value(65536));
    put_large(world, 2, "over", text_value(65537));
    api_get(world, "snapshot");
    assert_non_null(api_at(world, "items.0.value"));
    assert_null(api_at(world, "items.1.value"));
    assert_int_equal(api_number(world, "items.1.size"), 65537);
    assert_int_equal(strlen(api_string(world, "items.1.hash")), 64);
    api_world_free(world);
    (void)state;
}

/* ---- bodies ---- */

static const char *body_path(const char *collection, const char *value)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_sha256_hex(kedge_bytes_of(value), hex);
    return api_format("collections/%s/bodies/%s", collection, hex);
}

static void test_a_body_is_served_as_it_is_stored(void **state)
{
    api_world *world = api_world_new();
    const char *value = text_value(20000);
    put_large(world, 1, "a", value);
    const char *path = body_path("d", value);
    world->accepts_gzip = true;
    assert_int_equal(api_get(world, path), 200);
    assert_string_equal(world->response.content_encoding, "gzip");
    assert_true(world->response.immutable);
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_gunzip(kedge_buffer_bytes(&world->response.body), 1000000, &plain, NULL),
                     KEDGE_OK);
    assert_string_equal(plain.data, value);
    world->accepts_gzip = false;
    assert_int_equal(api_get(world, path), 200);
    assert_null(world->response.content_encoding);
    assert_true(world->response.immutable);
    assert_string_equal(api_text(world), value);
    kedge_buffer_free(&plain);
    api_world_free(world);
    (void)state;
}

static void test_ranges_are_of_the_stored_bytes(void **state)
{
    static const struct {
        const char *range;
        int status;
        int first; /* negative: from the end */
        int size;  /* 0: to the end */
    } rows[] = {
        {"bytes=0-9", 206, 0, 10},    {"bytes=5-", 206, 5, 0},
        {"bytes=-7", 206, -7, 0},     {"bytes=3-999999", 206, 3, 0},
        {"bytes=-999999", 206, 0, 0}, {"bytes=999999-", 416, 0, 0},
        {"bytes=-0", 416, 0, 0},      {"bytes=9-3", 200, 0, 0},
        {"bytes=0-1,3-4", 200, 0, 0}, {"bytes=", 200, 0, 0},
        {"bytes=-", 200, 0, 0},       {"items=0-1", 200, 0, 0},
        {"bytes=x-", 200, 0, 0},      {"bytes=99999999999999999999-", 200, 0, 0},
    };
    api_world *world = api_world_new();
    const char *value = text_value(20000);
    put_large(world, 1, "a", value);
    const char *path = body_path("d", value);
    world->accepts_gzip = true;
    api_get(world, path);
    kedge_buffer stored = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_bytes(&stored, kedge_buffer_bytes(&world->response.body));
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        world->range = rows[at].range;
        api_get(world, path);
        if (world->response.status != rows[at].status) fail_msg("%s", rows[at].range);
        if (rows[at].status == 416) {
            assert_response_is(world, 416, "range-not-satisfiable");
            assert_string_equal(world->response.content_range,
                                api_format("bytes */%zu", stored.size));
            continue;
        }
        size_t first =
            rows[at].first < 0 ? stored.size - (size_t)-rows[at].first : (size_t)rows[at].first;
        size_t size = rows[at].size == 0 ? stored.size - first : (size_t)rows[at].size;
        assert_int_equal(world->response.body.size, size);
        assert_memory_equal(world->response.body.data, stored.data + first, size);
        if (rows[at].status == 206) {
            assert_string_equal(
                world->response.content_range,
                api_format("bytes %zu-%zu/%zu", first, first + size - 1, stored.size));
        }
    }
    /* They are of the gzip alone: who does not take that gets all of the body. */
    world->accepts_gzip = false;
    world->range = "bytes=0-9";
    assert_int_equal(api_get(world, path), 200);
    assert_string_equal(world->response.content_range, "");
    assert_string_equal(api_text(world), value);
    world->range = NULL;
    kedge_buffer_free(&stored);
    api_world_free(world);
    (void)state;
}

static void test_a_body_that_is_not_stored_by_itself_is_not_found(void **state)
{
    api_world *world = api_world_new();
    const char *value = text_value(20000);
    put_large(world, 1, "a", value);
    api_get(world, body_path("other", value));
    assert_response_is(world, 404, "body-not-found");
    api_get(world, body_path("d", "1"));
    assert_response_is(world, 404, "body-not-found");
    api_world_free(world);
    (void)state;
}

/* ---- versions ---- */

/* A client that was told of it would otherwise ask for the same version, and the body, for ever. */
static void test_a_body_of_the_newest_version_that_is_lost_is_told_apart(void **state)
{
    api_world *world = api_world_new();
    put_large(world, 1, "a", text_value(70000));
    put_large(world, 2, "b", text_value(70001));
    lose_body(world, "d", text_value(70000));
    damage_body(world, "d", text_value(70001));
    world->accepts_gzip = true;
    api_get(world, body_path("d", text_value(70000)));
    assert_response_is(world, 404, "item-body-missing");
    assert_int_equal(world->response.damaged_items, 1);
    api_get(world, body_path("d", text_value(70001)));
    assert_response_is(world, 404, "item-body-damaged");
    put_large(world, 3, "a", text_value(70002));
    api_get(world, body_path("d", text_value(70000)));
    assert_response_is(world, 404, "body-not-found");
    api_world_free(world);
    (void)state;
}

static void test_versions_are_listed_newest_first_and_in_pages(void **state)
{
    api_world *world = api_world_new();
    api_get(world, "versions");
    assert_string_equal(api_text(world), "{\"versions\":[],\"next\":null}");
    for (int id = 1; id <= 7; id++)
        api_put(world, "c1", id, id % 2 == 0 ? "even/a" : "odd/a", api_format("%d", id));
    api_get(world, "versions?limit=3");
    assert_int_equal(api_count(world, "versions"), 3);
    assert_int_equal(api_number(world, "versions.0.version"), 7);
    assert_int_equal(api_number(world, "next"), 5);
    assert_int_equal(api_number(world, "versions.0.collections.odd.number"), 4);
    assert_int_equal(api_number(world, "versions.0.collections.even.changed"), 6);
    assert_int_equal(api_number(world, "versions.0.collections.even.items"), 1);
    assert_true(cJSON_IsNull(api_at(world, "versions.0.project")));
    assert_true(api_number(world, "versions.0.created") > 0);
    assert_int_equal(strlen(api_string(world, "versions.0.lineage")), 32);
    api_get(world, "versions?limit=3&before=5");
    assert_int_equal(api_number(world, "versions.0.version"), 4);
    assert_int_equal(api_number(world, "next"), 2);
    api_get(world, "versions?limit=3&before=2");
    assert_int_equal(api_count(world, "versions"), 1);
    assert_true(cJSON_IsNull(api_at(world, "next")));
    api_get(world, "versions?before=1");
    assert_int_equal(api_count(world, "versions"), 0);
    api_get(world, "versions?before=1000");
    assert_int_equal(api_count(world, "versions"), 7);
    api_world_free(world);
    (void)state;
}

static void test_a_version_shows_its_mutations(void **state)
{
    api_world *world = api_world_new();
    api_post(
        world, "push",
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},"
        "\"mutations\":[{\"clientID\":\"c1\",\"id\":1,\"name\":\"kedge.put\",\"args\":{"
        "\"value\":1,\"collection\":\"d\",\"id\":\"a\"},\"timestamp\":42,"
        "\"uid\":\"0123456789abcdef0123456789abcdef\",\"origin\":{\"client\":\"c0\",\"id\":9}},"
        "{\"clientID\":\"c1\",\"id\":2,\"name\":\"nope\",\"args\":[1],\"timestamp\":43}]}");
    assert_response_is(world, 200, "");
    api_get(world, "versions/1");
    assert_string_equal(api_string(world, "retired"), "c0");
    api_get(world, "versions/2?items=1");
    assert_string_equal(api_string(world, "mutations.0.client"), "c1");
    assert_int_equal(api_number(world, "mutations.0.id"), 1);
    assert_string_equal(api_string(world, "mutations.0.name"), "kedge.put");
    assert_int_equal(api_number(world, "mutations.0.args.value"), 1);
    assert_int_equal(api_number(world, "mutations.0.timestamp"), 42);
    assert_string_equal(api_string(world, "mutations.0.user"), "ann");
    assert_string_equal(api_string(world, "mutations.0.uid"), "0123456789abcdef0123456789abcdef");
    assert_string_equal(api_string(world, "mutations.0.origin.client"), "c0");
    assert_string_equal(api_string(world, "mutations.0.outcome"), "applied");
    assert_null(api_at(world, "mutations.0.code"));
    assert_null(api_at(world, "mutations.1.uid"));
    assert_null(api_at(world, "mutations.1.origin"));
    assert_string_equal(api_string(world, "mutations.1.outcome"), "rejected");
    assert_string_equal(api_string(world, "mutations.1.code"), "mutator-unknown");
    assert_int_equal(api_number(world, "collections.d.0.value"), 1);
    assert_int_equal(api_number(world, "collections.d.0.size"), 1);
    assert_null(api_at(world, "retired"));
    char hex[KEDGE_SHA256_HEX];
    kedge_sha256_hex(KEDGE_BYTES("{\"args\":{\"collection\":\"d\",\"id\":\"a\",\"value\":1},"
                                 "\"name\":\"kedge.put\","
                                 "\"uid\":\"0123456789abcdef0123456789abcdef\"}"),
                     hex);
    hex[32] = '\0';
    assert_string_equal(api_string(world, "mutations.0.digest"), hex);
    kedge_sha256_hex(KEDGE_BYTES("{\"args\":[1],\"name\":\"nope\"}"), hex);
    hex[32] = '\0';
    assert_string_equal(api_string(world, "mutations.1.digest"), hex);
    api_world_free(world);
    (void)state;
}

static void test_a_version_shows_the_state_of_its_time(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/a", "2");
    api_put(world, "c1", 3, "d/b", "3");
    api_get(world, "versions/1?items=1");
    assert_int_equal(api_count(world, "collections.d"), 1);
    assert_int_equal(api_number(world, "collections.d.0.value"), 1);
    api_get(world, "versions/latest");
    assert_int_equal(api_number(world, "version"), 3);
    assert_int_equal(api_count(world, "collections.d"), 2);
    assert_null(api_at(world, "collections.d.0.value"));
    api_get(world, "versions/4");
    assert_response_is(world, 404, "version-not-found");
    api_get(world, "versions/1/collections/d/b");
    assert_response_is(world, 404, "item-not-found");
    api_get(world, "versions/1/collections/d/a");
    assert_int_equal(api_number(world, "value"), 1);
    assert_int_equal(api_number(world, "version"), 1);
    assert_string_equal(api_string(world, "collection"), "d");
    assert_string_equal(api_string(world, "id"), "a");
    assert_int_equal(strlen(api_string(world, "hash")), 64);
    api_get(world, "versions/9/collections/d/a");
    assert_response_is(world, 404, "version-not-found");
    api_get(world, "versions/9/collections/d");
    assert_response_is(world, 404, "version-not-found");
    api_world_free(world);
    (void)state;
}

static void test_a_project_without_versions_has_a_latest_one(void **state)
{
    api_world *world = api_world_new();
    assert_int_equal(api_get(world, "versions/latest"), 200);
    assert_int_equal(api_number(world, "version"), 0);
    assert_int_equal(api_count(world, "mutations"), 0);
    assert_int_equal(api_get(world, "versions/latest/collections/d"), 200);
    assert_int_equal(api_count(world, "items"), 0);
    api_get(world, "versions/latest/collections/d/a");
    assert_response_is(world, 404, "item-not-found");
    api_get(world, "versions/1");
    assert_response_is(world, 404, "version-not-found");
    api_world_free(world);
    (void)state;
}

static void test_a_collection_is_listed_in_pages_of_ids(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/", "0");
    api_put(world, "c1", 2, "d/a/b", "1");
    api_put(world, "c1", 3, "d/z", "2");
    api_get(world, "versions/3/collections/d?limit=1");
    assert_int_equal(api_count(world, "items"), 1);
    assert_string_equal(api_string(world, "items.0.id"), "");
    assert_string_equal(api_string(world, "next"), "");
    api_put(world, "c1", 4, "d/a", "later");
    api_get(world, "versions/3/collections/d?limit=1&after=");
    assert_string_equal(api_string(world, "items.0.id"), "a/b");
    assert_string_equal(api_string(world, "next"), "a/b");
    api_get(world, "versions/3/collections/d?limit=1&after=a%2Fb");
    assert_string_equal(api_string(world, "items.0.id"), "z");
    assert_true(cJSON_IsNull(api_at(world, "next")));
    assert_null(api_at(world, "items.0.value"));
    assert_true(cJSON_IsObject(api_at(world, "items.0.meta")));
    api_world_free(world);
    (void)state;
}

/* ---- mutations ---- */

static void test_a_mutation_is_found_by_its_client_and_id(void **state)
{
    api_world *world = api_world_new();
    api_put(world, "c1", 1, "d/a", "1");
    api_put(world, "c1", 2, "d/a", "2");
    api_put(world, "c2", 1, "d/a", "3");
    api_get(world, "clients/c1/mutations/1");
    assert_int_equal(api_number(world, "version"), 1);
    assert_int_equal(api_number(world, "id"), 1);
    assert_string_equal(api_string(world, "client"), "c1");
    api_get(world, "clients/c1/mutations/latest");
    assert_int_equal(api_number(world, "id"), 2);
    assert_int_equal(api_number(world, "version"), 2);
    api_get(world, "clients/c1/mutations/3");
    assert_response_is(world, 404, "mutation-not-found");
    api_get(world, "clients/c3/mutations/latest");
    assert_response_is(world, 404, "mutation-not-found");
    api_get(world, "clients/c1/mutations");
    assert_int_equal(api_count(world, "outcomes"), 2);
    api_get(world, "clients/c1/mutations?version=1");
    assert_int_equal(api_count(world, "outcomes"), 1);
    api_get(world, "clients/c1/mutations?version=9");
    assert_response_is(world, 404, "version-not-found");
    api_get(world, "clients/none/mutations?from=1&to=100");
    assert_string_equal(api_text(world), "{\"outcomes\":[],\"outcomes_next\":null}");
    api_world_free(world);
    (void)state;
}

/* Past 256 runs the index rows answer, which do not hold all of it. */
static void test_an_old_mutation_is_told_whole(void **state)
{
    api_world *world = api_world_new();
    for (int id = 1; id <= 300; id++)
        api_put(world, "c1", id, "d/a", api_format("%d", id));
    api_get(world, "clients/c1/mutations/1");
    assert_string_equal(api_string(world, "name"), "kedge.put");
    assert_int_equal(api_number(world, "args.value"), 1);
    assert_string_equal(api_string(world, "user"), "ann");
    assert_int_equal(api_number(world, "version"), 1);
    api_get(world, "clients/c1/mutations");
    assert_int_equal(api_count(world, "outcomes"), 300);
    assert_int_equal(api_number(world, "outcomes.299.version"), 300);
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_of_any_size_make_up_the_pinned_version),
        cmocka_unit_test(test_a_page_goes_on_behind_a_key_that_is_gone),
        cmocka_unit_test(test_a_page_of_a_version_that_is_not_there_is_gone),
        cmocka_unit_test(test_a_page_leaves_out_lost_items_and_names_them),
        cmocka_unit_test(test_a_body_of_the_newest_version_that_is_lost_is_told_apart),
        cmocka_unit_test(test_a_page_names_large_values_by_their_hash),
        cmocka_unit_test(test_a_body_is_served_as_it_is_stored),
        cmocka_unit_test(test_ranges_are_of_the_stored_bytes),
        cmocka_unit_test(test_a_body_that_is_not_stored_by_itself_is_not_found),
        cmocka_unit_test(test_versions_are_listed_newest_first_and_in_pages),
        cmocka_unit_test(test_a_version_shows_its_mutations),
        cmocka_unit_test(test_a_version_shows_the_state_of_its_time),
        cmocka_unit_test(test_a_project_without_versions_has_a_latest_one),
        cmocka_unit_test(test_a_collection_is_listed_in_pages_of_ids),
        cmocka_unit_test(test_a_mutation_is_found_by_its_client_and_id),
        cmocka_unit_test(test_an_old_mutation_is_told_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
