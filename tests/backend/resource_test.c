/* Resources: created, read, updated, deleted, restored and rolled back, with every version kept, in
 * transactions and in order. */
#include "tests/backend/resource_world.h"

#include "backend/resource/row.h"
#include "backend/resource/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the operations of the article ---- */

static void test_a_created_resource_is_version_1(void **state)
{
    test_world *world = *state;
    assert_string_equal(resource_text(world, 0), "resource-not-found");
    assert_int_equal(resource_put(world, 0, 0, " { \"b\" : 1.0, \"a\":\"\xC3\xBC\" } "), 1);
    assert_string_equal(resource_text(world, 0), "1:{\"a\":\"\xC3\xBC\",\"b\":1}");
    assert_string_equal(resource_text(world, 1), "1:{\"a\":\"\xC3\xBC\",\"b\":1}");
    assert_string_equal(resource_text(world, 2), "resource-version-not-found");
}

static void test_a_version_says_who_wrote_it_and_when(void **state)
{
    test_world *world = *state;
    kedge_resource read = {0};
    int64_t before = world->environment.now_ms(world->environment.context);
    assert_int_equal(resource_put(world, 'a', 0, "1"), 1);
    assert_int_equal(kedge_resource_read(world->backend, &plan, 0, &read, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal_text(read.user, "ann"));
    assert_string_equal(read.uid, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_true(read.created_ms >= before);
    assert_int_equal(read.restored, 0);
    kedge_resource_free(&read);
}

static void test_an_update_keeps_the_version_before(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "\"a\"");
    assert_int_equal(resource_put(world, 0, 1, "\"b\""), 2);
    assert_int_equal(resource_put(world, 0, 2, "\"c\""), 3);
    assert_string_equal(resource_text(world, 0), "3:\"c\"");
    assert_string_equal(resource_text(world, 1), "1:\"a\"");
    assert_string_equal(resource_text(world, 2), "2:\"b\"");
}

static void test_an_update_of_another_version_is_refused(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    resource_put(world, 0, 1, "2");
    assert_int_equal(resource_put(world, 0, 1, "3"), -KEDGE_CONFLICT);
    assert_string_equal(resource_code(), "resource-conflict");
    assert_non_null(strstr(resource_message(), "is 2, not 1"));
    assert_int_equal(resource_put(world, 0, 0, "3"), -KEDGE_CONFLICT);
    assert_int_equal(resource_put(world, 0, 3, "3"), -KEDGE_CONFLICT);
    assert_string_equal(resource_versions(world, 10), "latest 2: 2:2 1:1");
}

static void test_an_update_of_nothing_is_refused(void **state)
{
    test_world *world = *state;
    assert_int_equal(resource_put(world, 0, 1, "1"), -KEDGE_CONFLICT);
    assert_non_null(strstr(resource_message(), "expects 0"));
    assert_int_equal(resource_delete(world, 1), KEDGE_NOT_FOUND);
    assert_string_equal(resource_code(), "resource-not-found");
    assert_string_equal(resource_versions(world, 10), "resource-not-found");
}

static void test_a_deleted_resource_keeps_its_history(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    resource_put(world, 0, 1, "2");
    assert_int_equal(resource_delete(world, 1), KEDGE_CONFLICT);
    assert_int_equal(resource_delete(world, 2), KEDGE_OK);
    assert_string_equal(resource_text(world, 0), "resource-not-found");
    assert_string_equal(resource_text(world, 1), "1:1");
    assert_string_equal(resource_text(world, 2), "2:2");
    assert_string_equal(resource_text(world, 3), "resource-version-not-found");
    assert_string_equal(resource_versions(world, 10), "latest 0: 2:2 1:1");
}

static void test_a_deletion_may_be_repeated(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    assert_int_equal(resource_delete(world, 1), KEDGE_OK);
    assert_int_equal(resource_delete(world, 1), KEDGE_OK);
    assert_int_equal(resource_delete(world, 2), KEDGE_NOT_FOUND);
}

static void test_what_is_created_again_goes_on_behind_its_history(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "1");
    resource_put(world, 0, 1, "2");
    resource_delete(world, 2);
    assert_int_equal(resource_put(world, 0, 2, "3"), -KEDGE_CONFLICT);
    assert_int_equal(resource_put(world, 0, 0, "3"), 3);
    assert_string_equal(resource_versions(world, 10), "latest 3: 3:3 2:2 1:1");
    assert_int_equal(resource_put(world, 0, 3, "4"), 4);
    assert_int_equal(resource_delete(world, 2), KEDGE_CONFLICT);
    assert_int_equal(resource_delete(world, 4), KEDGE_OK);
    assert_int_equal(resource_put(world, 0, 0, "5"), 5);
    assert_string_equal(resource_versions(world, 2), "latest 5: 5:5 4:4 3:3 2:2 1:1");
}

