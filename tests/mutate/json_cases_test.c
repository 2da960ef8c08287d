/* Merge patch and JSON patch: cases from data files, their cost, and memory that fails. */
#include "common/json.h"
#include "mutate/json_merge.h"
#include "mutate/json_patch.h"
#include "mutate/json_pointer.h"
#include "tests/support/failing_allocator.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LINE_BYTES 4096
#define COST_MAX   67108864

static const char *merge_path;
static const char *patch_path;

typedef struct json_case {
    char line[LINE_BYTES];
    kedge_bytes target;
    kedge_bytes patch;
    const char *expected;
    kedge_buffer target_text;
    kedge_buffer patch_text;
} json_case;

static kedge_status patch_text(const kedge_allocator *allocator, kedge_bytes target,
                               kedge_bytes patch, uint64_t cost_max, uint64_t *cost,
                               kedge_buffer *out, kedge_error *error)
{
    kedge_json_rope *rope;
    kedge_status status = kedge_json_rope_make(allocator, target, &rope, error);
    if (status != KEDGE_OK) return status;
    kedge_json_document document = kedge_json_document_make(allocator, rope, cost_max);
    status = kedge_json_patch(&document, patch, error);
    if (status == KEDGE_OK) {
        kedge_json_rope_append(document.rope, out);
        status = kedge_buffer_status(out, error);
    }
    *cost = document.cost;
    kedge_json_document_free(&document);
    return status;
}

/* The next line that is no comment, cut at its tabs, both texts made canonical. */
static bool read_case(FILE *file, json_case *given)
{
    do {
        if (fgets(given->line, sizeof given->line, file) == NULL) return false;
    } while (given->line[0] == '#');
    given->line[strcspn(given->line, "\n")] = '\0';
    char *patch = strchr(given->line, '\t');
    assert_non_null(patch);
    *patch++ = '\0';
    char *expected = strchr(patch, '\t');
    assert_non_null(expected);
    *expected++ = '\0';
    given->expected = expected;

    kedge_buffer_clear(&given->target_text);
    kedge_buffer_clear(&given->patch_text);
    if (strcmp(given->line, "-") != 0) {
        assert_int_equal(
            kedge_json_normalize(kedge_bytes_of(given->line), 64, &given->target_text, NULL),
            KEDGE_OK);
    }
    assert_int_equal(kedge_json_normalize(kedge_bytes_of(patch), 64, &given->patch_text, NULL),
                     KEDGE_OK);
    given->target = kedge_buffer_bytes(&given->target_text);
    given->patch = kedge_buffer_bytes(&given->patch_text);
    return true;
}

static json_case case_make(void)
{
    return (json_case){.target_text = kedge_buffer_make(&kedge_allocator_default),
                       .patch_text = kedge_buffer_make(&kedge_allocator_default)};
}

static void case_free(json_case *given)
{
    kedge_buffer_free(&given->target_text);
    kedge_buffer_free(&given->patch_text);
}

static void test_merge_patches_give_what_rfc_7396_says(void **state)
{
    (void)state;
    size_t count = 0;
    json_case given = case_make();
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    FILE *file = fopen(merge_path, "r");
    assert_non_null(file);
    for (; read_case(file, &given); count++) {
        kedge_buffer_clear(&out);
        kedge_json_merge(given.target, given.patch, &out);
        assert_string_equal(out.data, given.expected);
    }
    assert_int_equal(count, 25);
    fclose(file);
    kedge_buffer_free(&out);
    case_free(&given);
}

static void assert_patch_case(const json_case *given, kedge_buffer *out)
{
    uint64_t cost;
    kedge_error error = {0};
    kedge_buffer_clear(out);
    kedge_status status = patch_text(&kedge_allocator_default, given->target, given->patch,
                                     COST_MAX, &cost, out, &error);
    if (given->expected[0] == '!') {
        if (status != KEDGE_REJECTED) print_error("not refused: %s\n", given->patch.data);
        assert_int_equal(status, KEDGE_REJECTED);
        assert_string_equal(error.code, given->expected + 1);
        return;
    }
    if (status != KEDGE_OK) print_error("%s: %s\n", error.message, given->patch.data);
    assert_int_equal(status, KEDGE_OK);
    assert_string_equal(out->data, given->expected);
}

