/* Numbers at their ends, in every place of a request that takes one: each request is answered, and
 * no response says that the backend failed. */
#include "tests/backend/api_world.h"

#include <stdio.h>
#include <string.h>

#define NOTES   "/v1/orgs/acme/projects/notes"
#define SHEET   "/v1/orgs/acme/projects/sheet"
#define JOURNAL NOTES "/logs/journal"
#define THING   "/v1/orgs/acme/resources/things/one"

typedef struct request {
    const char *method;
    const char *path; /* '#' is the number, here and in the body */
    const char *body;
} request;

static const char *const numbers[] = {"0",
                                      "1",
                                      "2",
                                      "0.5",
                                      "-1",
                                      "999999999997",
                                      "999999999998",
                                      "999999999999",
                                      "1000000000000",
                                      "9007199254740990",
                                      "9007199254740991",
                                      "9007199254740992",
                                      "-9007199254740991",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "18446744073709551616",
                                      "1e300"};

#define PULL(cookie, rest)                                                                         \
    "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"cookie\":" cookie                               \
    ",\"kedge\":{\"client\":\"c1\"" rest "}}"
#define COOKIE "{\"order\":#,\"lineage\":\"00000000000000000000000000000000\"}"
#define PUSH(mutation)                                                                             \
    "{\"pushVersion\":1,\"clientGroupID\":\"c1\",\"kedge\":{\"client\":\"c1\"},\"mutations\":["    \
    "{\"clientID\":\"c1\",\"name\":\"kedge.noop\",\"args\":{}," mutation "}]}"
#define RETIRE(cookie, lowest)                                                                     \
    "{\"clientGroupID\":\"c9\",\"cookie\":" cookie ",\"lowest_pending\":" lowest ",\"earlier\":[]" \
    "}"

/* Below a project of versions and below a log project. */
static const request of_both[] = {
    {"POST", "/pull", PULL(COOKIE, ",\"lowest_pending\":1,\"highest_id\":1")},
    {"POST", "/pull",
     "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"cookie\":{\"order\":1,\"version\":#,"
     "\"lineage\":\"00000000000000000000000000000000\"}}"},
    {"POST", "/pull", PULL("null", ",\"lowest_pending\":#,\"highest_id\":9")},
    {"POST", "/pull", PULL("null", ",\"lowest_pending\":1,\"highest_id\":#")},
    {"POST", "/pull", PULL("null", ",\"lowest_pending\":#,\"highest_id\":#")},
    {"POST", "/pull", PULL("null", ",\"lowest_pending\":1,\"highest_id\":1,\"seen\":" COOKIE)},
    {"POST", "/pull", "{\"pullVersion\":#,\"clientGroupID\":\"c1\",\"cookie\":null}"},
    {"POST", "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"cookie\":#}"},
    {"POST", "/pull", "{\"pullVersion\":1,\"clientGroupID\":\"c1\",\"cookie\":" COOKIE "}"},
    {"POST", "/push", PUSH("\"id\":#,\"timestamp\":1")},
    {"POST", "/push", PUSH("\"id\":3,\"timestamp\":#")},
    {"POST", "/push", PUSH("\"id\":3,\"timestamp\":1,\"version\":#")},
    {"POST", "/push", PUSH("\"id\":3,\"timestamp\":1,\"origin\":{\"client\":\"c5\",\"id\":#}")},
    {"POST", "/push/upload", "{\"sha256\":\"\",\"size\":#}"},
    {"POST", "/clients/c9/retire", RETIRE(COOKIE, "1")},
    {"POST", "/clients/c9/retire", RETIRE("null", "#")},
    {"GET", "/clients/c1/mutations?from=#", ""},
    {"GET", "/clients/c1/mutations?to=#", ""},
    {"GET", "/clients/c1/mutations?from=#&to=#", ""},
    {"GET", "/clients/c1/mutations/#", ""},
    {"GET", "/snapshot?version=#", ""},
    {"GET", "/snapshot?limit_bytes=#", ""},
    {"GET", "/settings?version=#", ""},
    {"GET", "/logs?limit=#", ""},
};

