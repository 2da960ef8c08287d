/* The client against a server that takes no large requests: what does not fit goes through an
 * upload, and comes back in pieces. */
#include "common/gzip.h"
#include "common/hash.h"
#include "common/json.h"
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REQUEST_BYTES_MAX 2000
#define NOTE_BYTES        3000
#define REQUESTS_MAX      64

/* How the store of the blobs, and the server in front of it, behave. */
typedef enum behaviour {
    WORKS,
    SERVES_NO_UPLOADS,
    REFUSES_THE_PUT, /* the first one */
    DAMAGES_THE_PUT  /* the first one */
} behaviour;

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    mini_backend *backend;
    scripted_server *server;
    pthread_mutex_t lock; /* of what follows: the server has threads of its own */
    behaviour how;
    kedge_buffer uploaded;
    /* A letter a request: Push too large, Asked, pUt, push by Reference, small push. */
    kedge_buffer log;
    bool token_leaked;
} world;

#define JSON    "Content-Type: application/json\r\n"
#define PROBLEM "Content-Type: application/problem+json\r\n"

static void note(world *here, char what)
{
    if (here->log.size < REQUESTS_MAX) kedge_buffer_append_byte(&here->log, what);
}

/* True once. */
static bool misbehaves(world *here, behaviour how)
{
    bool now = here->how == how;
    if (now) here->how = WORKS;
    return now;
}

static void respond_asked(world *here, const scripted_request *request)
{
    char grant[256];
    if (here->how == SERVES_NO_UPLOADS) {
        scripted_respond(request, 501, PROBLEM,
                         "{\"code\":\"uploads-not-served\",\"detail\":\"\"}");
        return;
    }
    snprintf(grant, sizeof grant,
             "{\"url\":\"%s/blobs/k?signature=1\",\"headers\":{\"x-sum\":\"1\"},"
             "\"expires_in_ms\":1000}",
             scripted_server_url(request->server));
    scripted_respond(request, 200, JSON, grant);
}

static void respond_put(world *here, const scripted_request *request)
{
    if (strcasestr(request->headers, "\r\nauthorization:") != NULL ||
        strcasestr(request->headers, "\r\ncontent-encoding:") != NULL ||
        strcasestr(request->headers, "\r\nx-sum: 1\r\n") == NULL) {
        here->token_leaked = true;
    }
    if (misbehaves(here, REFUSES_THE_PUT)) {
        scripted_respond(request, 403, "Content-Type: application/xml\r\n", "<Error/>");
        return;
    }
    kedge_buffer_clear(&here->uploaded);
    kedge_buffer_append(&here->uploaded, request->body, request->body_size);
    if (misbehaves(here, DAMAGES_THE_PUT)) here->uploaded.data[here->uploaded.size / 2] ^= 1;
    scripted_respond(request, 200, "", "");
}

static void respond_reference(world *here, const scripted_request *request, const char *wanted)
{
    char found[KEDGE_SHA256_HEX];
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_sha256_hex(kedge_buffer_bytes(&here->uploaded), found);
    if (strcmp(found, wanted) != 0 ||
        kedge_gunzip(kedge_buffer_bytes(&here->uploaded), 1 << 24, &plain, NULL) != KEDGE_OK) {
        scripted_respond(request, 409, PROBLEM, "{\"code\":\"upload-damaged\",\"detail\":\"\"}");
    } else {
        scripted_request pushed = *request;
        pushed.body = plain.data;
        pushed.body_size = plain.size;
        mini_backend_respond(here->backend, &pushed);
    }
    kedge_buffer_free(&plain);
}

/* False: it is the backend's alone. */
static bool respond_uploads(world *here, const scripted_request *request)
{
    char hash[KEDGE_SHA256_HEX];
    kedge_bytes body = {request->body, request->body_size};
    if (strstr(request->target, "/blobs/") != NULL) {
        note(here, 'U');
        respond_put(here, request);
    } else if (strstr(request->target, "/push/upload") != NULL) {
        note(here, 'A');
        respond_asked(here, request);
    } else if (strstr(request->target, "/push") == NULL) {
        return false;
    } else if (body.size > REQUEST_BYTES_MAX) {
        note(here, 'P');
        scripted_respond(request, 413, JSON, "{\"message\":\"Request Entity Too Large\"}");
    } else if (kedge_json_check(body, 8, &kedge_allocator_default, NULL) == KEDGE_OK &&
               kedge_json_member_chars(body, "upload", hash, sizeof hash)) {
        note(here, 'R');
        respond_reference(here, request, hash);
    } else {
        note(here, 's');
        return false;
    }
    return true;
}

