/* Items of DynamoDB as records: all that the port writes comes back, anything else is named, and no
 * damage to a response makes more than an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/aws/dynamodb_internal.h"
#include "tests/aws/damage.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_status read_item(const char *text, size_t size, kedge_record_page *page,
                              kedge_error *error)
{
    kedge_bytes json = {text, size};
    kedge_status status =
        kedge_json_check(json, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, error);
    if (status != KEDGE_OK) return status;
    return kedge_dynamodb_read_item(json, page, error);
}

static void test_what_is_written_comes_back(void **state)
{
    (void)state;
    static const char every[] = "\x01\x02\t\n\r\x1f \"\\/<>&'\x7f\xc2\x80\xe2\x80\xa8\xef\xbf\xbf"
                                "\xf0\x9f\x98\x80";
    char binary[256];
    for (size_t i = 0; i < sizeof binary; i++)
        binary[i] = (char)(unsigned char)i;
    const kedge_attribute attributes[] = {
        {"text", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES(every), 0},
        {"empty", KEDGE_ATTRIBUTE_TEXT, {"", 0}, 0},
        {"binary", KEDGE_ATTRIBUTE_BINARY, {binary, sizeof binary}, 0},
        {"none", KEDGE_ATTRIBUTE_BINARY, {NULL, 0}, 0},
        {"least", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, INT64_MIN},
        {"most", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, INT64_MAX},
        {"\"#:.[0] \xf0\x9f\x98\x80", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, -1},
    };
    const size_t count = sizeof attributes / sizeof attributes[0];
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("p\"\n"), KEDGE_BYTES("s\x01")}, attributes, count}};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_dynamodb_write_members(&writer, "t", &write);
    kedge_json_end_object(&writer);
    kedge_bytes item;
    assert_true(kedge_json_member(kedge_buffer_bytes(&text), "Item", &item));

    kedge_record_page page = {.allocator = &kedge_allocator_default};
    assert_int_equal(read_item(item.data, item.size, &page, NULL), KEDGE_OK);
    assert_int_equal(page.count, 1);
    assert_int_equal(page.bytes, kedge_record_bytes(&write.record));
    const kedge_record *record = &page.records[0];
    assert_true(kedge_bytes_equal(record->key.partition, write.record.key.partition));
    assert_true(kedge_bytes_equal(record->key.sort, write.record.key.sort));
    assert_int_equal(record->attribute_count, count);
    for (size_t i = 0; i < count; i++) {
        const kedge_attribute *found = kedge_record_attribute(record, attributes[i].name);
        assert_non_null(found);
        assert_int_equal(found->type, attributes[i].type);
        assert_true(found->number == attributes[i].number);
        assert_true(kedge_bytes_equal(found->bytes, attributes[i].bytes));
    }
    kedge_record_page_free(&page);
    kedge_buffer_free(&text);
}

#define KEYS "\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"s\"}"

static void test_what_the_port_never_wrote_is_named(void **state)
{
    static const struct {
        const char *item;
        kedge_status expected;
    } cases[] = {
        {"{" KEYS ",\"a\":{\"BOOL\":true}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"NULL\":true}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"SS\":[\"x\"]}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"M\":{}}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"1.5\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"1E2\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"-\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"+1\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\" 1\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"9223372036854775808\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"-9223372036854775809\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":\"99999999999999999999999999999999999999\"}}", KEDGE_CORRUPT},
        {"{" KEYS ",\"a\":{\"N\":1}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{\"S\":1}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{\"S\":null}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{\"B\":\"Zg=\"}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{\"B\":[]}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":{\"S\":\"x\",\"N\":\"1\"}}", KEDGE_UNAVAILABLE},
        {"{" KEYS ",\"a\":\"x\"}", KEDGE_UNAVAILABLE},
        {"{\"pk\":{\"S\":\"p\"}}", KEDGE_UNAVAILABLE},
        {"{\"sk\":{\"S\":\"s\"}}", KEDGE_UNAVAILABLE},
        {"{\"pk\":{\"S\":\"\"},\"sk\":{\"S\":\"s\"}}", KEDGE_UNAVAILABLE},
        {"{\"pk\":{\"N\":\"1\"},\"sk\":{\"S\":\"s\"}}", KEDGE_UNAVAILABLE},
        {"{}", KEDGE_UNAVAILABLE},
        {"[]", KEDGE_UNAVAILABLE},
        {"\"x\"", KEDGE_UNAVAILABLE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kedge_record_page page = {.allocator = &kedge_allocator_default};
        kedge_status status = read_item(cases[i].item, strlen(cases[i].item), &page, NULL);
        if (status != cases[i].expected)
            fail_msg("%s: %s", cases[i].item, kedge_status_name(status));
        assert_int_equal(page.count, 0);
        kedge_record_page_free(&page);
    }
}

static kedge_status read_with_attributes(size_t count)
{
    char item[4096];
    int size = snprintf(item, sizeof item, "{" KEYS);
    for (size_t i = 0; i < count; i++)
        size += snprintf(item + size, sizeof item - (size_t)size, ",\"a%zu\":{\"N\":\"1\"}", i);
    size += snprintf(item + size, sizeof item - (size_t)size, "}");
    kedge_record_page page = {.allocator = &kedge_allocator_default};
    kedge_status status = read_item(item, (size_t)size, &page, NULL);
    kedge_record_page_free(&page);
    return status;
}

static void test_an_item_has_as_many_attributes_as_a_record(void **state)
{
    (void)state;
    assert_int_equal(read_with_attributes(KEDGE_RECORD_ATTRIBUTES_MAX), KEDGE_OK);
    assert_int_equal(read_with_attributes(KEDGE_RECORD_ATTRIBUTES_MAX + 1), KEDGE_CORRUPT);
    assert_int_equal(read_with_attributes(100), KEDGE_CORRUPT);
}

/* ---- damage ---- */

