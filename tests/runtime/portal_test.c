/* A captive portal in front of the server: what it answers is not taken for the server's, and the
 * sync goes on by itself once it opens. */
#include "tests/runtime/client.h"
#include "tests/runtime/mini_backend.h"
#include "tests/support/scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static atomic_int tokens_asked;

static kedge_status give_token(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    snprintf(buffer, buffer_size, "token-%d", atomic_fetch_add(&tokens_asked, 1));
    return KEDGE_OK;
}

static atomic_bool project_there;
static atomic_int portal_status; /* 0: it is open */

/* A captive portal stands in front of a server without the project, until it opens. */
static bool is_behind_a_portal(void *context, const scripted_request *request)
{
    int status = atomic_load(&portal_status);
    if (status != 0) {
        scripted_respond(request, status, "Content-Type: text/html\r\n", "<html>Log in</html>");
    } else if (strcmp(request->method, "PUT") == 0) {
        atomic_store(&project_there, true);
        scripted_respond(request, 201, "Content-Type: application/json\r\n", "{}");
    } else if (!atomic_load(&project_there)) {
        scripted_respond(request, 404, "Content-Type: application/problem+json\r\n",
                         "{\"code\":\"project-not-found\",\"detail\":\"no such project\"}");
    } else {
        return mini_backend_respond(context, request);
    }
    return true;
}

static void come_through_a_portal(int status, bool creates, kedge_token_function token,
                                  int requests)
{
    kedge_error error = {0};
    atomic_store(&project_there, false);
    atomic_store(&portal_status, status);
    mini_backend *backend = mini_backend_new();
    scripted_server *server = scripted_server_start(is_behind_a_portal, backend);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.create_project = creates;
    options.token = token;
    kedge_db *db = client_open(&options);
    int64_t sequence = client_put(db, "a", "1");
    assert_true(scripted_server_wait(server, requests));
    assert_true(client_wait_connection(db, KEDGE_CONNECTING));
    atomic_store(&portal_status, 0);
    if (kedge_wait(db, sequence, 60000, NULL, &error) != KEDGE_OK) fail_msg("%s", error.message);
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

static void test_a_captive_portal_has_not_created_the_project(void **state)
{
    (void)state;
    come_through_a_portal(200, true, NULL, 1);
}

static void test_a_captive_portal_has_not_refused_to_create_the_project(void **state)
{
    (void)state;
    come_through_a_portal(403, true, NULL, 1);
}

/* A token function is asked once; the requests after that one get the same page. */
static void test_a_captive_portal_that_wants_a_login_is_waited_out(void **state)
{
    (void)state;
    atomic_store(&tokens_asked, 0);
    come_through_a_portal(401, true, give_token, 6);
    assert_in_range(atomic_load(&tokens_asked), 2, 3); /* of the first request; of the creation */
}

static void
test_a_captive_portal_that_wants_a_login_does_not_stop_an_app_without_tokens(void **state)
{
    (void)state;
    come_through_a_portal(401, true, NULL, 6);
}

static atomic_int tokens_given;

/* The login service is behind the same portal, which closes after the first token. */
static kedge_status give_through_the_portal(void *userdata, char *buffer, size_t buffer_size)
{
    kedge_status status = give_token(userdata, buffer, buffer_size);
    if (atomic_exchange(&portal_status, 401) != 0) return KEDGE_NETWORK;
    atomic_fetch_add(&tokens_given, 1);
    return status;
}

/* A token that the server has not refused is still good when the portal opens. */
static void keep_the_token(bool creates, bool asks_history)
{
    kedge_error error = {0};
    kedge_document *versions = NULL;
    atomic_store(&project_there, !creates);
    atomic_store(&portal_status, 0);
    atomic_store(&tokens_asked, 0);
    atomic_store(&tokens_given, 0);
    mini_backend *backend = mini_backend_new();
    mini_backend_want_token(backend, "token-0");
    scripted_server *server = scripted_server_start(is_behind_a_portal, backend);
    kedge_options options = client_options(client_folder, scripted_server_url(server));
    options.create_project = creates;
    options.token = give_through_the_portal;
    kedge_db *db = client_open(&options);
    int64_t sequence = client_put(db, "a", "1");
    if (asks_history) {
        assert_int_equal(kedge_history(db, 0, 1, 120000, &versions, &error), KEDGE_UNAUTHORIZED);
        assert_string_equal(error.code, "unexpected-status");
    }
    assert_true(scripted_server_wait(server, 6)); /* it goes on by itself */
    assert_true(client_wait_connection(db, KEDGE_CONNECTING));
    assert_true(atomic_load(&tokens_asked) > 1);
    atomic_store(&portal_status, 0);
    if (kedge_wait(db, sequence, 60000, NULL, &error) != KEDGE_OK) fail_msg("%s", error.message);
    assert_int_equal(atomic_load(&tokens_given), 1);
    kedge_close(db);
    scripted_server_stop(server);
    mini_backend_free(backend);
}

static void test_a_token_that_cannot_be_renewed_behind_a_portal_is_kept(void **state)
{
    (void)state;
    keep_the_token(false, false);
}

static void test_a_history_behind_a_portal_costs_no_token(void **state)
{
    (void)state;
    keep_the_token(false, true);
}

static void test_a_creation_behind_a_portal_costs_no_token(void **state)
{
    (void)state;
    keep_the_token(true, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_FOLDER_TEST(test_a_captive_portal_has_not_created_the_project),
        CLIENT_FOLDER_TEST(test_a_captive_portal_has_not_refused_to_create_the_project),
        CLIENT_FOLDER_TEST(test_a_captive_portal_that_wants_a_login_is_waited_out),
        CLIENT_FOLDER_TEST(
            test_a_captive_portal_that_wants_a_login_does_not_stop_an_app_without_tokens),
        CLIENT_FOLDER_TEST(test_a_token_that_cannot_be_renewed_behind_a_portal_is_kept),
        CLIENT_FOLDER_TEST(test_a_history_behind_a_portal_costs_no_token),
        CLIENT_FOLDER_TEST(test_a_creation_behind_a_portal_costs_no_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
