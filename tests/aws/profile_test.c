/* Credentials and regions in environment variables and in profile files: where they are looked for,
 * how the files are read, and how their mistakes are told. */
#include "tests/aws/credentials_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEYS(name) "aws_access_key_id = AKIA-" name "\naws_secret_access_key = " MARK "/" name "\n"

/* ---- the environment ---- */

static void test_the_environment_goes_first(void **state)
{
    world *w = *state;
    world_write(w, "credentials", "[default]\n" KEYS("file"));
    world_set(w, "AWS_ACCESS_KEY_ID", "AKIA-env");
    world_set(w, "AWS_SECRET_ACCESS_KEY", MARK "/+env=");
    world_assert_got(w, "AKIA-env", MARK "/+env=", "");
    assert_int_equal(w->got.expires_ms, 0);

    world_set(w, "AWS_SESSION_TOKEN", MARK "-token");
    world_make_provider(w, NULL);
    world_assert_got(w, "AKIA-env", MARK "/+env=", MARK "-token");

    world_make_provider(w, "default");
    world_assert_got(w, "AKIA-file", MARK "/file", "");
}

static void test_half_of_the_environments_keys_is_an_error(void **state)
{
    world *w = *state;
    world_write(w, "credentials", "[default]\n" KEYS("file"));
    world_set(w, "AWS_ACCESS_KEY_ID", "AKIA-env");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                         "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) lack a secret access key");
    world_set(w, "AWS_SECRET_ACCESS_KEY", MARK);
    world_set(w, "AWS_ACCESS_KEY_ID", "");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "lack an access key id");
}

static void test_credentials_that_cannot_be_sent_are_refused(void **state)
{
    static const char *const wrong[] = {MARK " ", MARK "\n", "\t" MARK, MARK "\x7F", MARK "\xC3"};
    world *w = *state;
    char longest[130];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        world_set(w, "AWS_ACCESS_KEY_ID", "AKIA");
        world_set(w, "AWS_SECRET_ACCESS_KEY", wrong[i]);
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                             "secret access key of the environment");
        world_set(w, "AWS_SECRET_ACCESS_KEY", MARK);
        world_set(w, "AWS_SESSION_TOKEN", wrong[i]);
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "session token of");
        world_set(w, "AWS_SESSION_TOKEN", "");
        world_set(w, "AWS_ACCESS_KEY_ID", wrong[i]);
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "access key id of");
    }
    memset(longest, 'x', 129);
    longest[129] = '\0';
    world_set(w, "AWS_ACCESS_KEY_ID", longest);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "access key id of");
    longest[128] = '\0';
    world_set(w, "AWS_ACCESS_KEY_ID", longest);
    world_assert_got(w, longest, MARK, "");
}

static void test_nothing_anywhere_is_an_error_that_says_what_to_do(void **state)
{
    world *w = *state;
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
                         "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or keys in a profile");
    assert_non_null(strstr(w->error.message, "profile default"));
    assert_non_null(strstr(w->error.message, "AWS_EC2_METADATA_DISABLED is set)"));
    /* What is set later is found later. */
    world_set(w, "AWS_ACCESS_KEY_ID", "AKIA-env");
    world_set(w, "AWS_SECRET_ACCESS_KEY", MARK);
    world_assert_got(w, "AKIA-env", MARK, "");
}

/* ---- the files ---- */

static void test_the_profile_is_default_or_the_variables_or_the_callers(void **state)
{
    world *w = *state;
    world_write(w, "credentials",
                "[default]\n" KEYS("one") "[two]\n" KEYS("two") "aws_session_token=" MARK
                                                                "-t\n[three]\n" KEYS("three"));
    world_assert_got(w, "AKIA-one", MARK "/one", "");
    world_set(w, "AWS_PROFILE", "two");
    world_make_provider(w, NULL);
    world_assert_got(w, "AKIA-two", MARK "/two", MARK "-t");
    world_make_provider(w, "three");
    world_assert_got(w, "AKIA-three", MARK "/three", "");
}