static void test_a_rollback_makes_a_higher_version(void **state)
{
    test_world *world = *state;
    kedge_resource read = {0};
    resource_put(world, 0, 0, "\"a\"");
    resource_put(world, 0, 1, "\"b\"");
    assert_int_equal(resource_rollback(world, 0, 2, 1), 3);
    assert_string_equal(resource_versions(world, 10), "latest 3: 3:\"a\" 2:\"b\" 1:\"a\"");
    assert_int_equal(kedge_resource_read(world->backend, &plan, 3, &read, NULL), KEDGE_OK);
    assert_int_equal(read.restored, 1);
    kedge_resource_free(&read);
    assert_int_equal(resource_rollback(world, 0, 2, 1), -KEDGE_CONFLICT);
    assert_int_equal(resource_rollback(world, 0, 3, 4), -KEDGE_NOT_FOUND);
    assert_string_equal(resource_code(), "resource-version-not-found");
    /* One to the latest version is a version, too. */
    assert_int_equal(resource_rollback(world, 0, 3, 3), 4);
}

static void test_a_deleted_resource_is_restored_by_a_rollback(void **state)
{
    test_world *world = *state;
    resource_put(world, 0, 0, "\"a\"");
    resource_put(world, 0, 1, "\"b\"");
    resource_delete(world, 2);
    assert_int_equal(resource_rollback(world, 0, 2, 1), -KEDGE_CONFLICT);
    assert_int_equal(resource_rollback(world, 0, 0, 1), 3);
    assert_string_equal(resource_versions(world, 10), "latest 3: 3:\"a\" 2:\"b\" 1:\"a\"");
}

/* ---- repeated writes ---- */

static void test_a_write_that_comes_again_is_not_applied_twice(void **state)
{
    test_world *world = *state;
    assert_int_equal(resource_put(world, 'a', 0, "1"), 1);
    assert_int_equal(resource_put(world, 'a', 0, "1"), 1);
    assert_int_equal(resource_put(world, 'b', 1, "2"), 2);
    assert_int_equal(resource_put(world, 'b', 1, "2"), 2);
    assert_int_equal(resource_rollback(world, 'c', 2, 1), 3);
    assert_int_equal(resource_rollback(world, 'c', 2, 1), 3);
    /* … also when another version came meanwhile, … */
    assert_int_equal(resource_put(world, 'b', 1, "2"), 2);
    assert_string_equal(resource_versions(world, 10), "latest 3: 3:1 2:2 1:1");
    /* … or the resource was deleted. */
    resource_delete(world, 3);
    assert_int_equal(resource_rollback(world, 'c', 2, 1), 3);
    assert_int_equal(resource_put(world, 'd', 0, "4"), 4);
    resource_delete(world, 4);
    assert_int_equal(resource_put(world, 'd', 0, "4"), 4);
    assert_string_equal(resource_versions(world, 10), "latest 0: 4:4 3:1 2:2 1:1");
}

static void test_a_repeated_write_of_another_uid_is_a_conflict(void **state)
{
    test_world *world = *state;
    assert_int_equal(resource_put(world, 'a', 0, "1"), 1);
    assert_int_equal(resource_put(world, 'b', 0, "1"), -KEDGE_CONFLICT);
    assert_int_equal(resource_put(world, 0, 0, "1"), -KEDGE_CONFLICT);
}

/* ---- lists ---- */

static void test_versions_are_listed_in_pages(void **state)
{
    test_world *world = *state;
    for (int i = 0; i < 7; i++) {
        char value[8];
        snprintf(value, sizeof value, "%d", i + 1);
        assert_int_equal(resource_put(world, 0, i, value), i + 1);
    }
    const char *all = "latest 7: 7:7 6:6 5:5 4:4 3:3 2:2 1:1";
    for (uint32_t limit = 1; limit < 9; limit++)
        assert_string_equal(resource_versions(world, limit), all);
    resource_delete(world, 7);
    for (uint32_t limit = 1; limit < 9; limit++)
        assert_string_equal(resource_versions(world, limit),
                            "latest 0: 7:7 6:6 5:5 4:4 3:3 2:2 1:1");
}

