/* Credentials from the endpoints of containers and instances: what is asked, with which headers,
 * what is believed, and how each mistake is told. */
#include "backend/aws/date.h"
#include "tests/aws/credentials_world.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define RESPONSE                                                                                   \
    "{\"AccessKeyId\": \"ASIA-1\", \"SecretAccessKey\": \"" MARK "/+1=\", \"Token\": \"" MARK      \
    "-t\", \"Expiration\": \"2027-01-15T09:00:00Z\", \"RoleArn\": \"x\"}"
#define INSTANCE_RESPONSE                                                                          \
    "{\n  \"Code\" : \"Success\",\n  \"LastUpdated\" : \"2027-01-15T07:00:00Z\",\n"                \
    "  \"Type\" : \"AWS-HMAC\",\n  \"AccessKeyId\" : \"ASIA-2\",\n"                                \
    "  \"SecretAccessKey\" : \"" MARK "/2\",\n  \"Token\" : \"" MARK "-i\",\n"                     \
    "  \"Expiration\" : \"2027-01-15T14:00:00Z\"\n}"
#define TOKEN_TARGET "/latest/api/token"
#define ROLES_TARGET "/latest/meta-data/iam/security-credentials/"

/* ---- containers ---- */

static void use_container(world *w)
{
    world_set(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/" MARK "-id");
}

static void script_container(world *w, int status, const char *body)
{
    world_routes_clear(w);
    world_route_add(w, (world_route){.method = "GET",
                                     .target = "/v2/credentials/" MARK "-id",
                                     .status = status,
                                     .body = body});
}

static void test_a_container_gives_credentials_at_its_relative_uri(void **state)
{
    world *w = *state;
    use_container(w);
    script_container(w, 200, RESPONSE);
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
    assert_int_equal(w->got.expires_ms, WORLD_START_MS + 3600000);
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
    assert_int_equal(scripted_server_requests(w->server), 1);
}

static void test_a_full_uri_is_asked_with_the_token(void **state)
{
    world *w = *state;
    world_set_format(w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/creds?role=x",
                     scripted_server_url(w->server));
    world_set(w, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic " MARK "==");
    world_route_add(w, (world_route){.method = "GET",
                                     .target = "/creds?role=x",
                                     .header = "\r\nauthorization: Basic " MARK "==\r\n",
                                     .status = 200,
                                     .body = RESPONSE});
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
}

static void test_the_tokens_file_goes_first_and_is_read_at_each_fetch(void **state)
{
    world *w = *state;
    use_container(w);
    world_set(w, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "nobody");
    world_set(w, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", world_path(w, "token"));
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "cannot be read: ");
    for (int i = 0; i < 2; i++) {
        static const char *const headers[] = {"\r\nauthorization: " MARK "-0\r\n",
                                              "\r\nauthorization: " MARK "-1\r\n"};
        world_write(w, "token", i == 0 ? MARK "-0\n" : MARK "-1");
        world_routes_clear(w);
        world_route_add(w, (world_route){.method = "GET",
                                         .target = "/v2/credentials/" MARK "-id",
                                         .header = headers[i],
                                         .status = 200,
                                         .body = RESPONSE});
        world_make_provider(w, NULL);
        world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
    }
    world_write(w, "token", MARK "\r\nX-Other: 1");
    world_make_provider(w, NULL);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "authorization token");
}

static void test_credentials_are_not_asked_of_strangers(void **state)
{
    static const char *const wrong[] = {
        "http://example.com/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://169.254.170.20/",
        "http://126.0.0.1/",
        "http://127.0.0.1.example.com/",
        "http://127.0.0.1@example.com/",
        "http://127.0.0.1:80@example.com/",
        "http://localhost:80\\@example.com/",
        "http://[::1]:80@example.com/",
        "http://user:127.0.0.1@example.com:80/",
        "http://example.com#@127.0.0.1/",
        "http://localhost.example.com/",
        "http://[::2]/",
        "http://[fd00:ec2::254]/",
        "http://[::1/",
        "http://[::1]x/",
        "http:///",
        "http://",
        "http://0/",
        "http://127.1/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "127.0.0.1/creds",
        "//127.0.0.1/creds",
        "/creds",
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        world_set(w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", wrong[i]);
        print_message("  %s\n", wrong[i]);
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or http to");
    }
    world_set(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ".example.com/");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "start with '/'");
    assert_int_equal(scripted_server_requests(w->server), 0);
}

static void test_loopback_in_all_its_forms_and_https_are_allowed(void **state)
{
    world *w = *state;
    const char *port = strrchr(scripted_server_url(w->server), ':');
    static const char *const hosts[] = {"http://127.0.0.1", "http://127.8.9.10", "HTTP://LocalHost",
                                        "http://[::1]", "https://127.0.0.1"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        world_set_format(w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s%s/creds", hosts[i], port);
        world_make_provider(w, NULL);
        world_shorten_tries(w);
        assert_int_not_equal(world_get(w), KEDGE_OK);
        print_message("  %s: %s\n", hosts[i], w->error.message);
        assert_null(strstr(w->error.message, "must be https"));
    }
}

static void test_wrong_responses_of_a_container_are_told_without_what_they_say(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *part;
    } cases[] = {
        {200, "<html>" MARK "</html>", "responded with something that is not a JSON object"},
        {200, "[\"" MARK "\"]", "responded with something that is not a JSON object"},
        {200, "{\"AccessKeyId\":\"" MARK "\"",
         "responded with something that is not a JSON object"},
        {200, "", "responded with something that is not a JSON object"},
        {200, "{}", "lack an access key id"},
        {200, "{\"AccessKeyId\":\"A\"}", "lack a secret access key"},
        {200, "{\"AccessKeyId\":7,\"SecretAccessKey\":\"" MARK "\"}", "that are not strings"},
        {200, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"" MARK "\\n\"}",
         "secret access key of"},
        {200, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"" MARK "\",\"Expiration\":\"soon\"}",
         "an expiration that is not a time"},
        {200, "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"" MARK "\",\"Expiration\":1800000000}",
         "an expiration that is not a time"},
        {400, MARK, "responded with status 400"},
        {403, MARK, "status 403: check AWS_CONTAINER_AUTHORIZATION_TOKEN"},
        {302, MARK, "responded with status 302"},
    };
    world *w = *state;
    use_container(w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script_container(w, cases[i].status, cases[i].body);
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", cases[i].part);
        assert_int_equal(scripted_server_requests(w->server), i + 1);
    }
    script_container(w, 200,
                     "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"" MARK
                     "\",\"Token\":null,\"Expiration\":null}");
    world_assert_got(w, "A", MARK, "");
    assert_int_equal(w->got.expires_ms, 0);
}

static void test_a_container_that_fails_for_a_moment_is_asked_again(void **state)
{
    world *w = *state;
    use_container(w);
    world_route_add(w, (world_route){.method = "GET",
                                     .target = "/v2/credentials/" MARK "-id",
                                     .status = 500,
                                     .turns = 1});
    world_route_add(w, (world_route){.method = "GET",
                                     .target = "/v2/credentials/" MARK "-id",
                                     .status = 429,
                                     .turns = 1});
    world_route_add(w, (world_route){.method = "GET",
                                     .target = "/v2/credentials/" MARK "-id",
                                     .status = 200,
                                     .body = RESPONSE});
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
    assert_int_equal(scripted_server_requests(w->server), 3);
}

static void test_a_container_that_stays_away_is_unreachable(void **state)
{
    world *w = *state;
    use_container(w);
    script_container(w, 503, MARK);
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable", "status 503");
    assert_int_equal(scripted_server_requests(w->server), KEDGE_AWS_LOCAL_TRIES);
    script_container(w, 0, NULL);
    world_shorten_tries(w);
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable",
                         "the container's credentials endpoint gives no credentials: ");
    world_set_format(w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "%s/" MARK, scripted_dead_url());
    world_unset(w, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable", "accept");
}

static void test_a_response_without_end_is_cut_off(void **state)
{
    world *w = *state;
    static char huge[KEDGE_AWS_LOCAL_RESPONSE_BYTES + 2];
    memset(huge, ' ', KEDGE_AWS_LOCAL_RESPONSE_BYTES + 1);
    use_container(w);
    script_container(w, 200, huge);
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable", "larger than");
}

/* ---- instances ---- */

static void use_instance(world *w)
{
    world_unset(w, "AWS_EC2_METADATA_DISABLED");
    world_set_format(w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "%s/", scripted_server_url(w->server));
}

static void script_instance(world *w, int token_status, int role_status, const char *role,
                            int status, const char *body)
{
    world_routes_clear(w);
    world_route_add(w, (world_route){.method = "PUT",
                                     .target = TOKEN_TARGET,
                                     .header = "\r\nx-aws-ec2-metadata-token-ttl-seconds: 21600",
                                     .status = token_status,
                                     .body = MARK "=="});
    world_route_add(w, (world_route){.method = "GET",
                                     .target = ROLES_TARGET,
                                     .header = "\r\nx-aws-ec2-metadata-token: " MARK "==\r\n",
                                     .status = role_status,
                                     .body = role});
    world_route_add(w, (world_route){.method = "GET",
                                     .target = ROLES_TARGET "a-role_1",
                                     .header = "\r\nx-aws-ec2-metadata-token: " MARK "==\r\n",
                                     .status = status,
                                     .body = body});
}

static void test_an_instance_is_asked_for_token_role_and_credentials(void **state)
{
    world *w = *state;
    use_instance(w);
    script_instance(w, 200, 200, "a-role_1\n", 200, INSTANCE_RESPONSE);
    world_assert_got(w, "ASIA-2", MARK "/2", MARK "-i");
    assert_int_equal(w->got.expires_ms, WORLD_START_MS + 6 * 3600000);
    assert_int_equal(scripted_server_requests(w->server), 3);
}

static void test_an_instance_without_metadata_or_role_has_no_credentials(void **state)
{
    world *w = *state;
    use_instance(w);
    script_instance(w, 200, 404, MARK, 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
                         "metadata (the instance has no role)");
    script_instance(w, 403, 200, "a-role_1", 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
                         "metadata (status 403 for a token)");
    world_routes_clear(w);
    world_route_add(w, (world_route){.method = "PUT",
                                     .target = TOKEN_TARGET,
                                     .status = 200,
                                     .body = "<html>\nlog in</html>"});
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing", "its token is invalid");
    int asked = scripted_server_requests(w->server);
    world_set(w, "AWS_EC2_METADATA_DISABLED", "TRUE");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
                         "metadata (AWS_EC2_METADATA_DISABLED is set)");
    assert_int_equal(scripted_server_requests(w->server), asked);
}