static void test_patches_give_what_rfc_6902_says(void **state)
{
    (void)state;
    size_t count = 0;
    json_case given = case_make();
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    FILE *file = fopen(patch_path, "r");
    assert_non_null(file);
    for (; read_case(file, &given); count++)
        assert_patch_case(&given, &out);
    assert_int_equal(count, 99);
    fclose(file);
    kedge_buffer_free(&out);
    case_free(&given);
}

/* ---- bounds ---- */

static kedge_status run_patch(const kedge_allocator *allocator, const kedge_buffer *target,
                              const kedge_buffer *patch, kedge_buffer *out, kedge_error *error)
{
    uint64_t cost;
    return patch_text(allocator, kedge_buffer_bytes(target), kedge_buffer_bytes(patch), COST_MAX,
                      &cost, out, error);
}

static void test_a_patch_that_doubles_the_document_meets_the_cost_limit(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_buffer target = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer patch = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&target, "{\"a\":1}");
    kedge_buffer_append_text(&patch, "[");
    for (int i = 0; i < 60; i++) {
        kedge_buffer_append_format(&patch, "%s{\"from\":\"\",\"op\":\"copy\",\"path\":\"/%d\"}",
                                   i == 0 ? "" : ",", i);
    }
    kedge_buffer_append_text(&patch, "]");
    assert_int_equal(run_patch(&kedge_allocator_default, &target, &patch, &out, &error),
                     KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(error.code, "mutation-too-costly");
    kedge_buffer_free(&target);
    kedge_buffer_free(&patch);
    kedge_buffer_free(&out);
}

static void test_a_pointer_deeper_than_any_document_is_refused(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_buffer target = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer patch = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&target, "{}");
    kedge_buffer_append_text(&patch, "[{\"op\":\"remove\",\"path\":\"");
    for (int i = 0; i <= KEDGE_LIMIT_JSON_DEPTH; i++)
        kedge_buffer_append_text(&patch, "/a");
    kedge_buffer_append_text(&patch, "\"}]");
    assert_int_equal(run_patch(&kedge_allocator_default, &target, &patch, &out, &error),
                     KEDGE_REJECTED);
    assert_string_equal(error.code, "args-invalid");
    kedge_buffer_free(&target);
    kedge_buffer_free(&patch);
    kedge_buffer_free(&out);
}

/* ---- pointers into a text ---- */

