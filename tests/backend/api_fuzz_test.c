/* Random and damaged requests: each is answered with an I-JSON document, none with 500, and what
 * was decided stays in order. */
#include "tests/backend/api_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS        30000
#define WORLD_ROUNDS  300
#define REQUEST_BYTES 2048

typedef struct fuzz_request {
    const char *method;
    const char *path;
    const char *body;
} fuzz_request;

#define BASE "/v1/orgs/acme/projects/notes"

static const fuzz_request requests[] = {
    {"POST", BASE "/push",
     "{\"profileID\":\"p\",\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c1\",\"id\":1,"
     "\"name\":\"kedge.put\",\"args\":{\"collection\":\"d\",\"id\":\"a\",\"value\":{\"x\":[1,2.5,"
     "\"\\u00fc\\n\"]}},\"timestamp\":12.5},{\"clientID\":\"c2\",\"id\":1,\"name\":\"kedge.merge\","
     "\"args\":{\"collection\":\"d\",\"id\":\"a\",\"value\":{\"y\":null}},\"timestamp\":1}],"
     "\"pushVersion\":1,\"schemaVersion\":\"\"}"},
    {"POST", BASE "/push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},\"mutations\":[{"
     "\"clientID\":\"c1\",\"id\":2,\"name\":\"kedge.project\",\"args\":{\"name\":\"n\"},"
     "\"timestamp\":1,\"uid\":\"0123456789abcdef0123456789abcdef\",\"origin\":{\"client\":\"c0\","
     "\"id\":3}}]}"},
    {"POST", BASE "/push",
     "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"c1\",\"id\":3,"
     "\"name\":\"kedge.delete\",\"args\":{\"collection\":\"d\",\"id\":\"a\"},\"timestamp\":1},{"
     "\"clientID\":\"c1\",\"id\":4,\"name\":\"kedge.patch\",\"args\":{\"collection\":\"d\",\"id\":"
     "\"a\",\"patch\":[{\"op\":\"add\",\"path\":\"/z\",\"value\":1}]},\"timestamp\":1}]}"},
    {"POST", BASE "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":null}"},
    {"POST", BASE "/pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"g\",\"cookie\":{\"order\":1,\"lineage\":"
     "\"0123456789abcdef0123456789abcdef\"},\"kedge\":{\"client\":\"c1\",\"lowest_pending\":1,"
     "\"highest_id\":9}}"},
    {"POST", BASE "/clients/c2/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}"},
    {"GET", BASE "/snapshot?version=1&after=d%2Fa&limit_bytes=100", ""},
    {"GET", BASE "/versions?before=3&limit=2", ""},
    {"GET", BASE "/versions/1?items=1", ""},
    {"GET", BASE "/versions/latest/collections/d?after=a&limit=3", ""},
    {"GET", BASE "/versions/latest/collections/d/a%2Fb", ""},
    {"GET", BASE "/clients/c1/mutations?from=1&to=5&version=1", ""},
    {"GET", BASE "/clients/c1/mutations/1", ""},
    {"GET",
     BASE "/collections/d/bodies/"
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     ""},
    {"PUT", BASE, ""},
    {"GET", "/v1/orgs/acme/projects?after=n&limit=3", ""},
    {"GET", "/v1/projects/notes", ""},
    {"GET", "/v1/limits", ""},
};

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t below(size_t most)
{
    return most == 0 ? 0 : (size_t)(next_random() % most);
}