static void test_wrong_responses_of_an_instance_are_told(void **state)
{
    world *w = *state;
    use_instance(w);
    script_instance(w, 200, 200, "../a-role_1", 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "name of a role");
    script_instance(w, 200, 401, "", 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                         "responded to the request for its role with status 401");
    script_instance(w, 200, 200, "a-role_1", 404, "");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                         "responded to the request for its credentials with status 404");
    script_instance(w, 200, 200, "a-role_1", 200,
                    "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"" MARK "\"}");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                         "no credentials for its role: AssumeRoleUnauthorizedAccess");
    script_instance(w, 200, 503, "", 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable", "status 503");
    script_instance(w, 500, 200, "a-role_1", 200, INSTANCE_RESPONSE);
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable", "a token");
    world_set(w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", scripted_dead_url());
    world_assert_refused(w, KEDGE_UNAVAILABLE, "aws-credentials-unreachable",
                         "the instance's metadata gives no credentials: ");
}

/* ---- the chain ---- */

static void
test_a_container_goes_before_a_web_identity_and_that_is_refused_before_an_instance(void **state)
{
    world *w = *state;
    use_instance(w);
    script_instance(w, 200, 200, "a-role_1", 200, INSTANCE_RESPONSE);
    world_set(w, "AWS_WEB_IDENTITY_TOKEN_FILE", world_path(w, "token"));
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-unsupported",
                         "AWS_WEB_IDENTITY_TOKEN_FILE is set, and nothing else");
    assert_int_equal(scripted_server_requests(w->server), 0);
    use_container(w);
    script_container(w, 200, RESPONSE);
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
}