static void test_a_pointer_finds_the_part_of_a_text_that_it_leads_to(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[10,{\"b/c\":null},\"x\"],\"d\":{},\"e\":true}";
    static const struct {
        const char *pointer, *found;
    } cases[] = {
        {"\"\"", text},      {"\"/a/0\"", "10"},   {"\"/a/1/b~1c\"", "null"}, {"\"/a/2\"", "\"x\""},
        {"\"/d\"", "{}"},    {"\"/e\"", "true"},   {"\"/a/3\"", NULL},        {"\"/a/-\"", NULL},
        {"\"/a/01\"", NULL}, {"\"/a/2/0\"", NULL}, {"\"/b\"", NULL},          {"\"/d/a\"", NULL},
        {"\"/e/a\"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_bytes found = {NULL, 0};
        kedge_json_pointer pointer = kedge_json_pointer_make(&kedge_allocator_default);
        assert_int_equal(kedge_json_pointer_parse(&pointer, kedge_bytes_of(cases[i].pointer), NULL),
                         KEDGE_OK);
        bool well = kedge_json_pointer_find(&pointer, KEDGE_BYTES(text), &found);
        if (well != (cases[i].found != NULL) ||
            (well && !kedge_bytes_equal_text(found, cases[i].found)))
            fail_msg("%s: %.*s", cases[i].pointer, (int)found.size, found.data);
        kedge_json_pointer_free(&pointer);
    }
}

/* ---- memory ---- */

static bool merge_and_patch(const kedge_allocator *allocator, void *context)
{
    (void)context;
    static const char patch[] = "[{\"op\":\"add\",\"path\":\"/c/d\",\"value\":1},"
                                "{\"from\":\"/c\",\"op\":\"move\",\"path\":\"/l/0\"},"
                                "{\"op\":\"test\",\"path\":\"/l/0\",\"value\":{\"d\":1}},"
                                "{\"op\":\"test\",\"path\":\"/l\",\"value\":[{\"d\":1},2]}]";
    static const char expected[] = "{\"l\":[{\"d\":1},2]}";
    uint64_t cost;
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_json_merge(KEDGE_BYTES("{\"l\":[2]}"), KEDGE_BYTES("{\"c\":{}}"), &out);
    bool well = kedge_buffer_status(&out, NULL) == KEDGE_OK;
    if (well) {
        kedge_buffer patched = kedge_buffer_make(allocator);
        kedge_status status = patch_text(allocator, kedge_buffer_bytes(&out), KEDGE_BYTES(patch),
                                         COST_MAX, &cost, &patched, NULL);
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        well = status == KEDGE_OK;
        if (well) assert_string_equal(patched.data, expected);
        kedge_buffer_free(&patched);
    }
    kedge_buffer_free(&out);
    return well;
}

static void test_every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(merge_and_patch, NULL, 200) > 10);
}

/* ---- the budget ---- */

/* `whole` is what the patch costs; with any less it fails, and says why. */
static void assert_ends_below(kedge_bytes target, kedge_bytes patch, uint64_t whole)
{
    for (uint64_t cost_max = 0; cost_max <= whole; cost_max++) {
        uint64_t cost = 0;
        kedge_error error = {0};
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_status status =
            patch_text(&kedge_allocator_default, target, patch, cost_max, &cost, &out, &error);
        assert_int_equal(status, cost_max < whole ? KEDGE_LIMIT_EXCEEDED : KEDGE_OK);
        assert_int_equal(error.status, status);
        kedge_buffer_free(&out);
    }
}

static void test_a_patch_fails_with_any_budget_below_its_cost(void **state)
{
    (void)state;
    static const char target[] = "{\"a\":{\"b\":[1,{\"c\":2}]},\"d\":[],\"e\":{\"f\":\"g\"}}";
    static const char *const patches[] = {
        "[{\"op\":\"add\",\"path\":\"/a/b/1/x\",\"value\":[]}]",
        "[{\"op\":\"add\",\"path\":\"/a/b/0\",\"value\":0}]",
        "[{\"op\":\"remove\",\"path\":\"/a/b/1/c\"}]",
        "[{\"op\":\"replace\",\"path\":\"/a/b/0\",\"value\":7}]",
        "[{\"from\":\"/e/f\",\"op\":\"move\",\"path\":\"/d/-\"}]",
        "[{\"from\":\"/a\",\"op\":\"copy\",\"path\":\"/e/f\"}]",
        "[{\"op\":\"test\",\"path\":\"/a/b\",\"value\":[1,{\"c\":2}]}]",
    };
    for (size_t i = 0; i < sizeof patches / sizeof patches[0]; i++) {
        uint64_t whole = 0;
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(patch_text(&kedge_allocator_default, KEDGE_BYTES(target),
                                    kedge_bytes_of(patches[i]), COST_MAX, &whole, &out, NULL),
                         KEDGE_OK);
        kedge_buffer_free(&out);
        assert_ends_below(KEDGE_BYTES(target), kedge_bytes_of(patches[i]), whole);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    merge_path = argv[1];
    patch_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_patches_give_what_rfc_7396_says),
        cmocka_unit_test(test_patches_give_what_rfc_6902_says),
        cmocka_unit_test(test_a_patch_that_doubles_the_document_meets_the_cost_limit),
        cmocka_unit_test(test_a_pointer_deeper_than_any_document_is_refused),
        cmocka_unit_test(test_a_pointer_finds_the_part_of_a_text_that_it_leads_to),
        cmocka_unit_test(test_a_patch_fails_with_any_budget_below_its_cost),
        cmocka_unit_test(test_every_failed_allocation_is_told_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