static void test_the_config_file_has_profiles_by_prefix_and_comes_second(void **state)
{
    world *w = *state;
    world_write(w, "config",
                "[two]\n" KEYS("no-prefix") "[default]\n" KEYS("one") "[profile two]\n" KEYS(
                    "two") "[profile  'a b' ]\n" KEYS("blank") "[sso-session two]\nsso_region=x\n");
    world_assert_got(w, "AKIA-one", MARK "/one", "");
    world_make_provider(w, "two");
    world_assert_got(w, "AKIA-two", MARK "/two", "");
    world_make_provider(w, "a b");
    world_assert_got(w, "AKIA-blank", MARK "/blank", "");

    world_write(w, "credentials", "[two]\n" KEYS("first") "[profile default]\n" KEYS("nobody"));
    world_make_provider(w, "two");
    world_assert_got(w, "AKIA-first", MARK "/first", "");
    world_make_provider(w, "default");
    world_assert_got(w, "AKIA-one", MARK "/one", "");
    world_write(w, "config", "[profile default]\n" KEYS("prefixed") "[default]\n" KEYS("one"));
    world_make_provider(w, "default");
    world_assert_got(w, "AKIA-prefixed", MARK "/prefixed", "");
}

static void test_a_session_token_counts_only_with_its_key(void **state)
{
    world *w = *state;
    world_write(w, "config", "[default]\n" KEYS("old") "aws_session_token = " MARK "-old\n");
    world_write(w, "credentials", "[default]\n" KEYS("new"));
    world_assert_got(w, "AKIA-new", MARK "/new", "");
}

static void test_odd_but_valid_lines_are_read(void **state)
{
    world *w = *state;
    world_write(w, "credentials",
                "\xEF\xBB\xBF# a comment\r\n"
                "  ; another\r\n"
                "\r\n"
                "  [ default ]   # behind\r\n"
                "  AWS_ACCESS_KEY_ID=AKIA-first\r\n"
                "  Aws_Secret_Access_Key   =\t" MARK "==#not;a=comment   # but this is\r\n"
                "    aws_access_key_id = nested\r\n"
                "  # indented comment\r\n"
                "  s3 =\r\n"
                "     max_concurrent_requests = 20\r\n"
                "     this is nothing\r\n"
                "[other]\r\n"
                "aws_access_key_id = other\r\n"
                "[default]\r\n"
                "aws_session_token = " MARK ";x");
    world_assert_got(w, "AKIA-first", MARK "==#not;a=comment", MARK ";x");
}

static void assert_wrong_line(world *w, const char *text, const char *part)
{
    world_write(w, "credentials", text);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", part);
    assert_non_null(strstr(w->error.message, w->home));
}

static void test_a_wrong_line_is_named_by_file_and_line(void **state)
{
    world *w = *state;
    assert_wrong_line(w, "\n\n[default\n" KEYS("x"), "/credentials, line 3: a section's name has");
    assert_wrong_line(w, "[default] x\n", "/credentials, line 1: there is text after");
    assert_wrong_line(w, "# c\naws_access_key_id = x\n", "/credentials, line 2: a setting before");
    assert_wrong_line(w, "[default]\n" MARK "\n", "/credentials, line 2: neither a section nor");
    assert_wrong_line(w, "[default]\n = " MARK "\n", "/credentials, line 2: a setting without a");
    assert_wrong_line(w, "[default]\n\naws_secret_access_key = " MARK "\n",
                      "/credentials, line 3) lack an access key id");
    assert_wrong_line(w, "[default]\naws_access_key_id = A\naws_secret_access_key =\n",
                      "/credentials, line 2) lack a secret access key");
    assert_wrong_line(w, "[default]\naws_access_key_id = A\naws_secret_access_key = " MARK " x\n",
                      "/credentials, line 2) has a byte");
    world_write(w, "credentials", "");
    world_write(w, "config", "[default]\nregion\n");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "/config, line 2: ");
}

static void test_a_file_that_cannot_be_read_is_an_error_but_a_missing_one_is_none(void **state)
{
    world *w = *state;
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-missing", "no AWS credentials");
    world_set(w, "AWS_CONFIG_FILE", w->home);
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "cannot be read: ");
    char *large = calloc(1, KEDGE_AWS_LOCAL_RESPONSE_BYTES * 17);
    assert_non_null(large);
    memset(large, '\n', KEDGE_AWS_LOCAL_RESPONSE_BYTES * 17 - 1);
    world_write(w, "config", large);
    free(large);
    world_set(w, "AWS_CONFIG_FILE", world_path(w, "config"));
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "1,048,576 bytes");
}

