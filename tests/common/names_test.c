/* What may stand in the names of organizations, projects, collections, mutators, clients, items. */
#include "common/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FILL_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

typedef struct row {
    kedge_bytes name;
    kedge_status status;
} row;

#define ROW(name, status)                                                                          \
    {                                                                                              \
        {(name), sizeof(name) - 1}, (status)                                                       \
    }

static const row names[] = {
    ROW("a", KEDGE_OK),
    ROW("_", KEDGE_OK),
    ROW("0", KEDGE_OK),
    ROW("Notes.v2-x_Y", KEDGE_OK),
    ROW("__proto__", KEDGE_OK),
    ROW("a..", KEDGE_OK),
    ROW(FILL_64, KEDGE_OK),
    ROW(FILL_64 "a", KEDGE_LIMIT_EXCEEDED),
    ROW("", KEDGE_INVALID_ARGUMENT),
    ROW(".", KEDGE_INVALID_ARGUMENT),
    ROW("..", KEDGE_INVALID_ARGUMENT),
    ROW("-a", KEDGE_INVALID_ARGUMENT),
    ROW("a/b", KEDGE_INVALID_ARGUMENT),
    ROW("a b", KEDGE_INVALID_ARGUMENT),
    ROW("a#b", KEDGE_INVALID_ARGUMENT),
    ROW("a\0", KEDGE_INVALID_ARGUMENT),
    ROW("a\n", KEDGE_INVALID_ARGUMENT),
    ROW("caf\xC3\xA9", KEDGE_INVALID_ARGUMENT),
    ROW("a\xFF", KEDGE_INVALID_ARGUMENT),
    ROW("a@", KEDGE_INVALID_ARGUMENT),
    ROW("a[", KEDGE_INVALID_ARGUMENT),
    ROW("a`", KEDGE_INVALID_ARGUMENT),
    ROW("a{", KEDGE_INVALID_ARGUMENT),
    ROW("a:", KEDGE_INVALID_ARGUMENT),
};

static const row client_ids[] = {
    ROW("a", KEDGE_OK),
    ROW("-", KEDGE_OK),
    ROW("6c1c6d0e-93a5-4bb1-9b5d-7b9b9dd1ef01", KEDGE_OK),
    ROW(FILL_64 FILL_64, KEDGE_OK),
    ROW(FILL_64 FILL_64 "a", KEDGE_LIMIT_EXCEEDED),
    ROW("", KEDGE_INVALID_ARGUMENT),
    ROW("a.b", KEDGE_INVALID_ARGUMENT),
    ROW("a b", KEDGE_INVALID_ARGUMENT),
    ROW("a\0", KEDGE_INVALID_ARGUMENT),
    ROW("\xC3\xA9", KEDGE_INVALID_ARGUMENT),
};

#define FILL_512 FILL_64 FILL_64 FILL_64 FILL_64 FILL_64 FILL_64 FILL_64 FILL_64

static const row item_ids[] = {
    ROW("", KEDGE_OK),
    ROW("a/b c\n#\"", KEDGE_OK),
    ROW("\xF0\x9F\x98\x80", KEDGE_OK),
    ROW(FILL_512, KEDGE_OK),
    ROW(FILL_512 "a", KEDGE_LIMIT_EXCEEDED),
    ROW("a\0b", KEDGE_INVALID_ARGUMENT),
    ROW("\xED\xA0\x80", KEDGE_INVALID_ARGUMENT),
    ROW("abc\xF0\x9F\x98", KEDGE_INVALID_ARGUMENT),
};

static const row resource_ids[] = {
    ROW("a/b c\n#\"", KEDGE_OK),
    ROW("\xF0\x9F\x98\x80", KEDGE_OK),
    ROW(FILL_512, KEDGE_OK),
    ROW(FILL_512 "a", KEDGE_LIMIT_EXCEEDED),
    ROW("", KEDGE_INVALID_ARGUMENT),
    ROW("a\0b", KEDGE_INVALID_ARGUMENT),
    ROW("\xED\xA0\x80", KEDGE_INVALID_ARGUMENT),
};

static void assert_row(const row *expected, kedge_status status, const kedge_error *error)
{
    if (status != expected->status) {
        fail_msg("\"%.*s\": %s", (int)expected->name.size, expected->name.data, error->message);
    }
    assert_int_equal(error->status, status);
    assert_int_equal(error->message[0] == '\0', status == KEDGE_OK);
}

static void test_names_keep_to_their_letters_and_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kedge_error error = {0};
        assert_row(&names[i], kedge_check_name("collection", names[i].name, &error), &error);
    }
}

static void test_client_ids_keep_to_their_letters_and_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof client_ids / sizeof client_ids[0]; i++) {
        kedge_error error = {0};
        assert_row(&client_ids[i], kedge_check_client_id(client_ids[i].name, &error), &error);
    }
}

static void test_item_ids_are_any_short_utf8_without_nul(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof item_ids / sizeof item_ids[0]; i++) {
        kedge_error error = {0};
        assert_row(&item_ids[i], kedge_check_item_id(item_ids[i].name, &error), &error);
    }
    assert_int_equal(kedge_check_item_id(kedge_bytes_of(NULL), NULL), KEDGE_OK);
}

static void test_resource_ids_are_such_utf8_and_not_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof resource_ids / sizeof resource_ids[0]; i++) {
        kedge_error error = {0};
        kedge_status status = kedge_check_resource_id(resource_ids[i].name, &error);
        assert_row(&resource_ids[i], status, &error);
    }
}

static void test_an_error_says_which_name_and_where(void **state)
{
    (void)state;
    kedge_error error = {0};
    kedge_check_name("mutator", KEDGE_BYTES("notes/add"), &error);
    assert_string_equal(error.code, "invalid-name");
    assert_non_null(strstr(error.message, "mutator name \"notes/add\""));
    assert_non_null(strstr(error.message, "0x2f at offset 5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_keep_to_their_letters_and_length),
        cmocka_unit_test(test_client_ids_keep_to_their_letters_and_length),
        cmocka_unit_test(test_item_ids_are_any_short_utf8_without_nul),
        cmocka_unit_test(test_resource_ids_are_such_utf8_and_not_empty),
        cmocka_unit_test(test_an_error_says_which_name_and_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
