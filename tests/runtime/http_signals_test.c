/* What a process does on a signal is the app's: the HTTP client never changes it, not even for a
 * moment, in which another thread or a JVM would see it. */
#include "http/http.h"
#include "tests/support/scripted_server.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);

static kedge_environment environment;
static atomic_int changes;

/* libcurl, a shared library, finds this one before libc's. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action,
                                                     struct sigaction *before)
{
    sigaction_function real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    if (action != NULL) atomic_fetch_add(&changes, 1);
    return real(number, action, before);
}

static void done(void *context, const kedge_http_response *response)
{
    *(int *)context = response->status;
}

static kedge_http *make_http(void)
{
    kedge_http *http = NULL;
    assert_int_equal(kedge_http_new(&environment, 4, &http, NULL), KEDGE_OK);
    return http;
}

/* Otherwise the other tests would pass although nobody counts. */
static void test_a_handle_as_libcurl_makes_it_is_counted(void **state)
{
    (void)state;
    atomic_store(&changes, 0);
    curl_easy_cleanup(curl_easy_init());
    assert_true(atomic_load(&changes) > 0);
}

static void test_a_client_that_never_sends(void **state)
{
    (void)state;
    atomic_store(&changes, 0);
    kedge_http_free(make_http());
    assert_int_equal(atomic_load(&changes), 0);
}

static void test_a_request_that_is_refused_before_it_starts(void **state)
{
    (void)state;
    const kedge_http_request request = {.url = "http://127.0.0.1/",
                                        .method = "GET",
                                        .header_count = KEDGE_HTTP_HEADERS_MAX + 1,
                                        .done = done};
    kedge_error error;
    kedge_http *http = make_http();
    atomic_store(&changes, 0);
    assert_int_not_equal(kedge_http_send(http, &request, NULL, &error), KEDGE_OK);
    kedge_http_free(http);
    assert_int_equal(atomic_load(&changes), 0);
}

static bool answer(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 200, "Content-Type: text/plain\r\n", "here");
    return true;
}

static void test_a_request_over_a_connection(void **state)
{
    (void)state;
    int status = -1;
    scripted_server *server = scripted_server_start(answer, NULL);
    const kedge_http_request request = {.url = scripted_server_url(server),
                                        .method = "GET",
                                        .deadline_ms = 60000,
                                        .response_bytes_max = 65536,
                                        .done = done,
                                        .context = &status};
    atomic_store(&changes, 0);
    kedge_http *http = make_http();
    assert_int_equal(kedge_http_send(http, &request, NULL, NULL), KEDGE_OK);
    while (status == -1)
        assert_int_equal(kedge_http_poll(http, 1000, -1, NULL, NULL), KEDGE_OK);
    assert_int_equal(status, 200);
    kedge_http_free(http);
    assert_int_equal(atomic_load(&changes), 0);
    scripted_server_stop(server);
}

int main(void)
{
    environment = kedge_environment_system(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handle_as_libcurl_makes_it_is_counted),
        cmocka_unit_test(test_a_client_that_never_sends),
        cmocka_unit_test(test_a_request_that_is_refused_before_it_starts),
        cmocka_unit_test(test_a_request_over_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
