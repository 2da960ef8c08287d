/* Records out of DynamoDB's JSON. An item that the port cannot have written is named, never read as
 * something else: another type, a number that is not a 64-bit integer, keys that are missing. */
#include "backend/aws/dynamodb_internal.h"
#include "common/base64.h"
#include "common/error.h"

#include <string.h>

kedge_status kedge_dynamodb_fail_response(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-response-invalid",
                      "DynamoDB's response is not what it should be: %s", what);
}

static kedge_status fail_corrupt(const char *name, const char *why, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_RECORD_CORRUPT,
                      "the attribute %s of a record in DynamoDB %s", name, why);
}

/* ---- values ---- */

/* A text without NUL, as every JSON that was checked has it. */
static kedge_status read_text(kedge_arena *arena, kedge_bytes value, kedge_bytes *text,
                              kedge_error *error)
{
    char *room = kedge_arena_take(arena, value.size + 1);
    if (room == NULL) return kedge_fail_no_memory(error);
    if (!kedge_json_to_chars(value, room, value.size + 1))
        return kedge_dynamodb_fail_response("a value is not a string", error);
    *text = kedge_bytes_of(room);
    return KEDGE_OK;
}

static kedge_status read_binary(kedge_arena *arena, kedge_bytes value, kedge_bytes *bytes,
                                kedge_error *error)
{
    kedge_bytes text;
    kedge_status status = read_text(arena, value, &text, error);
    if (status != KEDGE_OK) return status;
    char *room = kedge_arena_take(arena, KEDGE_BASE64_DECODED_MAX(text.size) + 1);
    if (room == NULL) return kedge_fail_no_memory(error);
    size_t size;
    if (!kedge_base64_decode(text, room, &size))
        return kedge_dynamodb_fail_response("a binary value is not base64", error);
    *bytes = (kedge_bytes){room, size};
    return KEDGE_OK;
}

/* Digits, with a minus in front of them or not, within 64 bits. */
static bool parse_integer(const char *text, int64_t *number)
{
    bool minus = *text == '-';
    if (minus) text++;
    if (*text == '\0') return false;
    uint64_t bound = (uint64_t)INT64_MAX + (minus ? 1 : 0);
    uint64_t value = 0;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (bound - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = minus ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static kedge_status read_number(kedge_bytes value, kedge_attribute *attribute, kedge_error *error)
{
    char text[64];
    if (kedge_json_type_of(value) != KEDGE_JSON_STRING)
        return kedge_dynamodb_fail_response("a number is not a string", error);
    if (!kedge_json_to_chars(value, text, sizeof text) || !parse_integer(text, &attribute->number))
        return fail_corrupt(attribute->name, "is not a 64-bit integer", error);
    return KEDGE_OK;
}

/* `value` is {"S":…}, {"B":…} or {"N":…}. */
static kedge_status read_value(kedge_arena *arena, kedge_bytes value, kedge_attribute *attribute,
                               kedge_error *error)
{
    kedge_bytes type, inner, none;
    kedge_json_iterator members = kedge_json_iterate(value);
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT ||
        !kedge_json_next_member(&members, &type, &inner) ||
        kedge_json_next_member(&members, &none, &none))
        return kedge_dynamodb_fail_response("an attribute is not an object of one type", error);
    if (kedge_json_text_equals(type, "S")) {
        attribute->type = KEDGE_ATTRIBUTE_TEXT;
        return read_text(arena, inner, &attribute->bytes, error);
    }
    if (kedge_json_text_equals(type, "B")) {
        attribute->type = KEDGE_ATTRIBUTE_BINARY;
        return read_binary(arena, inner, &attribute->bytes, error);
    }
    if (kedge_json_text_equals(type, "N")) {
        attribute->type = KEDGE_ATTRIBUTE_NUMBER;
        return read_number(inner, attribute, error);
    }
    return fail_corrupt(attribute->name, "is neither text nor binary nor a number", error);
}

/* ---- items ---- */

/* The attributes of an item, the two keys among them. */
typedef struct found_attributes {
    kedge_attribute list[KEDGE_RECORD_ATTRIBUTES_MAX + 2];
    size_t count;
} found_attributes;

static kedge_status read_attributes(kedge_arena *arena, kedge_bytes item, found_attributes *found,
                                    kedge_error *error)
{
    kedge_bytes key, value, name;
    kedge_json_iterator members = kedge_json_iterate(item);
    while (kedge_json_next_member(&members, &key, &value)) {
        if (found->count == KEDGE_RECORD_ATTRIBUTES_MAX + 2)
            return kedge_fail(error, KEDGE_CORRUPT, KEDGE_RECORD_CORRUPT,
                              "a record in DynamoDB has more than %d attributes",
                              KEDGE_RECORD_ATTRIBUTES_MAX);
        kedge_attribute *attribute = &found->list[found->count++];
        kedge_status status = read_text(arena, key, &name, error);
        if (status != KEDGE_OK) return status;
        attribute->name = name.data;
        status = read_value(arena, value, attribute, error);
        if (status != KEDGE_OK) return status;
    }
    if (members.failed) return kedge_dynamodb_fail_response("an item is not an object", error);
    return KEDGE_OK;
}

/* Moves the key `name` out of the attributes. */
static kedge_status take_key(found_attributes *found, const char *name, kedge_bytes *key,
                             kedge_error *error)
{
    for (size_t i = 0; i < found->count; i++) {
        if (strcmp(found->list[i].name, name) != 0) continue;
        if (found->list[i].type != KEDGE_ATTRIBUTE_TEXT || found->list[i].bytes.size == 0) break;
        *key = found->list[i].bytes;
        found->list[i] = found->list[--found->count];
        return KEDGE_OK;
    }
    return kedge_dynamodb_fail_response("an item has no keys", error);
}

kedge_status kedge_dynamodb_read_item(kedge_bytes item, kedge_record_page *page, kedge_error *error)
{
    kedge_record record = {0};
    found_attributes found = {.count = 0};
    if (!kedge_record_page_room(page)) return kedge_fail_no_memory(error);
    kedge_status status = read_attributes(page->arena, item, &found, error);
    if (status == KEDGE_OK)
        status = take_key(&found, KEDGE_RECORDS_PARTITION, &record.key.partition, error);
    if (status == KEDGE_OK) status = take_key(&found, KEDGE_RECORDS_SORT, &record.key.sort, error);
    if (status != KEDGE_OK) return status;
    size_t size = found.count * sizeof found.list[0];
    kedge_attribute *attributes = kedge_arena_take(page->arena, size);
    if (attributes == NULL) return kedge_fail_no_memory(error);
    memcpy(attributes, found.list, size);
    record.attributes = attributes;
    record.attribute_count = found.count;
    kedge_record_page_append(page, &record);
    return KEDGE_OK;
}
