/* Large bodies over HTTP: the client fetches them in parts, joins and checks them, whatever the
 * server does with ranges. Each test lists how the server responds to each request for the body,
 * and which parts the client must have asked for. */
#include "common/gzip.h"
#include "common/hash.h"
#include "sdk/driver/driver_internal.h"
#include "sdk/net/net_private.h"
#include "tests/runtime/client.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINEAGE      "0123456789abcdef0123456789abcdef"
#define JSON         "Content-Type: application/json\r\n"
#define PROBLEM      "Content-Type: application/problem+json\r\n"
#define GZIP         "Content-Encoding: gzip\r\n"
#define PART         KEDGE_DRIVER_PART_BYTES
#define LARGE_BYTES  7340032
#define SMALL_BYTES  100000
#define REQUESTS_MAX 8

typedef enum way {
    AS_ASKED = 1,
    PLAIN_PART,    /* of the body unpacked, as a proxy may do it */
    WHOLE_GZIP,    /* the server does not know ranges */
    WHOLE_PLAIN,   /* nor gzip */
    SHORT,         /* less than was asked for, and honest about it */
    TORN,          /* less than Content-Range says */
    OTHER_SIZE,    /* a part of another, larger body */
    HUGE_SIZE,     /* a part of a body that is larger than any item */
    OTHER_START,   /* another part */
    OTHER_FIRST,   /* the right bytes with a wrong first one in Content-Range */
    OTHER_LAST,    /* or a wrong last one */
    UNPACKED,      /* the right bytes, without Content-Encoding */
    WITHOUT_RANGE, /* a 206 that does not say what it is a part of */
    OUTSIDE,       /* 416 */
    LOST,          /* the connection breaks in the middle */
    UNAVAILABLE,   /* 503 */
    GONE,          /* 404, its problem packed */
    DAMAGED        /* one byte is wrong */
} way;

typedef struct body_server {
    pthread_mutex_t lock;
    kedge_buffer plain;
    kedge_buffer stored;
    kedge_buffer other;
    const way *ways;
    size_t asked;
    size_t first[REQUESTS_MAX];
} body_server;

/* ---- the server ---- */

static void respond_bytes(const scripted_request *request, int status, const char *headers,
                          kedge_bytes body, size_t sent)
{
    char head[512];
    int size = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n", status,
                        headers, body.size);
    scripted_send(request, head, (size_t)size);
    scripted_send(request, body.data, sent);
}

static void respond_range(const scripted_request *request, const char *encoding, size_t first,
                          size_t last, size_t total, kedge_bytes part)
{
    char headers[256];
    snprintf(headers, sizeof headers, JSON "%sContent-Range: bytes %zu-%zu/%zu\r\n", encoding,
             first, last, total);
    respond_bytes(request, 206, headers, part, part.size);
}

static void respond_part(const scripted_request *request, const char *encoding, kedge_bytes whole,
                         size_t first, size_t size_max, size_t total)
{
    size_t size = whole.size - first < size_max ? whole.size - first : size_max;
    respond_range(request, encoding, first, first + size - 1, total,
                  (kedge_bytes){whole.data + first, size});
}

static void respond_damaged(const scripted_request *request, kedge_bytes whole, size_t first)
{
    char *copy = malloc(whole.size);
    assert_non_null(copy);
    memcpy(copy, whole.data, whole.size);
    copy[first + 5000] ^= 1;
    respond_part(request, GZIP, (kedge_bytes){copy, whole.size}, first, PART, whole.size);
    free(copy);
}

static void respond_gone(const scripted_request *request)
{
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    kedge_gzip(KEDGE_BYTES("{\"code\":\"body-not-found\",\"detail\":\"no\"}"), &packed, NULL);
    respond_bytes(request, 404, PROBLEM GZIP, kedge_buffer_bytes(&packed), packed.size);
    kedge_buffer_free(&packed);
}