static bool respond(void *context, const scripted_request *request)
{
    world *here = context;
    pthread_mutex_lock(&here->lock);
    bool done = respond_uploads(here, request);
    pthread_mutex_unlock(&here->lock);
    return done || mini_backend_respond(here->backend, request);
}

static kedge_status give_token(void *userdata, char *buffer, size_t size)
{
    (void)userdata;
    snprintf(buffer, size, "secret");
    return KEDGE_OK;
}

static int make_world(void **state)
{
    world *made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    pthread_mutex_init(&made->lock, NULL);
    made->uploaded = kedge_buffer_make(&kedge_allocator_default);
    made->log = kedge_buffer_make(&kedge_allocator_default);
    client_make_folder(made->folder);
    made->backend = mini_backend_new();
    mini_backend_want_token(made->backend, "secret");
    made->server = scripted_server_start(respond, made);
    *state = made;
    return 0;
}

static int end_world(void **state)
{
    world *made = *state;
    scripted_server_stop(made->server);
    mini_backend_free(made->backend);
    client_remove_folder(made->folder);
    kedge_buffer_free(&made->uploaded);
    kedge_buffer_free(&made->log);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return 0;
}

/* Opens, and makes an edit that is too large for a request, also as gzip. */
static kedge_db *edit(world *here, behaviour how)
{
    static char args[NOTE_BYTES + 256];
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    uint64_t random = 1;
    pthread_mutex_lock(&here->lock);
    here->how = how;
    pthread_mutex_unlock(&here->lock);
    kedge_options options = client_options(here->folder, scripted_server_url(here->server));
    options.token = give_token;
    kedge_db *db = client_open(&options);
    int at = snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"large\",\"value\":\"");
    for (size_t i = 0; i < NOTE_BYTES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        args[at++] = digits[random >> 58];
    }
    memcpy(args + at, "\"}", 3);
    assert_int_equal(kedge_mutate(db, "kedge.put", args, strlen(args), NULL, NULL), KEDGE_OK);
    return db;
}

static bool wait_requests(world *here, size_t count)
{
    int64_t until = client_now_ms() + 60000;
    for (;;) {
        pthread_mutex_lock(&here->lock);
        bool came = here->log.size >= count;
        pthread_mutex_unlock(&here->lock);
        if (came || client_now_ms() > until) return came;
        poll(NULL, 0, 2);
    }
}

static void check_arrived(world *here, kedge_db *db, const char *requests)
{
    kedge_error error = {0};
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(mini_backend_decided(here->backend), 1);
    client_put(db, "small", "2");
    if (kedge_sync(db, 120000, &error) != KEDGE_OK) fail_msg("%s", error.message);
    kedge_close(db);
    pthread_mutex_lock(&here->lock);
    assert_string_equal(here->log.data, requests);
    assert_false(here->token_leaked);
    pthread_mutex_unlock(&here->lock);
}

static void test_what_is_too_large_for_a_request_is_uploaded(void **state)
{
    check_arrived(*state, edit(*state, WORKS), "PAURs");
}

static void test_an_upload_that_the_store_refuses_is_repeated(void **state)
{
    check_arrived(*state, edit(*state, REFUSES_THE_PUT), "PAUAURs");
}

static void test_an_upload_that_was_damaged_is_repeated(void **state)
{
    check_arrived(*state, edit(*state, DAMAGES_THE_PUT), "PAURAURs");
}

static void test_a_server_without_uploads_is_told_of_and_tried_again(void **state)
{
    world *here = *state;
    kedge_error error = {0};
    kedge_db *db = edit(here, SERVES_NO_UPLOADS);
    assert_int_not_equal(kedge_sync(db, 100, &error), KEDGE_OK);
    assert_true(wait_requests(here, 4));
    assert_string_equal(client_status(db).last_error.code, "push-too-large");
    kedge_close(db);
    pthread_mutex_lock(&here->lock);
    assert_memory_equal(here->log.data, "PAPA", 4);
    pthread_mutex_unlock(&here->lock);
    assert_int_equal(mini_backend_decided(here->backend), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_too_large_for_a_request_is_uploaded),
        TEST(test_an_upload_that_the_store_refuses_is_repeated),
        TEST(test_an_upload_that_was_damaged_is_repeated),
        TEST(test_a_server_without_uploads_is_told_of_and_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