static void test_a_broken_source_is_not_passed_over(void **state)
{
    world *w = *state;
    use_container(w);
    script_container(w, 200, RESPONSE);
    world_write(w, "config", "[default\n");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "line 1");
    world_write(w, "config", "[default]\nregion = eu-west-1\n");
    world_assert_got(w, "ASIA-1", MARK "/+1=", MARK "-t");
}

static void test_times_are_read_in_the_forms_of_rfc_3339(void **state)
{
    static const struct {
        const char *text;
        int64_t time_ms;
    } right[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2027-01-15T08:00:00Z", WORLD_START_MS},
        {"2027-01-15T08:00:00.123456789Z", WORLD_START_MS + 123},
        {"2027-01-15T09:30:00+01:30", WORLD_START_MS},
        {"2027-01-15T00:00:00.5-08:00", WORLD_START_MS + 500},
        {"2024-02-29T23:59:59Z", INT64_C(1709251199000)},
    };
    static const char *const wrong[] = {
        "",           "2027-01-15",           "2027-01-15T08:00:00",   "2027-01-15 08:00:00Z",
        "now",        "2027-13-15T08:00:00Z", "2027-01-32T08:00:00Z",  "2027-01-15T24:00:00Z",
        "202-01-15",  "2027-01-15T08:00:00z", "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00+0100",
        "1800000000", "2027-1-15T08:00:00Z",  "2027-01-15T08:00:00ZZ", "2027-01-15T08:00:00+25:00"};
    int64_t time_ms = -1;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_true(kedge_aws_timestamp_read(kedge_bytes_of(right[i].text), &time_ms));
        assert_int_equal(time_ms, right[i].time_ms);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(kedge_aws_timestamp_read(kedge_bytes_of(wrong[i]), &time_ms));
    }
}