/* False: the connection breaks. */
static bool respond_wrongly(const body_server *server, const scripted_request *request, way how,
                            size_t first)
{
    kedge_bytes stored = kedge_buffer_bytes(&server->stored);
    kedge_bytes other = kedge_buffer_bytes(&server->other);
    size_t size = stored.size - first < PART ? stored.size - first : PART;
    kedge_bytes part = {stored.data + first, size};
    size_t last = first + size - 1;
    switch (how) {
    case SHORT:
        respond_part(request, GZIP, stored, first, 1000, stored.size);
        return true;
    case TORN:
        respond_range(request, GZIP, first, last, stored.size,
                      (kedge_bytes){part.data, part.size - 1});
        return true;
    case OTHER_SIZE:
        respond_part(request, GZIP, other, first, PART, other.size);
        return true;
    case HUGE_SIZE:
        respond_part(request, GZIP, stored, first, PART, KEDGE_DRIVER_STORED_BYTES_MAX + 1);
        return true;
    case OTHER_START:
        respond_part(request, GZIP, stored, first + 1, PART, stored.size);
        return true;
    case OTHER_FIRST:
        respond_range(request, GZIP, first + 1, last, stored.size, part);
        return true;
    case OTHER_LAST:
        respond_range(request, GZIP, first, last - 1, stored.size, part);
        return true;
    case UNPACKED:
        respond_range(request, "", first, last, stored.size, part);
        return true;
    case WITHOUT_RANGE:
        respond_bytes(request, 206, JSON GZIP, part, size);
        return true;
    case DAMAGED:
        respond_damaged(request, stored, first);
        return true;
    default:
        respond_bytes(request, 206, JSON GZIP, part, size / 2);
        return false;
    }
}

static bool respond_body(const body_server *server, const scripted_request *request, way how,
                         size_t first)
{
    kedge_bytes stored = kedge_buffer_bytes(&server->stored);
    kedge_bytes plain = kedge_buffer_bytes(&server->plain);
    switch (how) {
    case AS_ASKED:
        respond_part(request, GZIP, stored, first, PART, stored.size);
        return true;
    case PLAIN_PART:
        respond_part(request, "", plain, first, PART, plain.size);
        return true;
    case WHOLE_GZIP:
        respond_bytes(request, 200, JSON GZIP, stored, stored.size);
        return true;
    case WHOLE_PLAIN:
        respond_bytes(request, 200, JSON, plain, plain.size);
        return true;
    case OUTSIDE:
        scripted_respond(request, 416, PROBLEM "Content-Range: bytes */1\r\n",
                         "{\"code\":\"range-not-satisfiable\",\"detail\":\"no\"}");
        return true;
    case UNAVAILABLE:
        scripted_respond(request, 503, PROBLEM, "{\"code\":\"unavailable\",\"detail\":\"no\"}");
        return true;
    case GONE:
        respond_gone(request);
        return true;
    default:
        return respond_wrongly(server, request, how, first);
    }
}

static bool respond_next_body(body_server *server, const scripted_request *request)
{
    size_t last = 0;
    pthread_mutex_lock(&server->lock);
    size_t at = server->asked++;
    way how = at < REQUESTS_MAX ? server->ways[at] : 0;
    const char *range = strstr(request->headers, "Range: bytes=");
    if (how != 0 && range != NULL) {
        char *end;
        server->first[at] = strtoul(range + strlen("Range: bytes="), &end, 10);
        last = strtoul(end + 1, NULL, 10);
    }
    pthread_mutex_unlock(&server->lock);
    bool asked_well = how != 0 && last == server->first[at] + PART - 1 &&
                      strstr(request->headers, "Accept-Encoding: gzip\r\n") != NULL;
    return asked_well && respond_body(server, request, how, server->first[at]);
}

/* The first pull names the item by its hash, later ones bring nothing. */
static void respond_pull(body_server *server, const scripted_request *request)
{
    char hash[KEDGE_SHA256_HEX];
    char patch[512] = "";
    char response[1024];
    bool first = strstr(request->body, "\"cookie\":null") != NULL;
    kedge_sha256_hex(kedge_buffer_bytes(&server->plain), hash);
    if (first) {
        snprintf(patch, sizeof patch,
                 "{\"op\":\"clear\"},{\"op\":\"put\",\"key\":\"notes/a\",\"hash\":\"%s\","
                 "\"size\":%zu}",
                 hash, server->plain.size);
    }
    snprintf(response, sizeof response,
             "{\"cookie\":{\"order\":1,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
             "\"patch\":[%s],\"kedge\":{\"from\":%d,\"version\":1,\"lineage\":\"" LINEAGE
             "\",\"lmid\":0,\"retired\":false,\"known\":false,\"outcomes\":[],"
             "\"outcomes_next\":null,\"snapshot\":null,\"lost\":false}}",
             patch, first ? 0 : 1);
    scripted_respond(request, 200, JSON, response);
}