static void test_versions_larger_than_a_page_of_the_store_are_listed(void **state)
{
    test_world *world = *state;
    char *value = malloc(KEDGE_LIMIT_RESOURCE_BYTES + 1);
    assert_non_null(value);
    memset(value, '1', KEDGE_LIMIT_RESOURCE_BYTES);
    value[0] = value[KEDGE_LIMIT_RESOURCE_BYTES - 1] = '"';
    value[KEDGE_LIMIT_RESOURCE_BYTES] = '\0';
    for (int i = 0; i < 6; i++)
        assert_int_equal(resource_put(world, 0, i, value), i + 1);
    free(value);
    resource_check(world);
}

typedef struct ids {
    char text[1024];
    size_t size;
} ids;

static kedge_status add_id(void *context, kedge_bytes id, const kedge_resource *resource,
                           kedge_error *error)
{
    ids *list = context;
    (void)error;
    list->size +=
        (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, "%.*s:%lld ",
                         (int)id.size, id.data, (long long)resource->version);
    return KEDGE_OK;
}

static int64_t put_id(test_world *world, const char *organization, const char *kind, const char *id,
                      int64_t expected)
{
    int64_t version = 0;
    kedge_error error = {0};
    kedge_resource_ref ref = {kedge_bytes_of(organization), kedge_bytes_of(kind),
                              kedge_bytes_of(id)};
    kedge_resource_edit edit = {.expected = expected, .user = ""};
    kedge_status status =
        kedge_resource_put(world->backend, &ref, &edit, KEDGE_BYTES("1"), &version, &error);
    if (status != KEDGE_OK) fail_msg("%s", error.message);
    return version;
}

static void assert_list(test_world *world, uint32_t limit, const char *after, const char *expected,
                        bool expected_more)
{
    ids list = {.size = 0};
    bool more = !expected_more;
    kedge_resource_ref ref = {.organization = KEDGE_BYTES("acme"), .kind = KEDGE_BYTES("k")};
    kedge_resource_page page = {add_id, &list, limit};
    assert_int_equal(
        kedge_resource_list(world->backend, &ref, kedge_bytes_of(after), &page, &more, NULL),
        KEDGE_OK);
    assert_string_equal(list.text, expected);
    assert_int_equal(more, expected_more);
}

static void test_the_resources_of_a_kind_are_listed_by_id(void **state)
{
    test_world *world = *state;
    assert_list(world, 10, "", "", false);
    put_id(world, "acme", "k", "b", 0);
    put_id(world, "acme", "k", "a/x", 0);
    put_id(world, "acme", "k", "c", 0);
    put_id(world, "acme", "k", "c", 1);
    put_id(world, "acme", "k", "d", 0);
    put_id(world, "acme", "kk", "e", 0);
    put_id(world, "acm", "k", "f", 0);
    put_id(world, "acmek", "k", "g", 0);
    assert_list(world, 10, "", "a/x:1 b:1 c:2 d:1 ", false);
    assert_list(world, 4, "", "a/x:1 b:1 c:2 d:1 ", false);
    assert_list(world, 3, "", "a/x:1 b:1 c:2 ", true);
    assert_list(world, 3, "c", "d:1 ", false);
    kedge_resource_ref gone = {KEDGE_BYTES("acme"), KEDGE_BYTES("k"), KEDGE_BYTES("c")};
    assert_int_equal(kedge_resource_delete(world->backend, &gone, 2, NULL), KEDGE_OK);
    assert_list(world, 2, "", "a/x:1 b:1 ", true);
    assert_list(world, 10, "a/x", "b:1 d:1 ", false);
}

static void test_resources_of_other_organizations_kinds_and_ids_are_others(void **state)
{
    test_world *world = *state;
    assert_int_equal(put_id(world, "acme", "k", "a", 0), 1);
    assert_int_equal(put_id(world, "acme", "k", "a", 1), 2);
    assert_int_equal(put_id(world, "acme2", "k", "a", 0), 1);
    assert_int_equal(put_id(world, "acme", "k2", "a", 0), 1);
    assert_int_equal(put_id(world, "acme", "k", "a/000000000001", 0), 1);
    assert_int_equal(put_id(world, "acme", "k", "A", 0), 1);
}

