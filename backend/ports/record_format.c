/* The compact form of a record's attributes, which implementations without a format of their own
 * store as one binary value:
 *
 *     byte      1, the version of this form
 *     varint    number of attributes
 *     each:     varint  bytes of the name
 *               bytes   the name, and a NUL
 *               byte    type: 0 text, 1 binary, 2 number
 *               text, binary:  varint bytes of the value, and the value
 *               number:        varint of the zigzag form (0, -1, 1, -2 … as 0, 1, 2, 3 …)
 *
 * A varint has seven bits a byte, lowest first; the high bit says that another byte follows.
 * The NUL lets a reader use a name where it stands. Nothing follows the last attribute. */
#include "backend/ports/records_support.h"
#include "common/error.h"

#include <string.h>

#define FORM_VERSION 1

static void write_varint(kedge_buffer *out, uint64_t value)
{
    while (value >= 0x80) {
        kedge_buffer_append_byte(out, (char)(unsigned char)(value | 0x80));
        value >>= 7;
    }
    kedge_buffer_append_byte(out, (char)(unsigned char)value);
}

static uint64_t zigzag(int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;
    return number < 0 ? ~twice : twice;
}

static int64_t unzigzag(uint64_t value)
{
    uint64_t half = value >> 1;
    return (int64_t)((value & 1) != 0 ? ~half : half);
}

void kedge_record_encode(const kedge_record *record, kedge_buffer *out)
{
    kedge_buffer_append_byte(out, FORM_VERSION);
    write_varint(out, record->attribute_count);
    for (size_t i = 0; i < record->attribute_count; i++) {
        const kedge_attribute *attribute = &record->attributes[i];
        size_t name_size = strlen(attribute->name);
        write_varint(out, name_size);
        kedge_buffer_append(out, attribute->name, name_size + 1);
        kedge_buffer_append_byte(out, (char)attribute->type);
        if (attribute->type == KEDGE_ATTRIBUTE_NUMBER) {
            write_varint(out, zigzag(attribute->number));
        } else {
            write_varint(out, attribute->bytes.size);
            kedge_buffer_append_bytes(out, attribute->bytes);
        }
    }
}

/* ---- reading ---- */

static bool read_varint(kedge_bytes *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (rest->size == 0) return false;
        unsigned char byte = (unsigned char)*rest->data;
        rest->data++;
        rest->size--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

static bool read_bytes(kedge_bytes *rest, uint64_t size, kedge_bytes *bytes)
{
    if (size > rest->size) return false;
    *bytes = (kedge_bytes){rest->data, (size_t)size};
    rest->data += size;
    rest->size -= (size_t)size;
    return true;
}

static bool read_header(kedge_bytes *rest, size_t *attribute_count)
{
    kedge_bytes version;
    uint64_t count;
    if (!read_bytes(rest, 1, &version) || version.data[0] != FORM_VERSION) return false;
    if (!read_varint(rest, &count) || count > KEDGE_RECORD_ATTRIBUTES_MAX) return false;
    *attribute_count = (size_t)count;
    return true;
}

static bool read_attribute(kedge_bytes *rest, kedge_attribute *attribute)
{
    kedge_bytes name, type;
    uint64_t size;
    *attribute = (kedge_attribute){0};
    if (!read_varint(rest, &size) || size > KEDGE_RECORD_NAME_BYTES_MAX) return false;
    if (!read_bytes(rest, size + 1, &name) || !read_bytes(rest, 1, &type)) return false;
    if (memchr(name.data, '\0', name.size) != name.data + size) return false;
    if (!read_varint(rest, &size)) return false;
    attribute->name = name.data;
    attribute->type = (kedge_attribute_type)type.data[0];
    switch (type.data[0]) {
    case KEDGE_ATTRIBUTE_NUMBER:
        attribute->number = unzigzag(size);
        return true;
    case KEDGE_ATTRIBUTE_TEXT:
    case KEDGE_ATTRIBUTE_BINARY:
        return read_bytes(rest, size, &attribute->bytes);
    default:
        return false;
    }
}

static kedge_status fail_corrupt(kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_RECORD_CORRUPT,
                      "the stored attributes of a record are damaged");
}