static bool respond(void *context, const scripted_request *request)
{
    body_server *server = context;
    if (strstr(request->target, "/bodies/") != NULL) return respond_next_body(server, request);
    if (strstr(request->target, "/pull") != NULL) {
        respond_pull(server, request);
    } else {
        scripted_respond(request, 501, PROBLEM, "{\"code\":\"events-not-served\"}");
    }
    return true;
}

/* ---- a client of it ---- */

/* A JSON string of `size` bytes that hardly compresses. */
static void fill(body_server *server, size_t size)
{
    uint64_t random = 1;
    kedge_buffer_append_byte(&server->plain, '"');
    while (server->plain.size < size - 1) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        char byte = (char)('#' + (random >> 33) % 92);
        kedge_buffer_append_byte(&server->plain, byte == '\\' ? ' ' : byte);
    }
    kedge_buffer_append_byte(&server->plain, '"');
    assert_int_equal(kedge_gzip(kedge_buffer_bytes(&server->plain), &server->stored, NULL),
                     KEDGE_OK);
}

static void fill_other(body_server *server)
{
    size_t size = 2 * (size_t)PART + 1000;
    char *bytes = kedge_buffer_reserve(&server->other, size);
    assert_non_null(bytes);
    memset(bytes, '0', size);
    server->other.size = size;
}

static body_server *make_server(size_t size)
{
    body_server *made = calloc(1, sizeof *made);
    assert_non_null(made);
    pthread_mutex_init(&made->lock, NULL);
    made->plain = kedge_buffer_make(&kedge_allocator_default);
    made->stored = kedge_buffer_make(&kedge_allocator_default);
    made->other = kedge_buffer_make(&kedge_allocator_default);
    fill(made, size);
    fill_other(made);
    return made;
}