static bool read_once(const kedge_allocator *allocator, void *context)
{
    kedge_bytes item = kedge_bytes_of(context);
    kedge_record_page page = {.allocator = allocator};
    kedge_status status = KEDGE_OK;
    for (int i = 0; i < 40 && status == KEDGE_OK; i++)
        status = kedge_dynamodb_read_item(item, &page, NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    kedge_record_page_free(&page);
    return status == KEDGE_OK;
}

static void test_memory_that_fails_is_told(void **state)
{
    char item[] = "{" KEYS ",\"b\":{\"B\":\"AAECAwQ=\"},\"t\":{\"S\":\"x\"}}";
    (void)state;
    assert_true(failing_allocator_try_every_call(read_once, item, 100) > 4);
}

static void test_no_damaged_item_does_more_than_fail(void **state)
{
    static const char whole[] =
        "{" KEYS ",\"text\":{\"S\":\"a\\u00e4\\ud83d\\ude00\\n\"},\"b\":{\"B\":\"AAECAwQ=\"},"
        "\"n\":{\"N\":\"-9223372036854775808\"},\"inverted\":{\"S\":\"x\"}}";
    uint64_t seed = 1;
    size_t read = 0, refused = 0;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        size_t size = sizeof whole - 1;
        char *text = malloc(size + 4 * DAMAGE_GROWTH_MAX);
        assert_non_null(text);
        memcpy(text, whole, size);
        for (uint32_t i = 1 + damage_random(&seed) % 4; i > 0 && size > 0; i--)
            size = damage(text, size, &seed);
        text = realloc(text, size + 1); /* so that a byte too far is seen */
        kedge_record_page page = {.allocator = &kedge_allocator_default};
        kedge_status status = read_item(text, size, &page, NULL);
        if (status == KEDGE_OK) {
            read++;
            assert_int_equal(page.count, 1);
        } else {
            refused++;
            assert_int_equal(page.count, 0);
        }
        kedge_record_page_free(&page);
        free(text);
    }
    print_message("%zu read, %zu refused\n", read, refused);
    assert_true(read > 1000 && refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_comes_back),
        cmocka_unit_test(test_what_the_port_never_wrote_is_named),
        cmocka_unit_test(test_an_item_has_as_many_attributes_as_a_record),
        cmocka_unit_test(test_memory_that_fails_is_told),
        cmocka_unit_test(test_no_damaged_item_does_more_than_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