/* Damages a text of at most REQUEST_BYTES in place; a NUL does not get into it unless `binary`. */
static void damage(char *text, size_t *size, bool binary)
{
    static const char *const pieces[] = {
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\",
        "null",
        "1e999",
        "\\ud800",
        "\\u0000",
        "%",
        "%2F",
        "..",
        "/",
        "&",
        "=",
        "\"id\":1",
        "\xff",
        "-1",
        "9007199254740993",
        "\"__proto__\":",
        " ",
    };
    size_t at = below(*size + 1);
    size_t run = 1 + below(4);
    switch (below(5)) {
    case 0: /* another byte */
        if (at < *size) text[at] = (char)(next_random() % 255 + 1);
        if (at < *size && binary && below(4) == 0) text[at] = '\0';
        break;
    case 1: /* bytes taken out */
        if (at + run > *size) break;
        memmove(text + at, text + at + run, *size - at - run);
        *size -= run;
        break;
    case 2: { /* a piece put in */
        const char *piece = pieces[below(sizeof pieces / sizeof pieces[0])];
        size_t length = strlen(piece);
        if (*size + length > REQUEST_BYTES) break;
        memmove(text + at + length, text + at, *size - at);
        memcpy(text + at, piece, length);
        *size += length;
        break;
    }
    case 3: { /* a part doubled */
        size_t part = below(*size - at + 1);
        if (*size + part > REQUEST_BYTES) break;
        memmove(text + at + part, text + at, *size - at);
        *size += part;
        break;
    }
    default: /* cut off */
        if (below(4) == 0) *size = at;
        break;
    }
}

static void check_order(api_world *world)
{
    int64_t head = api_head(world);
    int64_t before = head + 1;
    while (before > 1) {
        api_get(world, api_format("versions?limit=100&before=%lld", (long long)before));
        assert_response_is(world, 200, "");
        int count = api_count(world, "versions");
        assert_true(count > 0);
        for (int at = 0; at < count; at++) {
            assert_int_equal(api_number(world, api_format("versions.%d.version", at)), before - 1);
            before--;
        }
    }
}

static void ask_damaged(api_world *world, size_t round)
{
    static const char *const ranges[] = {NULL, "bytes=0-1", "bytes=-", "bytes=5-", "x"};
    char path[REQUEST_BYTES + 1];
    char body[REQUEST_BYTES + 1];
    const fuzz_request *request = &requests[below(sizeof requests / sizeof requests[0])];
    size_t path_size = strlen(request->path);
    size_t body_size = strlen(request->body);
    memcpy(path, request->path, path_size);
    memcpy(body, request->body, body_size);
    for (size_t times = below(3); times > 0 && below(2) == 0; times--)
        damage(path, &path_size, false);
    for (size_t times = below(6); times > 0; times--)
        damage(body, &body_size, true);
    path[path_size] = '\0';
    world->truncated = below(8) == 0;
    world->accepts_gzip = below(2) == 0;
    world->range = ranges[below(sizeof ranges / sizeof ranges[0])];
    api_ask(world, &ann, request->method, path, (kedge_bytes){body, body_size});
    if (world->response.status == 500) {
        fail_msg("round %zu: %s %s %.*s: %s", round, request->method, path, (int)body_size, body,
                 api_text(world));
    }
    world->truncated = false;
    world->range = NULL;
}

static void test_damaged_requests_are_answered_in_order(void **state)
{
    random_state = UINT64_C(0x9E3779B97F4A7C15);
    api_world *world = api_world_new();
    for (size_t round = 0; round < ROUNDS; round++) {
        ask_damaged(world, round);
        if (round % WORLD_ROUNDS != WORLD_ROUNDS - 1) continue;
        check_order(world);
        api_world_free(world);
        world = api_world_new();
    }
    api_world_free(world);
    (void)state;
}

static void test_random_bytes_are_no_request(void **state)
{
    random_state = UINT64_C(0xD1B54A32D192ED03);
    api_world *world = api_world_new();
    static const char *const paths[] = {BASE "/push", BASE "/pull", BASE "/clients/c1/retire"};
    for (size_t round = 0; round < ROUNDS; round++) {
        char body[64];
        size_t size = below(sizeof body);
        for (size_t at = 0; at < size; at++)
            body[at] = (char)next_random();
        if (size > 0 && below(2) == 0) body[0] = '{';
        world->truncated = below(4) == 0;
        api_ask(world, &ann, "POST", paths[below(3)], (kedge_bytes){body, size});
        assert_true(world->response.status == 400 || world->response.status == 413);
    }
    assert_int_equal(api_head(world), 0);
    api_world_free(world);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_requests_are_answered_in_order),
        cmocka_unit_test(test_random_bytes_are_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
