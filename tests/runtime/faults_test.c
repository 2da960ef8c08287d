/* Servers that answer wrongly or not at all: each is a clear error, no pending mutation is lost,
 * and closing is quick. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PROBLEM "Content-Type: application/problem+json\r\n"

static void close_quickly(kedge_db *db)
{
    int64_t began = client_now_ms();
    kedge_close(db);
    assert_true(client_now_ms() - began < 2000);
}

/* Three edits against such a server: none is confirmed, none is lost, the status says what is
 * wrong. */
static void bear(scripted_handler handler, bool tells_error)
{
    scripted_server *server = scripted_server_start(handler, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    client_put(db, "b", "2");
    client_put(db, "c", "3");
    assert_true(scripted_server_wait(server, 1));
    if (tells_error) assert_true(client_wait_error(db)); /* 200 ms may be too short for it */
    assert_int_not_equal(kedge_sync(db, 200, NULL), KEDGE_OK);
    kedge_sync_status status = client_status(db);
    if (tells_error) assert_int_not_equal(status.last_error.status, KEDGE_OK);
    if (tells_error) assert_true(status.last_error.message[0] != '\0');
    assert_int_equal(status.pending, 3);
    assert_int_equal(status.rejected, 0);
    assert_int_equal(status.version, 0);
    close_quickly(db);
    scripted_server_stop(server);

    options.url = NULL;
    db = client_open(&options);
    assert_int_equal(client_status(db).pending, 3);
    assert_int_equal(client_count(db), 3);
    assert_string_equal(client_get(db, "c"), "3");
    kedge_close(db);
}

static bool html(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 200, "Content-Type: text/html\r\n",
                     "<html><body>Please log in to the hotel's network</body></html>");
    return true;
}

static bool garbage(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 200, "Content-Type: application/json\r\n",
                     "{\"cookie\":{\"order\":\"nine\"},\"patch\":7,\"kedge\":[]}");
    return true;
}

static bool empty(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 200, "", "");
    return true;
}

static bool server_error(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 500, "Content-Type: text/plain\r\n", "oh no");
    return true;
}

static void test_html_is_no_answer(void **state)
{
    (void)state;
    bear(html, true);
}

static void test_garbage_is_no_answer(void **state)
{
    (void)state;
    bear(garbage, true);
}

static void test_an_empty_body_is_no_answer(void **state)
{
    (void)state;
    bear(empty, true);
}

static void test_a_redirect_is_no_answer(void **state)
{
    (void)state;
    bear(scripted_redirects, true);
}

static void test_a_failing_server_is_borne(void **state)
{
    (void)state;
    bear(server_error, true);
}

static void test_a_server_that_closes_mid_body_is_borne(void **state)
{
    (void)state;
    bear(scripted_closes_in_body, true);
}

static void test_a_server_that_closes_at_once_is_borne(void **state)
{
    (void)state;
    bear(scripted_closes_at_once, true);
}

static void test_a_hung_server_is_borne_and_closing_does_not_wait_for_it(void **state)
{
    (void)state;
    bear(scripted_hangs, false);
}

static void test_a_dripping_server_is_borne_and_closing_does_not_wait_for_it(void **state)
{
    (void)state;
    bear(scripted_drips, false);
}

static atomic_int tokens_asked;

static kedge_status give_token(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    snprintf(buffer, buffer_size, "token-%d", atomic_fetch_add(&tokens_asked, 1));
    return KEDGE_OK;
}

static kedge_status give_none(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    (void)buffer;
    (void)buffer_size;
    atomic_fetch_add(&tokens_asked, 1);
    return KEDGE_UNAVAILABLE;
}

/* The app's function is cut off while it writes a token: nobody may see a part of it. */
static kedge_status give_half(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    atomic_fetch_add(&tokens_asked, 1);
    snprintf(buffer, buffer_size, "error:s3cret");
    return KEDGE_NETWORK;
}

static kedge_status give_reason(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    atomic_fetch_add(&tokens_asked, 1);
    snprintf(buffer, buffer_size, "error: no login");
    return KEDGE_NETWORK;
}