static const request others[] = {
    {"GET", NOTES "/versions?before=#", ""},
    {"GET", NOTES "/versions?limit=#", ""},
    {"GET", NOTES "/versions/#", ""},
    {"GET", NOTES "/versions/#/collections/d", ""},
    {"GET", NOTES "/versions/1/collections/d?limit=#", ""},
    {"GET", NOTES "/versions/#/collections/d/a", ""},
    {"POST", NOTES "/fork", "{\"version\":#,\"to\":\"copy\"}"},
    {"POST", SHEET "/fork", "{\"version\":#,\"to\":\"copy2\"}"},
    {"POST", NOTES "/rebase",
     "{\"from_project\":\"other\",\"from_version\":#,\"to_version\":1,\"job\":\"j\",\"next\":"
     "null}"},
    {"POST", NOTES "/rebase",
     "{\"from_project\":\"other\",\"from_version\":1,\"to_version\":#,\"job\":\"j\",\"next\":"
     "null}"},
    {"POST", NOTES "/rebase",
     "{\"from_project\":\"other\",\"from_version\":1,\"to_version\":1,\"job\":\"k\","
     "\"next\":{\"version\":1,\"id\":#}}"},
    {"POST", NOTES "/rebase",
     "{\"from_project\":\"other\",\"from_version\":1,\"to_version\":#,\"job\":\"k\","
     "\"next\":{\"version\":#,\"id\":1}}"},
    {"GET", JOURNAL "/entries?from=#", ""},
    {"GET", JOURNAL "/entries?from=#&order=down", ""},
    {"GET", JOURNAL "/entries?to=#", ""},
    {"GET", JOURNAL "/entries?order=down&to=#", ""},
    {"GET", JOURNAL "/entries?after=#", ""},
    {"GET", JOURNAL "/entries?limit=#", ""},
    {"POST", JOURNAL "/entries", "{\"type\":\"set\",\"version\":#,\"body\":1}"},
    {"POST", JOURNAL "/entries", "{\"type\":\"set\",\"version\":1,\"body\":1,\"expected\":#}"},
    {"POST", JOURNAL "/entries",
     "{\"type\":\"set\",\"version\":1,\"body\":1,\"expected\":#,\"entries\":true}"},
    {"POST", JOURNAL "/entries",
     "{\"type\":\"set\",\"version\":1,\"body\":1,\"id\":\"00000000000000000000000000000001\","
     "\"since\":#}"},
    {"POST", JOURNAL "/entries/#/metadata", "{\"history\":\"h\"}"},
    {"POST", JOURNAL "/entries/#/metadata", "{\"snapshot\":\"s\"}"},
    {"GET", JOURNAL "/segments?from=#", ""},
    {"POST", JOURNAL "/segments/#/archive", "{\"remove\":false}"},
    {"POST", JOURNAL "/segments/0/archive", "{\"expires\":#}"},
    {"POST", JOURNAL "/truncate", "{\"before\":#}"},
    {"GET", SHEET "/logs/mutations/entries?from=#", ""},
    {"GET", SHEET "/logs/mutations/entries?after=#", ""},
    {"POST", SHEET "/logs/mutations/segments/#/archive", "{\"remove\":false}"},
    {"PUT", THING, "{\"expected\":#,\"value\":{}}"},
    {"GET", THING "?version=#", ""},
    {"DELETE", THING "?expected=#", ""},
    {"GET", THING "/versions?before=#", ""},
    {"GET", THING "/versions?limit=#", ""},
    {"POST", THING "/rollback", "{\"expected\":#,\"to\":1}"},
    {"POST", THING "/rollback", "{\"expected\":1,\"to\":#}"},
    {"GET", "/v1/orgs/acme/projects?limit=#", ""},
    {"GET", "/v1/orgs/acme/resources/things?limit=#", ""},
};

/* With the number in the place of each '#'. */
static const char *fill(const char *pattern, const char *number, char *text, size_t size)
{
    size_t used = 0;
    for (; *pattern != '\0'; pattern++) {
        const char piece[] = {*pattern, '\0'};
        int written = snprintf(text + used, size - used, "%s", *pattern == '#' ? number : piece);
        used += (size_t)written;
        assert_true(used < size);
    }
    return text;
}

static void ask(api_world *world, const char *base, const request *asked, const char *number)
{
    char path[512], body[1024], pattern[512];
    snprintf(pattern, sizeof pattern, "%s%s", base, asked->path);
    fill(pattern, number, path, sizeof path);
    fill(asked->body, number, body, sizeof body);
    int status = api_ask(world, &root, asked->method, path, kedge_bytes_of(body));
    bool answered = status >= 200 && status < 500;
    if (!answered && strcmp(api_code(world), "uploads-not-served") != 0)
        fail_msg("%s %s %s: %d %s", asked->method, path, body, status, api_text(world));
}

static void make(api_world *world, const char *method, const char *path, const char *body)
{
    int status = api_ask(world, &root, method, path, kedge_bytes_of(body));
    if (status < 200 || status > 201) fail_msg("%s %s: %s", method, path, api_text(world));
}

static void prepare(api_world *world)
{
    const char *first = PUSH("\"id\":1,\"timestamp\":1");
    const char *second = PUSH("\"id\":2,\"timestamp\":1");
    make(world, "PUT", SHEET, "{\"kind\":\"log\"}");
    make(world, "PUT", "/v1/orgs/acme/projects/other", "");
    make(world, "POST", NOTES "/push", first);
    make(world, "POST", NOTES "/push", second);
    make(world, "POST", SHEET "/push", first);
    make(world, "POST", SHEET "/push", second);
    make(world, "POST", "/v1/orgs/acme/projects/other/push", first);
    make(world, "PUT", JOURNAL, "");
    make(world, "POST", JOURNAL "/entries", "{\"type\":\"set\",\"version\":1,\"body\":1}");
    make(world, "PUT", THING, "{\"expected\":0,\"value\":{}}");
}

static void test_numbers_at_their_ends_are_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        api_world *world = api_world_new();
        prepare(world);
        for (size_t k = 0; k < sizeof of_both / sizeof of_both[0]; k++) {
            ask(world, NOTES, &of_both[k], numbers[i]);
            ask(world, SHEET, &of_both[k], numbers[i]);
        }
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            ask(world, "", &others[k], numbers[i]);
        api_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_at_their_ends_are_answered)};
    return cmocka_run_group_tests_name("backend: numbers at their ends", tests, NULL, NULL);
}
