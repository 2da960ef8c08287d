/* Mutators with cJSON: what they read, change and write, and what is refused. */
#include <kedge/cjson.h>

#include "tests/mutate/tx_fixture.h"
#include "tests/support/failing_allocator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the mutators of this test ---- */

/* The example of the header. */
static kedge_status rename_note(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *note;
    const char *title = kedge_member_text(args, "title");
    kedge_status status =
        kedge_tx_edit_json(tx, "notes", kedge_member_text(args, "id"), &note, error);
    return status == KEDGE_OK ? kedge_member_set_text(note, "title", title, error) : status;
}

/* Edits the note twice, another one, and an item of another collection with the note's id; then
 * refuses when `refuse` is true. */
static kedge_status edit_all(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *a, *again, *b, *other;
    bool refuse = false;
    kedge_status status = kedge_member_boolean(args, "refuse", &refuse, error);
    if (status == KEDGE_OK) status = kedge_tx_edit_json(tx, "notes", "a", &a, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(a, "n", 1.5, error);
    if (status == KEDGE_OK) status = kedge_tx_edit_json(tx, "notes", "a", &again, error);
    if (status == KEDGE_OK) assert_ptr_equal(a, again);
    if (status == KEDGE_OK) status = kedge_member_set_boolean(again, "done", true, error);
    if (status == KEDGE_OK) status = kedge_tx_edit_json(tx, "notes", "b", &b, error);
    if (status == KEDGE_OK) status = kedge_member_set(b, "list", cJSON_CreateArray(), error);
    if (status == KEDGE_OK) status = kedge_tx_edit_json(tx, "others", "a", &other, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(other, "n", 2, error);
    if (status == KEDGE_OK && refuse) return kedge_tx_reject(tx, "refused", "so be it", error);
    return status;
}

/* Calls what "call" names, with the other args. */
static kedge_status call(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    const char *name = kedge_member_text(args, "call"), *id = kedge_member_text(args, "id");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(args, "value");
    if (strcmp(name, "put") == 0) return kedge_tx_put_json(tx, "notes", id, value, error);
    if (strcmp(name, "merge") == 0) return kedge_tx_merge_json(tx, "notes", id, value, error);
    if (strcmp(name, "patch") == 0) return kedge_tx_patch_json(tx, "notes", id, value, error);
    if (strcmp(name, "copy") != 0) return kedge_tx_call_json(tx, name, value, error);
    cJSON *read;
    kedge_status status = kedge_tx_get_json(tx, "notes", id, &read, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_put_json(tx, "notes", "copy", read, error);
    cJSON_Delete(read);
    return status;
}

/* Edits an item, and writes it or another one as "call" says. */
static kedge_status edit_and_call(kedge_tx *tx, const cJSON *args, void *userdata,
                                  kedge_error *error)
{
    cJSON *note;
    const char *name = kedge_member_text(args, "call"), *id = kedge_member_text(args, "id");
    kedge_status status = kedge_tx_edit_json(tx, "notes", "a", &note, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(note, "n", 1, error);
    if (status != KEDGE_OK) return status;
    return strcmp(name, "delete") == 0 ? kedge_tx_delete(tx, "notes", id, strlen(id), error)
                                       : call(tx, args, userdata, error);
}

/* Puts a tree that is no JSON, or merges with it. */
static kedge_status put_wrong(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *value = cJSON_CreateObject();
    const char *wrong = kedge_member_text(args, "wrong");
    if (strcmp(wrong, "text") == 0) {
        cJSON_AddStringToObject(value, "a", "\xff");
    } else if (strcmp(wrong, "key") == 0) {
        cJSON_AddNullToObject(value, "\xff");
    } else if (strcmp(wrong, "raw") == 0) {
        cJSON_AddRawToObject(value, "a", "1");
    } else if (strcmp(wrong, "deep") == 0) {
        cJSON *at = value;
        for (int i = 0; i < 64; i++)
            at = cJSON_AddObjectToObject(at, "a");
    } else if (strcmp(wrong, "deep lists") == 0) {
        cJSON *at = cJSON_AddArrayToObject(value, "a");
        for (int i = 0; i < 64; i++) {
            cJSON_AddItemToArray(at, cJSON_CreateArray());
            at = at->child;
        }
    } else if (strcmp(wrong, "infinite") == 0) {
        cJSON *list = cJSON_AddArrayToObject(value, "list");
        cJSON_AddItemToArray(list, cJSON_CreateNumber(INFINITY));
    } else {
        cJSON_AddNullToObject(value, "a");
        cJSON_AddNullToObject(value, "a");
    }
    kedge_status status = kedge_member_text(args, "merge") == NULL
                              ? kedge_tx_put_json(tx, "notes", "wrong", value, error)
                              : kedge_tx_merge_json(tx, "notes", "wrong", value, error);
    cJSON_Delete(value);
    return status;
}

/* Asks for no error, and returns the status of the call that failed. */
static kedge_status put_silently(kedge_tx *tx, const cJSON *args, void *userdata,
                                 kedge_error *error)
{
    (void)userdata, (void)error;
    return kedge_tx_put_json(tx, "notes", NULL, args, NULL);
}

/* Reads three members of the types that they should have. */
static kedge_status members(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    int64_t integer = 0;
    double number = 0;
    bool boolean = false;
    kedge_status status = kedge_member_integer(args, "integer", &integer, error);
    if (status == KEDGE_OK) status = kedge_member_number(args, "number", &number, error);
    if (status == KEDGE_OK) status = kedge_member_boolean(args, "boolean", &boolean, error);
    if (status != KEDGE_OK) return status;
    cJSON *seen = cJSON_CreateObject();
    status = kedge_member_set_number(seen, "integer", (double)integer, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(seen, "number", number, error);
    if (status == KEDGE_OK) status = kedge_member_set_boolean(seen, "boolean", boolean, error);
    if (status == KEDGE_OK) status = kedge_tx_put_json(tx, "notes", "seen", seen, error);
    cJSON_Delete(seen);
    return status;
}

/* Of text, not of cJSON. */
static kedge_status edit_outside(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)args;
    (void)args_size;
    (void)userdata;
    cJSON *value;
    return kedge_tx_edit_json(tx, "notes", "a", &value, error);
}

static const kedge_mutator mutators[] = {
    KEDGE_JSON_MUTATOR("rename", 1, rename_note),
    KEDGE_JSON_MUTATOR("edit-all", 1, edit_all),
    KEDGE_JSON_MUTATOR("call", 1, call),
    KEDGE_JSON_MUTATOR("edit-and-call", 1, edit_and_call),
    KEDGE_JSON_MUTATOR("put-wrong", 1, put_wrong),
    KEDGE_JSON_MUTATOR("members", 1, members),
    {"edit-outside", 1, edit_outside, NULL},
    KEDGE_JSON_MUTATOR("put-silently", 1, put_silently),
};

/* ---- the fixture ---- */

static void applies(tx_fixture *fixture, const char *name, const char *args)
{
    kedge_status status = tx_fixture_run(fixture, name, args);
    if (status != KEDGE_OK) print_error("%s %s: %s\n", name, args, fixture->error.message);
    assert_int_equal(status, KEDGE_OK);
}

static void refuses(tx_fixture *fixture, const char *name, const char *args, const char *code)
{
    size_t count = kedge_overlay_count(fixture->overlay);
    assert_int_equal(tx_fixture_run(fixture, name, args), KEDGE_REJECTED);
    assert_string_equal(fixture->error.code, code);
    assert_int_equal(kedge_overlay_count(fixture->overlay), count);
}

static void expect(tx_fixture *fixture, const char *id, const char *value)
{
    assert_string_equal(tx_fixture_item(fixture, "notes", id), value);
}

static void fill(tx_fixture *fixture)
{
    applies(fixture, "kedge.put",
            "{\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"kept\":[1],\"title\":\"old\"}}");
    applies(fixture, "kedge.put", "{\"collection\":\"notes\",\"id\":\"b\",\"value\":{}}");
    applies(fixture, "kedge.put", "{\"collection\":\"others\",\"id\":\"a\",\"value\":{}}");
}

static int setup(void **state)
{
    if (tx_fixture_set_up_with(state, mutators, sizeof mutators / sizeof *mutators) != 0) return 1;
    fill(*state);
    return 0;
}

/* ---- */

static void test_an_edit_changes_a_member_and_keeps_the_others(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "rename", "{\"id\":\"a\",\"title\":\"new\"}");
    expect(fixture, "a", "{\"kept\":[1],\"title\":\"new\"}");
    applies(fixture, "rename", "{\"id\":\"b\",\"title\":\"\"}");
    expect(fixture, "b", "{\"title\":\"\"}");
}

static void test_an_edit_of_what_is_missing_or_no_text_is_rejected_with_its_name(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "rename", "{\"id\":\"c\",\"title\":\"new\"}", "item-not-found");
    refuses(fixture, "rename", "{\"title\":\"new\"}", "args-invalid");
    refuses(fixture, "rename", "{\"id\":\"a\"}", "args-invalid");
    assert_string_equal(fixture->error.message, "\"title\" must be a string");
    refuses(fixture, "rename", "null", "args-invalid");
    applies(fixture, "kedge.put", "{\"collection\":\"notes\",\"id\":\"b\",\"value\":[]}");
    refuses(fixture, "rename", "{\"id\":\"b\",\"title\":\"new\"}", "item-not-object");
}

static void test_all_edits_are_written_at_the_end_or_none(void **state)
{
    tx_fixture *fixture = *state;
    refuses(fixture, "edit-all", "{\"refuse\":true}", "refused");
    expect(fixture, "a", "{\"kept\":[1],\"title\":\"old\"}");
    applies(fixture, "edit-all", "{\"refuse\":false}");
    expect(fixture, "a", "{\"done\":true,\"kept\":[1],\"n\":1.5,\"title\":\"old\"}");
    expect(fixture, "b", "{\"list\":[]}");
    assert_string_equal(tx_fixture_item(fixture, "others", "a"), "{\"n\":2}");
}

/* The tree, which is written at the end, would undo what another call writes. */
static void test_an_item_that_is_edited_is_written_by_no_other_call(void **state)
{
    tx_fixture *fixture = *state;
    static const char *const others[] = {
        "{\"call\":\"put\",\"id\":\"a\",\"value\":{}}",
        "{\"call\":\"delete\",\"id\":\"a\"}",
        "{\"call\":\"merge\",\"id\":\"a\",\"value\":{\"x\":1}}",
        "{\"call\":\"patch\",\"id\":\"a\",\"value\":[{\"op\":\"add\",\"path\":\"/"
        "x\",\"value\":1}]}",
        "{\"call\":\"kedge.increment\",\"value\":{\"collection\":\"notes\",\"id\":\"a\",\"add\":{"
        "\"x\":1}}}",
        "{\"call\":\"kedge.delete\",\"value\":{\"collection\":\"notes\",\"id\":\"a\"}}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        refuses(fixture, "edit-and-call", others[i], "item-edited");
        expect(fixture, "a", "{\"kept\":[1],\"title\":\"old\"}");
    }
    applies(fixture, "edit-and-call", "{\"call\":\"put\",\"id\":\"b\",\"value\":{\"x\":1}}");
    applies(fixture, "edit-and-call", "{\"call\":\"delete\",\"id\":\"aa\"}");
    expect(fixture, "a", "{\"kept\":[1],\"n\":1,\"title\":\"old\"}");
    expect(fixture, "b", "{\"x\":1}");
}

static void test_only_a_mutator_with_cjson_edits(void **state)
{
    refuses(*state, "edit-outside", "null", "edit-outside");
}

static void test_items_are_read_written_merged_and_patched(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "call", "{\"call\":\"put\",\"id\":\"c\",\"value\":[1,{\"a\":null}]}");
    expect(fixture, "c", "[1,{\"a\":null}]");
    applies(fixture, "call", "{\"call\":\"copy\",\"id\":\"c\"}");
    expect(fixture, "copy", "[1,{\"a\":null}]");
    applies(fixture, "call", "{\"call\":\"merge\",\"id\":\"a\",\"value\":{\"kept\":null,\"x\":1}}");
    expect(fixture, "a", "{\"title\":\"old\",\"x\":1}");
    applies(fixture, "call", "{\"call\":\"merge\",\"id\":\"made\",\"value\":{\"x\":1}}");
    expect(fixture, "made", "{\"x\":1}");
    applies(fixture, "call",
            "{\"call\":\"patch\",\"id\":\"a\",\"value\":[{\"op\":\"remove\",\"path\":\"/x\"}]}");
    expect(fixture, "a", "{\"title\":\"old\"}");
    applies(fixture, "call", "{\"call\":\"kedge.noop\",\"value\":null}");
    applies(fixture, "call",
            "{\"call\":\"kedge.delete\",\"value\":{\"collection\":\"notes\",\"id\":\"a\"}}");
    assert_null(tx_fixture_item(fixture, "notes", "a"));
}

static void test_what_a_call_is_not_given_is_refused(void **state)
{
    static const struct {
        const char *args, *code;
    } cases[] = {
        {"{\"call\":\"put\",\"value\":1}", "args-invalid"},
        {"{\"call\":\"put\",\"id\":\"a\"}", "args-invalid"},
        {"{\"call\":\"copy\"}", "args-invalid"},
        {"{\"call\":\"copy\",\"id\":\"none\"}", "item-not-found"},
        {"{\"call\":\"merge\",\"value\":1}", "args-invalid"},
        {"{\"call\":\"merge\",\"id\":\"a\"}", "args-invalid"},
        {"{\"call\":\"patch\",\"id\":\"a\",\"value\":1}", "args-invalid"},
        {"{\"call\":\"kedge.put\"}", "args-invalid"},
        {"{\"call\":\"kedge.put\",\"value\":{}}", "args-invalid"},
        {"{\"call\":\"rename\",\"value\":{}}", "mutator-unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(*state, "call", cases[i].args, cases[i].code);
}

static void test_a_call_that_is_given_no_error_is_refused_with_its_reason(void **state)
{
    refuses(*state, "put-silently", "1", "args-invalid");
}

static void test_a_tree_that_is_no_json_is_not_written(void **state)
{
    tx_fixture *fixture = *state;
    static const char *const wrong[] = {"infinite", "text", "key", "raw", "deep", "deep lists"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"wrong\":\"%s\"}", wrong[i]);
        refuses(fixture, "put-wrong", args, "json-invalid");
        snprintf(args, sizeof args, "{\"wrong\":\"%s\",\"merge\":\"\"}", wrong[i]);
        refuses(fixture, "put-wrong", args, "json-invalid");
    }
    assert_int_equal(tx_fixture_run(fixture, "put-wrong", "{\"wrong\":\"twice\"}"), KEDGE_REJECTED);
    refuses(fixture, "put-wrong", "{\"wrong\":\"twice\",\"merge\":\"\"}", "args-invalid");
    assert_null(tx_fixture_item(fixture, "notes", "wrong"));
}

static void test_members_have_the_type_that_is_asked_for(void **state)
{
    tx_fixture *fixture = *state;
    applies(fixture, "members", "{\"integer\":-9007199254740991,\"number\":0.5,\"boolean\":true}");
    expect(fixture, "seen", "{\"boolean\":true,\"integer\":-9007199254740991,\"number\":0.5}");
    refuses(fixture, "members", "{\"integer\":0.5,\"number\":1,\"boolean\":true}", "args-invalid");
    refuses(fixture, "members", "{\"integer\":1e300,\"number\":1,\"boolean\":true}",
            "args-invalid");
    refuses(fixture, "members", "{\"integer\":\"1\",\"number\":1,\"boolean\":true}",
            "args-invalid");
    refuses(fixture, "members", "{\"integer\":1,\"boolean\":true}", "args-invalid");
    assert_string_equal(fixture->error.message, "\"number\" must be a number");
    refuses(fixture, "members", "{\"integer\":1,\"number\":1,\"boolean\":1}", "args-invalid");
}

/* ---- memory ---- */

static int allocations_left = -1; /* negative: any number */

static void *allocate_some(size_t size)
{
    if (allocations_left == 0) return NULL;
    if (allocations_left > 0) allocations_left--;
    return malloc(size);
}

/* How many runs with ever more memory it takes until one succeeds. In none is a mutation rejected
 * for want of memory. */
static int run_with_more_and_more(tx_fixture *fixture, const char *name, const char *args)
{
    int runs = 0;
    kedge_status status;
    do {
        allocations_left = runs++;
        status = tx_fixture_run(fixture, name, args);
        allocations_left = -1;
        if (status != KEDGE_OK) assert_int_equal(status, KEDGE_NO_MEMORY);
    } while (status != KEDGE_OK && runs < 1000);
    return runs;
}

static const char *const hungry[][2] = {
    {"rename", "{\"id\":\"a\",\"title\":\"new\"}"},
    {"edit-all", "{\"refuse\":false}"},
    {"call", "{\"call\":\"merge\",\"id\":\"a\",\"value\":{\"x\":1}}"},
    {"call", "{\"call\":\"copy\",\"id\":\"a\"}"},
};
#define HUNGRY        (sizeof hungry / sizeof hungry[0])
#define HUNGRY_RESULT "{\"done\":true,\"kept\":[1],\"n\":1.5,\"title\":\"new\",\"x\":1}"

static void test_a_mutation_is_not_rejected_for_want_of_memory(void **state)
{
    tx_fixture *fixture = *state;
    cJSON_Hooks hooks = {allocate_some, free};
    cJSON_InitHooks(&hooks);
    for (size_t i = 0; i < HUNGRY; i++)
        assert_in_range(run_with_more_and_more(fixture, hungry[i][0], hungry[i][1]), 5, 999);
    cJSON_InitHooks(NULL);
    expect(fixture, "copy", HUNGRY_RESULT);
}

/* The same with the memory that Kedge takes, not cJSON. */
static bool run_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    tx_fixture fixture;
    kedge_status status = KEDGE_NO_MEMORY;
    static const char *const items[] = {
        "{\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"kept\":[1],\"title\":\"old\"}}",
        "{\"collection\":\"notes\",\"id\":\"b\",\"value\":{}}",
        "{\"collection\":\"others\",\"id\":\"a\",\"value\":{}}"};
    if (tx_fixture_open(&fixture, allocator, mutators, sizeof mutators / sizeof *mutators)) {
        status = KEDGE_OK;
        for (size_t i = 0; i < sizeof items / sizeof *items && status == KEDGE_OK; i++)
            status = tx_fixture_run(&fixture, "kedge.put", items[i]);
        for (size_t i = 0; i < HUNGRY && status == KEDGE_OK; i++)
            status = tx_fixture_run(&fixture, hungry[i][0], hungry[i][1]);
        assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
        if (status == KEDGE_OK) expect(&fixture, "copy", HUNGRY_RESULT);
    }
    tx_fixture_close(&fixture);
    return status == KEDGE_OK;
}

static void test_an_allocation_of_kedge_that_fails_decides_nothing(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(run_with, NULL, 300) > 30);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tx_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_edit_changes_a_member_and_keeps_the_others),
        TEST(test_an_edit_of_what_is_missing_or_no_text_is_rejected_with_its_name),
        TEST(test_all_edits_are_written_at_the_end_or_none),
        TEST(test_an_item_that_is_edited_is_written_by_no_other_call),
        TEST(test_only_a_mutator_with_cjson_edits),
        TEST(test_items_are_read_written_merged_and_patched),
        TEST(test_what_a_call_is_not_given_is_refused),
        TEST(test_a_call_that_is_given_no_error_is_refused_with_its_reason),
        TEST(test_a_tree_that_is_no_json_is_not_written),
        TEST(test_members_have_the_type_that_is_asked_for),
        TEST(test_a_mutation_is_not_rejected_for_want_of_memory),
        cmocka_unit_test(test_an_allocation_of_kedge_that_fails_decides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