static void test_the_files_are_in_the_home_when_no_variable_says_otherwise(void **state)
{
    world *w = *state;
    world_unset(w, "AWS_SHARED_CREDENTIALS_FILE");
    world_unset(w, "AWS_CONFIG_FILE");
    world_set(w, "HOME", w->home);
    assert_int_equal(mkdir(world_path(w, ".aws"), 0700), 0);
    world_write(w, ".aws/credentials", "[default]\n" KEYS("home"));
    world_assert_got(w, "AKIA-home", MARK "/home", "");
    world_write(w, ".aws/credentials", "");
    world_write(w, ".aws/config", "[default]\n" KEYS("config"));
    world_make_provider(w, NULL);
    world_assert_got(w, "AKIA-config", MARK "/config", "");
    world_set(w, "AWS_SHARED_CREDENTIALS_FILE", "~/credentials");
    world_write(w, "credentials", "[default]\n" KEYS("tilde"));
    world_make_provider(w, NULL);
    world_assert_got(w, "AKIA-tilde", MARK "/tilde", "");
    unlink(world_path(w, ".aws/credentials"));
    unlink(world_path(w, ".aws/config"));
    rmdir(world_path(w, ".aws"));
}

static void test_a_named_profile_that_is_nowhere_is_an_error(void **state)
{
    world *w = *state;
    world_write(w, "credentials", "[default]\n" KEYS("x"));
    world_set(w, "AWS_PROFILE", "absent");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                         "there is no profile absent in ");
}

static void test_other_ways_to_credentials_are_refused_by_name(void **state)
{
    static const char *const settings[] = {
        "credential_process = /bin/" MARK, "sso_session = x",
        "sso_start_url = https://x",       "login_session = x",
        "web_identity_token_file = /x",    "role_arn = arn:aws:iam::1:role/x",
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char text[256];
        char name[64];
        snprintf(text, sizeof text, "[profile p]\nregion = x\n%s\n", settings[i]);
        snprintf(name, sizeof name,
                 "/config, line 3: %.*s is not supported: ", (int)strcspn(settings[i], " "),
                 settings[i]);
        world_write(w, "config", text);
        world_make_provider(w, "p");
        world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-unsupported", name);
    }
    /* Keys beside them are used, but not those that are only for assuming a role. */
    world_write(w, "config", "[profile p]\ncredential_process = x\n" KEYS("own"));
    world_assert_got(w, "AKIA-own", MARK "/own", "");
    world_write(w, "config", "[profile p]\nrole_arn = x\n" KEYS("own"));
    world_make_provider(w, "p");
    world_assert_refused(w, KEDGE_UNAUTHORIZED, "aws-credentials-unsupported", "role_arn");
}

static void test_any_file_is_read_or_refused(void **state)
{
    static const char *const pieces[] = {
        "[",
        "]",
        "default",
        "profile ",
        "aws_access_key_id",
        "aws_secret_access_key",
        "=",
        " ",
        "\t",
        "\n",
        "\n",
        "\r\n",
        "#",
        ";",
        "\"",
        "role",
        "[default]\n",
        "\xEF\xBB\xBF",
        "\x80",
        "aws_session_token=x\n",
    };
    world *w = *state;
    char text[1024];
    uint64_t dice = 7;
    int read = 0;
    world_make_provider(w, NULL);
    for (int i = 0; i < 3000; i++) {
        size_t size = 0;
        size_t count = (size_t)(i % 16);
        for (size_t n = 0; n < count; n++) {
            dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const char *piece = pieces[(dice >> 33) % (sizeof pieces / sizeof pieces[0])];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        text[size] = '\0';
        world_write(w, "credentials", i % 2 == 0 ? text : "");
        world_write(w, "config", i % 2 == 0 ? "" : text);
        kedge_status status = world_get(w);
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_UNAUTHORIZED);
        read += strcmp(w->error.code, "aws-credentials-invalid") != 0;
        kedge_aws_credentials_forget(w->provider);
    }
    assert_in_range(read, 300, 2700);
}

/* ---- the region ---- */