/* ---- conditions ---- */

static bool same_value(const kedge_attribute *a, const kedge_attribute *b)
{
    if (a->type != b->type) return false;
    if (a->type == KEDGE_ATTRIBUTE_NUMBER) return a->number == b->number;
    return kedge_bytes_equal(a->bytes, b->bytes);
}

static kedge_status fail_condition(const kedge_record_write *write, const char *why,
                                   kedge_error *error)
{
    kedge_bytes sort = write->record.key.sort;
    return kedge_fail(error, KEDGE_CONFLICT, "condition-failed", "%s under the sort key %.*s", why,
                      (int)sort.size, sort.data);
}

kedge_status kedge_record_condition_check(const kedge_record_write *write, bool exists,
                                          kedge_bytes stored, kedge_error *error)
{
    if (write->condition == KEDGE_IF_ANY) return KEDGE_OK;
    if (write->condition == KEDGE_IF_ABSENT)
        return exists ? fail_condition(write, "there is a record already", error) : KEDGE_OK;
    if (!exists) return fail_condition(write, "there is no record", error);
    size_t count;
    if (!read_header(&stored, &count)) return fail_corrupt(error);
    for (size_t i = 0; i < count; i++) {
        kedge_attribute attribute;
        if (!read_attribute(&stored, &attribute)) return fail_corrupt(error);
        if (strcmp(attribute.name, write->expected.name) != 0) continue;
        if (same_value(&attribute, &write->expected)) return KEDGE_OK;
        return fail_condition(write, "an attribute has another value", error);
    }
    return fail_condition(write, "an attribute is missing", error);
}

/* ---- responses ---- */

bool kedge_record_page_room(kedge_record_page *page)
{
    if (page->arena == NULL) page->arena = kedge_arena_new(page->allocator);
    if (page->arena == NULL) return false;
    if (page->count < page->capacity) return true;
    size_t capacity = page->capacity == 0 ? 4 : page->capacity * 2;
    kedge_record *records = kedge_arena_take(page->arena, capacity * sizeof *records);
    if (records == NULL) return false;
    if (page->count > 0) memcpy(records, page->records, page->count * sizeof *records);
    page->records = records;
    page->capacity = capacity;
    return true;
}

void kedge_record_page_append(kedge_record_page *page, const kedge_record *record)
{
    page->records[page->count++] = *record;
    page->bytes += kedge_record_bytes(record);
}

kedge_status kedge_record_page_add(kedge_record_page *page, const kedge_record_key *key,
                                   kedge_bytes encoded, kedge_error *error)
{
    kedge_record record = {0};
    kedge_bytes rest;
    if (!kedge_record_page_room(page) ||
        !kedge_arena_copy(page->arena, key->partition, &record.key.partition) ||
        !kedge_arena_copy(page->arena, key->sort, &record.key.sort) ||
        !kedge_arena_copy(page->arena, encoded, &rest))
        return kedge_fail_no_memory(error);
    if (!read_header(&rest, &record.attribute_count)) return fail_corrupt(error);
    kedge_attribute *attributes =
        kedge_arena_take(page->arena, record.attribute_count * sizeof *attributes);
    if (attributes == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < record.attribute_count; i++) {
        if (!read_attribute(&rest, &attributes[i])) return fail_corrupt(error);
    }
    if (rest.size != 0) return fail_corrupt(error);
    record.attributes = attributes;
    kedge_record_page_append(page, &record);
    return KEDGE_OK;
}

void kedge_record_page_finish(kedge_record_page *page, bool more, kedge_record_set *set)
{
    *set = (kedge_record_set){.records = page->records,
                              .count = page->count,
                              .more = more,
                              .memory = page->arena,
                              .memory_free = kedge_arena_delete};
    *page = (kedge_record_page){.allocator = page->allocator};
}

void kedge_record_page_free(kedge_record_page *page)
{
    kedge_arena_delete(page->arena);
    *page = (kedge_record_page){.allocator = page->allocator};
}
