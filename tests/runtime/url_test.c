/* The server's url: what is taken and what is refused, with the reason. */
#include "sdk/net/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void takes(const char *url, const char *base)
{
    kedge_error error = {0};
    kedge_buffer made = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_url_base(url, "acme", "plan", &made, &error), KEDGE_OK);
    assert_string_equal(made.data, base);
    kedge_buffer_free(&made);
}

static void refuses(const char *url, const char *reason)
{
    kedge_error error = {0};
    kedge_buffer made = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_url_base(url, "acme", "plan", &made, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "url-invalid");
    if (strstr(error.message, reason) == NULL) fail_msg("\"%s\": %s", url, error.message);
    kedge_buffer_free(&made);
}

static void test_a_project_has_its_place_below_the_url(void **state)
{
    (void)state;
    takes("https://sync.example.com", "https://sync.example.com/v1/orgs/acme/projects/plan/");
    takes("http://127.0.0.1:7420", "http://127.0.0.1:7420/v1/orgs/acme/projects/plan/");
    takes("http://[::1]:7420", "http://[::1]:7420/v1/orgs/acme/projects/plan/");
}

static void test_a_path_is_kept_and_a_slash_at_the_end_tolerated(void **state)
{
    (void)state;
    takes("https://a.example/", "https://a.example/v1/orgs/acme/projects/plan/");
    takes("https://a.example/sync/eu", "https://a.example/sync/eu/v1/orgs/acme/projects/plan/");
    takes("https://a.example/sync//", "https://a.example/sync/v1/orgs/acme/projects/plan/");
}

static void test_a_wrong_url_is_refused_with_the_reason(void **state)
{
    (void)state;
    refuses("", "must start with http");
    refuses("sync.example.com", "must start with http");
    refuses("ftp://sync.example.com", "must start with http");
    refuses("file:///etc/passwd", "must start with http");
    refuses("http:/a", "must start with http");
    refuses("http://", "names no host");
    refuses("https:///path", "names no host");
    refuses("https://:80", "names no host");
    refuses("https://user:secret@a.example", "user information");
    refuses("https://a b.example", "space");
    refuses(" https://a.example", "space");
    refuses("https://a.example\r\nX: y", "space");
    refuses("https://\xC3\xA4.example", "non-ASCII");
    refuses("https://a.example?x=1", "query");
    refuses("https://a.example/#x", "fragment");
    refuses("https://a.example:", "port");
    refuses("https://a.example:0", "port");
    refuses("https://a.example:65536", "port");
    refuses("https://a.example:8o", "port");
    refuses("https://a.example\\@b.example", "not allowed");
    refuses("https://[::1", "IPv6");
    refuses("https://[]:80", "IPv6");
}

static void test_a_url_over_the_limit_is_refused(void **state)
{
    char url[KEDGE_URL_BYTES_MAX + 2];
    (void)state;
    memset(url, 'a', sizeof url);
    memcpy(url, "https://a/", 10);
    url[sizeof url - 1] = '\0';
    refuses(url, "2048");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_project_has_its_place_below_the_url),
        cmocka_unit_test(test_a_path_is_kept_and_a_slash_at_the_end_tolerated),
        cmocka_unit_test(test_a_wrong_url_is_refused_with_the_reason),
        cmocka_unit_test(test_a_url_over_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