/* Characters of two bytes, more than a message holds. */
static kedge_status give_long_reason(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    atomic_fetch_add(&tokens_asked, 1);
    size_t size = (size_t)snprintf(buffer, buffer_size, "error: a");
    for (; size + 3 < buffer_size; size += 2)
        memcpy(buffer + size, "\xc3\xa9", 3);
    return KEDGE_NETWORK;
}

static kedge_status give_bad(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    atomic_fetch_add(&tokens_asked, 1);
    snprintf(buffer, buffer_size, "x\r\nX-Evil: 1");
    return KEDGE_OK;
}

static bool unauthorized(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 401, PROBLEM,
                     "{\"code\":\"token-invalid\",\"detail\":\"the token is not accepted\"}");
    return true;
}

static void test_a_refused_token_is_asked_for_again_and_then_it_stops(void **state)
{
    kedge_error error = {0};
    (void)state;
    scripted_server *server = scripted_server_start(unauthorized, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.token = give_token;
    atomic_store(&tokens_asked, 0);
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    assert_int_equal(atomic_load(&tokens_asked), 2);
    assert_int_equal(kedge_sync(db, 120000, &error), KEDGE_UNAUTHORIZED);
    assert_string_equal(error.code, "token-invalid");
    assert_int_equal(client_status(db).last_error.status, KEDGE_UNAUTHORIZED);
    int requests = scripted_server_requests(server);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    assert_true(scripted_server_wait(server, requests + 1));
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    assert_true(atomic_load(&tokens_asked) > 2);
    assert_int_equal(client_status(db).pending, 1);
    kedge_close(db);
    scripted_server_stop(server);
}

static void wait_asked(int count)
{
    int64_t until = client_now_ms() + 60000;
    while (atomic_load(&tokens_asked) < count && client_now_ms() < until) {
    }
    assert_true(atomic_load(&tokens_asked) >= count);
}

static void stays_offline_without(kedge_token_function function, const char *message)
{
    kedge_error error = {0};
    scripted_server *server = scripted_server_start(unauthorized, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.token = function;
    atomic_store(&tokens_asked, 0);
    kedge_db *db = client_open(&options);
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    assert_int_equal(client_status(db).last_error.status, KEDGE_UNAUTHORIZED);
    assert_string_equal(client_status(db).last_error.message, message);
    assert_int_equal(kedge_sync(db, 120000, &error), KEDGE_UNAUTHORIZED);
    assert_string_equal(error.message, message);
    assert_int_equal(atomic_load(&tokens_asked), 1);
    client_put(db, "a", "1"); /* the next edit asks again */
    wait_asked(2);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    wait_asked(3);
    assert_int_equal(scripted_server_requests(server), 0);
    kedge_close(db);
    scripted_server_stop(server);
}

static void test_without_a_token_nothing_is_sent(void **state)
{
    (void)state;
    stays_offline_without(give_none, "the app's token function returned \"unavailable\"");
    stays_offline_without(give_half, "the app's token function returned \"network\"");
    stays_offline_without(give_reason, "the app's token function returned \"network\": no login");
    char message[256] = "the app's token function returned \"network\": a";
    for (size_t size = strlen(message), end = size + 178; size < end; size += 2)
        memcpy(message + size, "\xc3\xa9", 3);
    stays_offline_without(give_long_reason, message);
}

static void test_what_cannot_be_a_token_is_not_sent(void **state)
{
    (void)state;
    stays_offline_without(give_bad,
                          "the app's token function wrote no token: 1 to 16383 characters of "
                          "ASCII without spaces are allowed");
}

static atomic_bool project_there;

static bool forbidden(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 403, PROBLEM, "{\"code\":\"not-allowed\",\"detail\":\"no right\"}");
    return true;
}

static bool not_found(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 404, PROBLEM,
                     "{\"code\":\"project-not-found\",\"detail\":\"no such project\"}");
    return true;
}

/* The project is absent, until it is there. */
static bool absent_at_first(void *context, const scripted_request *request)
{
    if (!atomic_load(&project_there)) return not_found(NULL, request);
    return mini_backend_respond(context, request);
}