static void free_server(body_server *server)
{
    kedge_buffer_free(&server->plain);
    kedge_buffer_free(&server->stored);
    kedge_buffer_free(&server->other);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

static int make_large(void **state)
{
    body_server *made = make_server(LARGE_BYTES);
    assert_true(made->stored.size > PART && made->stored.size < 2 * (size_t)PART);
    *state = made;
    return 0;
}

static int free_large(void **state)
{
    free_server(*state);
    return 0;
}

/* `parts`: which part each request asked for, from 0 on, as digits. */
static void check(body_server *server, const way ways[REQUESTS_MAX], const char *parts)
{
    char folder[CLIENT_PATH_SIZE];
    kedge_error error = {0};
    kedge_document *document = NULL;
    client_make_folder(folder);
    server->ways = ways;
    server->asked = 0;
    scripted_server *listening = scripted_server_start(respond, server);
    kedge_options options = client_options(folder, scripted_server_url(listening));
    kedge_db *db = client_open(&options);
    kedge_status synced = kedge_sync(db, 120000, &error);
    if (synced != KEDGE_OK) fail_msg("%s: %s", error.message, client_status(db).last_error.message);
    assert_int_equal(kedge_get(db, "notes", "a", 1, &document, NULL), KEDGE_OK);
    assert_string_equal(kedge_document_json(document, NULL), server->plain.data);
    kedge_document_free(document);
    kedge_close(db);
    scripted_server_stop(listening);
    client_remove_folder(folder);
    assert_int_equal(server->asked, strlen(parts));
    for (size_t i = 0; i < server->asked; i++) {
        assert_int_equal(server->first[i], (size_t)(parts[i] - '0') * PART);
    }
}

#define CHECK(state, parts, ...) check(*(state), (const way[REQUESTS_MAX]){__VA_ARGS__}, parts)

static void test_a_large_body_comes_in_parts_one_after_the_other(void **state)
{
    CHECK(state, "01", AS_ASKED, AS_ASKED);
}

static void test_a_small_body_is_one_request(void **state)
{
    (void)state;
    body_server *small = make_server(SMALL_BYTES);
    CHECK(&(void *){small}, "0", AS_ASKED);
    free_server(small);
}

static void test_a_server_may_send_all_of_it(void **state)
{
    CHECK(state, "0", WHOLE_GZIP);
    CHECK(state, "0", WHOLE_PLAIN);
    CHECK(state, "01", AS_ASKED, WHOLE_GZIP);
    CHECK(state, "01", AS_ASKED, WHOLE_PLAIN);
}

static void test_the_parts_may_be_of_the_body_unpacked(void **state)
{
    CHECK(state, "01", PLAIN_PART, PLAIN_PART);
}

static void test_a_part_that_was_lost_is_asked_for_again_by_itself(void **state)
{
    CHECK(state, "011", AS_ASKED, LOST, AS_ASKED);
    CHECK(state, "0011", LOST, AS_ASKED, UNAVAILABLE, AS_ASKED);
}

static void test_a_part_of_another_length_begins_anew(void **state)
{
    CHECK(state, "00101", SHORT, AS_ASKED, SHORT, AS_ASKED, AS_ASKED);
    CHECK(state, "00101", TORN, AS_ASKED, TORN, AS_ASKED, AS_ASKED);
}

static void test_a_part_of_another_body_begins_anew(void **state)
{
    CHECK(state, "0101", AS_ASKED, OTHER_SIZE, AS_ASKED, AS_ASKED);
    CHECK(state, "001", HUGE_SIZE, AS_ASKED, AS_ASKED);
    CHECK(state, "0101", AS_ASKED, UNPACKED, AS_ASKED, AS_ASKED);
    CHECK(state, "0101", AS_ASKED, GONE, AS_ASKED, AS_ASKED);
    CHECK(state, "0101", AS_ASKED, DAMAGED, AS_ASKED, AS_ASKED);
}

static void test_a_part_that_was_not_asked_for_begins_anew(void **state)
{
    CHECK(state, "00101", OTHER_START, AS_ASKED, OTHER_START, AS_ASKED, AS_ASKED);
    CHECK(state, "00101", OTHER_FIRST, AS_ASKED, OTHER_FIRST, AS_ASKED, AS_ASKED);
    CHECK(state, "00101", OTHER_LAST, AS_ASKED, OTHER_LAST, AS_ASKED, AS_ASKED);
    CHECK(state, "00101", WITHOUT_RANGE, AS_ASKED, WITHOUT_RANGE, AS_ASKED, AS_ASKED);
}

static void test_a_range_that_the_server_refuses_does_not_stop_the_client(void **state)
{
    CHECK(state, "00101", OUTSIDE, AS_ASKED, OUTSIDE, AS_ASKED, AS_ASKED);
}

static void test_a_whole_body_is_unpacked_only_as_far_as_is_allowed(void **state)
{
    const body_server *server = *state;
    kedge_error error = {0};
    kedge_driver_response given = {0};
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_http_response answered = {
        .status = 200, .headers = KEDGE_BYTES(GZIP), .body = kedge_buffer_bytes(&server->stored)};
    assert_int_equal(kedge_net_take_undecoded(&answered, LARGE_BYTES - 1, &plain, &given, &error),
                     KEDGE_LIMIT_EXCEEDED);
    kedge_buffer_free(&plain);
    assert_int_equal(kedge_net_take_undecoded(&answered, LARGE_BYTES, &plain, &given, &error),
                     KEDGE_OK);
    assert_true(kedge_bytes_equal(given.body, kedge_buffer_bytes(&server->plain)));
    answered.headers = KEDGE_BYTES("content-encoding: GZip\r\n");
    kedge_buffer_free(&plain);
    assert_int_equal(kedge_net_take_undecoded(&answered, LARGE_BYTES, &plain, &given, &error),
                     KEDGE_OK);
    assert_int_equal(plain.size, LARGE_BYTES);
    answered.headers = KEDGE_BYTES("Content-Encoding: br\r\n");
    assert_int_equal(kedge_net_take_undecoded(&answered, LARGE_BYTES, &plain, &given, &error),
                     KEDGE_PROTOCOL);
    kedge_buffer_free(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_large_body_comes_in_parts_one_after_the_other),
        cmocka_unit_test(test_a_small_body_is_one_request),
        cmocka_unit_test(test_a_server_may_send_all_of_it),
        cmocka_unit_test(test_the_parts_may_be_of_the_body_unpacked),
        cmocka_unit_test(test_a_part_that_was_lost_is_asked_for_again_by_itself),
        cmocka_unit_test(test_a_part_of_another_length_begins_anew),
        cmocka_unit_test(test_a_part_of_another_body_begins_anew),
        cmocka_unit_test(test_a_part_that_was_not_asked_for_begins_anew),
        cmocka_unit_test(test_a_range_that_the_server_refuses_does_not_stop_the_client),
        cmocka_unit_test(test_a_whole_body_is_unpacked_only_as_far_as_is_allowed),
    };
    return cmocka_run_group_tests(tests, make_large, free_large);
}