/* ---- bad input ---- */

static void assert_refused(test_world *world, kedge_resource_ref ref, kedge_resource_edit edit,
                           kedge_bytes value, kedge_status status, const char *code)
{
    int64_t version = -1;
    kedge_error error = {0};
    world_arm(world, WORLD_FAULT_NONE, 0, false, false);
    assert_int_equal(kedge_resource_put(world->backend, &ref, &edit, value, &version, &error),
                     status);
    assert_string_equal(error.code, code);
    assert_int_equal(version, -1);
    assert_int_equal(atomic_load(&world->calls), 0); /* nothing was asked of the store */
}

static void test_wrong_names_values_and_uids_are_refused(void **state)
{
    test_world *world = *state;
    kedge_resource_edit fine = {.expected = 0, .user = "ann"};
    kedge_resource_edit edit = fine;
    kedge_resource_ref ref = plan;
    ref.kind = KEDGE_BYTES("a/b");
    assert_refused(world, ref, fine, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT, "invalid-name");
    ref = plan;
    ref.organization = KEDGE_BYTES("");
    assert_refused(world, ref, fine, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT, "invalid-name");
    ref = plan;
    ref.id = KEDGE_BYTES("");
    assert_refused(world, ref, fine, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT,
                   "invalid-resource-id");
    assert_refused(world, plan, fine, KEDGE_BYTES("{\"a\":1,\"a\":2}"), KEDGE_INVALID_JSON,
                   "json-duplicate-member");
    assert_refused(world, plan, fine, KEDGE_BYTES(""), KEDGE_INVALID_JSON, "json-syntax");
    edit.uid = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    assert_refused(world, plan, edit, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT,
                   "resource-uid-invalid");
    edit = fine;
    edit.expected = -1;
    assert_refused(world, plan, edit, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT,
                   "resource-version-invalid");
    char user[KEDGE_USER_BYTES_MAX + 2];
    memset(user, 'u', sizeof user - 1);
    user[sizeof user - 1] = '\0';
    edit = (kedge_resource_edit){.user = user};
    assert_refused(world, plan, edit, KEDGE_BYTES("1"), KEDGE_INVALID_ARGUMENT, "user-too-long");
}

static void test_a_value_may_have_256_kib_and_no_more(void **state)
{
    test_world *world = *state;
    size_t size = KEDGE_LIMIT_RESOURCE_BYTES;
    char *value = malloc(size + 2);
    char user[KEDGE_USER_BYTES_MAX + 1];
    char id[KEDGE_LIMIT_RESOURCE_ID_BYTES];
    int64_t version = 0;
    assert_non_null(value);
    memset(value, 'x', size + 1);
    memset(id, 'i', sizeof id);
    memset(user, 'u', sizeof user - 1);
    user[sizeof user - 1] = '\0';
    value[0] = value[size] = '"';
    kedge_resource_edit edit = {.expected = 0, .user = user};
    kedge_resource_ref ref = plan;
    ref.id = (kedge_bytes){id, sizeof id};
    assert_refused(world, plan, edit, (kedge_bytes){value, size + 1}, KEDGE_LIMIT_EXCEEDED,
                   "resource-too-large");
    value[size - 1] = '"';
    assert_int_equal(
        kedge_resource_put(world->backend, &ref, &edit, (kedge_bytes){value, size}, &version, NULL),
        KEDGE_OK);
    free(value);
}

static void assert_kind(const char *kind, const char *value, const char *code)
{
    kedge_error error = {0};
    kedge_resource_check_kind(kedge_bytes_of(kind), kedge_bytes_of(value), &error);
    assert_string_equal(error.code, code);
}