static void test_a_project_that_appears_later_is_synced_without_a_call(void **state)
{
    (void)state;
    kedge_error error = {0};
    atomic_store(&project_there, false);
    mini_backend *backend = mini_backend_new();
    scripted_server *server = scripted_server_start(absent_at_first, backend);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    assert_int_equal(kedge_sync(db, 120000, &error), KEDGE_NOT_FOUND);
    assert_string_equal(error.code, "project-not-found");
    assert_int_equal(client_status(db).connection, KEDGE_CONNECTING);
    assert_string_equal(client_status(db).last_error.code, "project-not-found");
    assert_int_equal(client_status(db).pending, 1);
    atomic_store(&project_there, true);
    assert_true(client_wait_connection(db, KEDGE_ONLINE));
    assert_int_equal(kedge_wait(db, 1, 120000, NULL, &error), KEDGE_OK);
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

/* Refuses to create the project and fails otherwise, until it is there. */
static bool refuses_at_first(void *context, const scripted_request *request)
{
    if (strcmp(request->method, "PUT") != 0)
        return atomic_load(&project_there) ? mini_backend_respond(context, request)
                                           : server_error(NULL, request);
    if (!atomic_load(&project_there)) return forbidden(NULL, request);
    scripted_respond(request, 201, "Content-Type: application/json\r\n", "{}");
    return true;
}

static atomic_bool sync_begins;

static void *sync_once(void *context)
{
    static kedge_error error;
    error = (kedge_error){0};
    atomic_store(&sync_begins, true);
    (void)kedge_sync(context, 120000, &error);
    return &error;
}

/* Creating it is tried again, and nothing else is sent meanwhile: the sync goes on after it. */
static void test_a_sync_outlasts_another_try_to_create_the_project(void **state)
{
    pthread_t thread;
    void *ended;
    (void)state;
    atomic_store(&project_there, false);
    atomic_store(&sync_begins, false);
    mini_backend *backend = mini_backend_new();
    scripted_server *server = scripted_server_start(refuses_at_first, backend);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.create_project = true;
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    assert_true(scripted_server_wait(server, 2)); /* the refusal is known */
    assert_int_equal(pthread_create(&thread, NULL, sync_once, db), 0);
    for (int64_t until = client_now_ms() + 60000; !atomic_load(&sync_begins);)
        assert_true(client_now_ms() < until);
    /* By then the worker knows of it. */
    assert_true(scripted_server_wait(server, scripted_server_requests(server) + 3));
    atomic_store(&project_there, true);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    pthread_join(thread, &ended);
    assert_string_equal(((kedge_error *)ended)->message, "");
    assert_int_equal(client_status(db).pending, 0);
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

static bool overloaded(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 503, "Retry-After: 100\r\n", "");
    return true;
}

static void test_a_project_is_not_created_before_the_server_wants_to_be_asked(void **state)
{
    (void)state;
    scripted_server *server = scripted_server_start(overloaded, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.create_project = true;
    kedge_db *db = client_open(&options);
    assert_true(scripted_server_wait(server, 1));
    assert_int_equal(kedge_sync(db, 3000, NULL), KEDGE_TIMEOUT);
    assert_int_equal(scripted_server_requests(server), 1);
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK); /* the app insists */
    assert_true(scripted_server_wait(server, 2));
    close_quickly(db);
    scripted_server_stop(server);
}

static atomic_int creations;

/* Overloaded once; after that it wants another token. */
static bool overloaded_then_unauthorized(void *context, const scripted_request *request)
{
    (void)context;
    bool first = atomic_fetch_add(&creations, 1) == 0;
    return first ? server_error(NULL, request) : unauthorized(NULL, request);
}

static kedge_status give_once(void *userdata, char *buffer, size_t buffer_size)
{
    return atomic_load(&tokens_asked) == 0 ? give_token(userdata, buffer, buffer_size)
                                           : give_none(userdata, buffer, buffer_size);
}

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void test_without_another_token_a_project_waits_quietly_to_be_created(void **state)
{
    (void)state;
    scripted_server *server = scripted_server_start(overloaded_then_unauthorized, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.create_project = true;
    options.token = give_once;
    atomic_store(&tokens_asked, 0);
    atomic_store(&creations, 0);
    kedge_db *db = client_open(&options);
    assert_true(client_wait_connection(db, KEDGE_STOPPED)); /* the app has no other token */
    int64_t sequence = client_put(db, "a", "1");            /* it is asked once more */
    wait_asked(3);
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    int64_t used_ms = cpu_ms();
    assert_int_equal(kedge_wait(db, sequence, 1000, NULL, NULL), KEDGE_TIMEOUT);
    assert_true(cpu_ms() - used_ms < 50);
    kedge_close(db);
    scripted_server_stop(server);
}

static void stops(scripted_handler handler, kedge_status expected, const char *code)
{
    kedge_error error = {0};
    scripted_server *server = scripted_server_start(handler, NULL);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    kedge_db *db = client_open(&options);
    client_put(db, "a", "1");
    assert_true(client_wait_connection(db, KEDGE_STOPPED));
    assert_int_equal(kedge_sync(db, 120000, &error), expected);
    assert_string_equal(error.code, code);
    assert_string_equal(client_status(db).last_error.code, code);
    assert_true(client_status(db).pending > 0);
    kedge_close(db);
    scripted_server_stop(server);
}

static void test_a_refusal_in_kedges_own_words_stops_the_sync(void **state)
{
    (void)state;
    stops(forbidden, KEDGE_FORBIDDEN, "not-allowed");
    stops(unauthorized, KEDGE_UNAUTHORIZED, "token-invalid");
}

static void test_three_thousand_edits_wait_for_a_dead_server(void **state)
{
    char id[16];
    (void)state;
    kedge_options options = client_options(client_folder, scripted_dead_url());
    kedge_db *db = client_open(&options);
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "%04d", i);
        assert_int_equal(client_put(db, id, id[3] == '0' ? "0" : "{\"n\":1}"), i + 1);
    }
    assert_int_equal(kedge_sync(db, 50, NULL), KEDGE_TIMEOUT);
    assert_int_equal(client_status(db).pending, 3000);
    assert_int_equal(client_status(db).connection, KEDGE_CONNECTING);
    close_quickly(db);
    db = client_open(&options);
    assert_int_equal(client_status(db).pending, 3000);
    assert_int_equal(client_count(db), 3000);
    close_quickly(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_html_is_no_answer),
        CLIENT_FOLDER_TEST(test_garbage_is_no_answer),
        CLIENT_FOLDER_TEST(test_an_empty_body_is_no_answer),
        CLIENT_FOLDER_TEST(test_a_redirect_is_no_answer),
        CLIENT_FOLDER_TEST(test_a_failing_server_is_borne),
        CLIENT_FOLDER_TEST(test_a_server_that_closes_mid_body_is_borne),
        CLIENT_FOLDER_TEST(test_a_server_that_closes_at_once_is_borne),
        CLIENT_FOLDER_TEST(test_a_hung_server_is_borne_and_closing_does_not_wait_for_it),
        CLIENT_FOLDER_TEST(test_a_dripping_server_is_borne_and_closing_does_not_wait_for_it),
        CLIENT_FOLDER_TEST(test_a_refused_token_is_asked_for_again_and_then_it_stops),
        CLIENT_FOLDER_TEST(test_without_a_token_nothing_is_sent),
        CLIENT_FOLDER_TEST(test_what_cannot_be_a_token_is_not_sent),
        CLIENT_FOLDER_TEST(test_a_project_that_appears_later_is_synced_without_a_call),
        CLIENT_FOLDER_TEST(test_a_sync_outlasts_another_try_to_create_the_project),
        CLIENT_FOLDER_TEST(test_a_project_is_not_created_before_the_server_wants_to_be_asked),
        CLIENT_FOLDER_TEST(test_without_another_token_a_project_waits_quietly_to_be_created),
        CLIENT_FOLDER_TEST(test_a_refusal_in_kedges_own_words_stops_the_sync),
        CLIENT_FOLDER_TEST(test_three_thousand_edits_wait_for_a_dead_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