static void test_the_region_is_the_environments_or_the_profiles(void **state)
{
    world *w = *state;
    char region[64] = "untouched";
    char longest[65];
    world_make_provider(w, NULL);
    kedge_aws_credentials_options options = {
        .environment = &w->environment, .variable = world_variable_of, .variable_context = w};
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_NOT_FOUND);
    assert_string_equal(region, "untouched");
    world_write(w, "config", "[default]\nregion = eu-west-1\n[profile p]\nregion=us-west-2 ; x\n");
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_OK);
    assert_string_equal(region, "eu-west-1");
    options.profile = "p";
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_OK);
    assert_string_equal(region, "us-west-2");
    world_set(w, "AWS_DEFAULT_REGION", "ap-south-1");
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_OK);
    assert_string_equal(region, "ap-south-1");
    world_set(w, "AWS_REGION", "sa-east-1");
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_OK);
    assert_string_equal(region, "sa-east-1");
    memset(longest, 'r', 64);
    longest[64] = '\0';
    world_set(w, "AWS_REGION", longest);
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_INVALID_ARGUMENT);
    longest[63] = '\0';
    world_set(w, "AWS_REGION", longest);
    assert_int_equal(kedge_aws_region_find(&options, region, NULL), KEDGE_OK);
    assert_string_equal(region, longest);
}

static void assert_no_region(const kedge_aws_credentials_options *options, const char *code,
                             const char *words)
{
    char region[KEDGE_AWS_REGION_SIZE] = "untouched";
    kedge_error error = {0};
    kedge_status status = kedge_aws_region_find(options, region, &error);
    assert_int_not_equal(status, KEDGE_OK);
    assert_int_equal(status, error.status);
    assert_string_equal(error.code, code);
    if (strstr(error.message, words) == NULL) fail_msg("%s", error.message);
    assert_string_equal(region, "untouched");
}

static void test_what_keeps_the_region_from_being_found_is_named(void **state)
{
    world *w = *state;
    char config[256], longest[65];
    memset(longest, 'r', 64);
    longest[64] = '\0';
    world_make_provider(w, NULL);
    kedge_aws_credentials_options options = {
        .environment = &w->environment, .variable = world_variable_of, .variable_context = w};
    world_write(w, "config", "[default]\nregion = eu-west-1\n");
    options.profile = "typo";
    assert_no_region(&options, "aws-credentials-invalid", "no profile typo in ");
    options.profile = NULL;
    world_write(w, "config", "[default]\nregion eu-west-1\n");
    assert_no_region(&options, "aws-credentials-invalid", "line 2: neither a section");
    snprintf(config, sizeof config, "[default]\nregion = %s\n", longest);
    world_write(w, "config", config);
    assert_no_region(&options, "aws-region-invalid", "line 2: the region");
    world_set(w, "AWS_CONFIG_FILE", "/");
    assert_no_region(&options, "aws-credentials-invalid", "the profile file / cannot be read");
    world_set(w, "AWS_REGION", longest);
    assert_no_region(&options, "aws-region-invalid", "AWS_REGION: the region");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_begin, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_the_environment_goes_first),
        IN_WORLD(test_half_of_the_environments_keys_is_an_error),
        IN_WORLD(test_credentials_that_cannot_be_sent_are_refused),
        IN_WORLD(test_nothing_anywhere_is_an_error_that_says_what_to_do),
        IN_WORLD(test_the_profile_is_default_or_the_variables_or_the_callers),
        IN_WORLD(test_the_config_file_has_profiles_by_prefix_and_comes_second),
        IN_WORLD(test_a_session_token_counts_only_with_its_key),
        IN_WORLD(test_odd_but_valid_lines_are_read),
        IN_WORLD(test_a_wrong_line_is_named_by_file_and_line),
        IN_WORLD(test_a_file_that_cannot_be_read_is_an_error_but_a_missing_one_is_none),
        IN_WORLD(test_the_files_are_in_the_home_when_no_variable_says_otherwise),
        IN_WORLD(test_a_named_profile_that_is_nowhere_is_an_error),
        IN_WORLD(test_other_ways_to_credentials_are_refused_by_name),
        IN_WORLD(test_any_file_is_read_or_refused),
        IN_WORLD(test_the_region_is_the_environments_or_the_profiles),
        IN_WORLD(test_what_keeps_the_region_from_being_found_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