static void test_settings_and_access_lists_have_their_shapes(void **state)
{
    (void)state;
    assert_kind("settings", "{\"theme\":\"dark\"}", "");
    assert_kind("settings", "[]", "settings-invalid");
    assert_kind("plan", "[]", "");
    assert_kind("access", "{\"users\":{}}", "");
    assert_kind("access", "{\"users\":{\"ann\":\"writer\",\"bob\":\"\"}}", "");
    static const char *const wrong[] = {"1",
                                        "{}",
                                        "{\"users\":[]}",
                                        "{\"users\":{\"\":\"a\"}}",
                                        "{\"users\":{\"ann\":1}}",
                                        "{\"users\":{\"ann\":\"admin\"}}",
                                        "{\"users\":{},\"more\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_kind("access", wrong[i], "access-list-invalid");
}

/* ---- damage ---- */

static void change_record(test_world *world, const kedge_record_key *key, const char *name,
                          kedge_bytes text)
{
    kedge_record_set set = {0};
    kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES];
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->get(records->self, key, true, &set, NULL), KEDGE_OK);
    size_t count = 0;
    for (size_t i = 0; i < set.records[0].attribute_count; i++) {
        attributes[count] = set.records[0].attributes[i];
        if (strcmp(attributes[count].name, name) == 0) {
            if (text.data == NULL) continue;
            attributes[count].bytes = text;
        }
        count++;
    }
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = {*key, attributes, count}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    kedge_record_set_free(&set);
}

static void test_a_damaged_version_is_named_and_the_others_are_readable(void **state)
{
    test_world *world = *state;
    static const char *const members[] = {"version", "created", "uid", "user", "value"};
    kedge_resource_key key;
    for (int i = 0; i < 7; i++)
        resource_put(world, 0, i, "1");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        kedge_resource_key_history(&plan, (int64_t)i + 1, &key);
        change_record(world, &key.key, members[i], (kedge_bytes){NULL, 0});
        assert_string_equal(resource_text(world, (int64_t)i + 1), "resource-damaged");
        char named[32];
        snprintf(named, sizeof named, "version %zu of", i + 1);
        assert_non_null(strstr(resource_message(), named));
    }
    kedge_resource_key_history(&plan, 6, &key);
    change_record(world, &key.key, "value", KEDGE_BYTES("{"));
    assert_string_equal(resource_text(world, 6), "resource-damaged");
    assert_string_equal(resource_text(world, 7), "7:1");
    assert_string_equal(resource_versions(world, 10), "resource-damaged");
}

static void test_a_missing_version_is_named(void **state)
{
    test_world *world = *state;
    const kedge_records *records = &world->store_records;
    kedge_resource_key key;
    for (int i = 0; i < 4; i++)
        resource_put(world, 0, i, "1");
    kedge_resource_key_history(&plan, 2, &key);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = key.key}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    assert_string_equal(resource_text(world, 2), "resource-damaged");
    assert_non_null(strstr(resource_message(), "version 2 of the resource plan/p 1/\xC3\xBC"));
    assert_string_equal(resource_text(world, 3), "3:1");
    assert_string_equal(resource_versions(world, 10), "resource-damaged");
    assert_int_equal(resource_put(world, 0, 4, "5"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH_WAYS(test_a_created_resource_is_version_1),
        IN_BOTH_WAYS(test_a_version_says_who_wrote_it_and_when),
        IN_BOTH_WAYS(test_an_update_keeps_the_version_before),
        IN_BOTH_WAYS(test_an_update_of_another_version_is_refused),
        IN_BOTH_WAYS(test_an_update_of_nothing_is_refused),
        IN_BOTH_WAYS(test_a_deleted_resource_keeps_its_history),
        IN_BOTH_WAYS(test_a_deletion_may_be_repeated),
        IN_BOTH_WAYS(test_what_is_created_again_goes_on_behind_its_history),
        IN_BOTH_WAYS(test_a_rollback_makes_a_higher_version),
        IN_BOTH_WAYS(test_a_deleted_resource_is_restored_by_a_rollback),
        IN_BOTH_WAYS(test_a_write_that_comes_again_is_not_applied_twice),
        IN_BOTH_WAYS(test_a_repeated_write_of_another_uid_is_a_conflict),
        IN_BOTH_WAYS(test_versions_are_listed_in_pages),
        IN_BOTH_WAYS(test_versions_larger_than_a_page_of_the_store_are_listed),
        IN_BOTH_WAYS(test_the_resources_of_a_kind_are_listed_by_id),
        IN_BOTH_WAYS(test_resources_of_other_organizations_kinds_and_ids_are_others),
        IN_BOTH_WAYS(test_wrong_names_values_and_uids_are_refused),
        IN_BOTH_WAYS(test_a_value_may_have_256_kib_and_no_more),
        IN_BOTH_WAYS(test_a_damaged_version_is_named_and_the_others_are_readable),
        IN_BOTH_WAYS(test_a_missing_version_is_named),
        cmocka_unit_test(test_settings_and_access_lists_have_their_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