/* ---- memory ---- */

static bool fetch_once(const kedge_allocator *allocator, void *context)
{
    world *w = context;
    kedge_error error = {0};
    kedge_aws_credentials got = {0};
    kedge_aws_credentials_provider *provider = NULL;
    kedge_environment environment = w->environment;
    environment.allocator = allocator;
    kedge_aws_credentials_options options = {
        .environment = &environment, .variable = world_variable_of, .variable_context = w};
    kedge_status status = kedge_aws_credentials_provider_new(&options, &provider, &error);
    if (status == KEDGE_OK) {
        kedge_aws_credentials_provider_redirect(provider, scripted_server_url(w->server),
                                                WORLD_TRY_MS);
        status = kedge_aws_credentials_get(provider, &got, &error);
    }
    kedge_aws_credentials_provider_free(provider);
    if (status == KEDGE_OK) assert_string_equal(got.secret, MARK "/+1=");
    if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    return status == KEDGE_OK;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    world *w = *state;
    world_write(w, "config", "[default]\nregion = eu-west-1\n");
    use_instance(w);
    script_instance(w, 200, 200, "a-role_1", 200, RESPONSE);
    assert_true(failing_allocator_try_every_call(fetch_once, w, 200) > 40);
    use_container(w);
    script_container(w, 200, RESPONSE);
    assert_true(failing_allocator_try_every_call(fetch_once, w, 200) > 20);
    world_write(w, "config",
                "[default]\naws_access_key_id = A\naws_secret_access_key = " MARK "/+1=\n");
    assert_true(failing_allocator_try_every_call(fetch_once, w, 200) > 4);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_begin, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_a_container_gives_credentials_at_its_relative_uri),
        IN_WORLD(test_a_full_uri_is_asked_with_the_token),
        IN_WORLD(test_the_tokens_file_goes_first_and_is_read_at_each_fetch),
        IN_WORLD(test_credentials_are_not_asked_of_strangers),
        IN_WORLD(test_loopback_in_all_its_forms_and_https_are_allowed),
        IN_WORLD(test_wrong_responses_of_a_container_are_told_without_what_they_say),
        IN_WORLD(test_a_container_that_fails_for_a_moment_is_asked_again),
        IN_WORLD(test_a_container_that_stays_away_is_unreachable),
        IN_WORLD(test_a_response_without_end_is_cut_off),
        IN_WORLD(test_an_instance_is_asked_for_token_role_and_credentials),
        IN_WORLD(test_an_instance_without_metadata_or_role_has_no_credentials),
        IN_WORLD(test_wrong_responses_of_an_instance_are_told),
        IN_WORLD(
            test_a_container_goes_before_a_web_identity_and_that_is_refused_before_an_instance),
        IN_WORLD(test_a_broken_source_is_not_passed_over),
        cmocka_unit_test(test_times_are_read_in_the_forms_of_rfc_3339),
        IN_WORLD(test_every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
