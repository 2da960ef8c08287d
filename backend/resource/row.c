/* See row.h. */
#include "backend/resource/row.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <kedge/limits.h>
#include <string.h>

size_t kedge_resource_row_write(const kedge_resource *row, kedge_resource_mark mark,
                                kedge_attribute attributes[KEDGE_RESOURCE_ATTRIBUTES])
{
    size_t count = 0;
    KEDGE_ASSERT(row->version > 0 && row->version <= KEDGE_RESOURCE_VERSION_MAX);
    KEDGE_ASSERT((row->value.size == 0) == (mark == KEDGE_RESOURCE_MARK_DELETED));
    attributes[count++] = (kedge_attribute){
        .name = "version", .type = KEDGE_ATTRIBUTE_NUMBER, .number = row->version};
    attributes[count++] = (kedge_attribute){
        .name = "created", .type = KEDGE_ATTRIBUTE_NUMBER, .number = row->created_ms};
    attributes[count++] =
        (kedge_attribute){KEDGE_RESOURCE_UID, KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(row->uid), 0};
    attributes[count++] = (kedge_attribute){"user", KEDGE_ATTRIBUTE_TEXT, row->user, 0};
    if (row->restored > 0) {
        attributes[count++] = (kedge_attribute){
            .name = "restored", .type = KEDGE_ATTRIBUTE_NUMBER, .number = row->restored};
    }
    if (row->value.size > 0) {
        attributes[count++] = (kedge_attribute){"value", KEDGE_ATTRIBUTE_TEXT, row->value, 0};
    }
    if (mark != KEDGE_RESOURCE_MARK_NONE) {
        attributes[count++] = (kedge_attribute){
            .name = mark == KEDGE_RESOURCE_MARK_OPEN ? KEDGE_RESOURCE_OPEN : "deleted",
            .type = KEDGE_ATTRIBUTE_NUMBER,
            .number = 1};
    }
    return count;
}

/* ---- reading ---- */

kedge_status kedge_resource_damaged(const kedge_resource_ref *ref, int64_t version,
                                    const char *what, kedge_error *error)
{
    int id_bytes = ref->id.size < 64 ? (int)ref->id.size : 64;
    return kedge_fail(error, KEDGE_CORRUPT, "resource-damaged",
                      "version %lld of the resource %.*s/%.*s is damaged: %s", (long long)version,
                      (int)ref->kind.size, ref->kind.data, id_bytes, ref->id.data, what);
}

static bool read_number(const kedge_record *record, const char *name, int64_t least, int64_t *out)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    if (attribute == NULL || attribute->type != KEDGE_ATTRIBUTE_NUMBER || attribute->number < least)
        return false;
    *out = attribute->number;
    return true;
}

static bool read_text(const kedge_record *record, const char *name, kedge_bytes *out)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    if (attribute == NULL || attribute->type != KEDGE_ATTRIBUTE_TEXT) return false;
    *out = attribute->bytes;
    return true;
}

static bool read_uid(const kedge_record *record, char uid[KEDGE_RESOURCE_UID_HEX])
{
    kedge_bytes text;
    uint8_t bytes[(KEDGE_RESOURCE_UID_HEX - 1) / 2];
    if (!read_text(record, KEDGE_RESOURCE_UID, &text)) return false;
    if (!kedge_hex_decode(text, bytes, sizeof bytes)) return false;
    memcpy(uid, text.data, text.size);
    uid[text.size] = '\0';
    return true;
}

static kedge_resource_mark read_mark(const kedge_record *record)
{
    if (kedge_record_attribute(record, KEDGE_RESOURCE_OPEN) != NULL)
        return KEDGE_RESOURCE_MARK_OPEN;
    if (kedge_record_attribute(record, "deleted") != NULL) return KEDGE_RESOURCE_MARK_DELETED;
    return KEDGE_RESOURCE_MARK_NONE;
}

/* What is wrong with it; NULL: nothing. The value is not looked into. */
static const char *read_members(const kedge_record *record, kedge_resource *row,
                                kedge_resource_mark mark)
{
    if (!read_number(record, "version", 1, &row->version)) return "it has no version";
    if (!read_number(record, "created", 0, &row->created_ms)) return "it has no time";
    if (!read_uid(record, row->uid)) return "it has no uid";
    if (!read_text(record, "user", &row->user)) return "it has no user";
    if (kedge_record_attribute(record, "restored") != NULL &&
        !read_number(record, "restored", 1, &row->restored)) {
        return "\"restored\" is not a version";
    }
    if (mark == KEDGE_RESOURCE_MARK_DELETED) return NULL;
    return read_text(record, "value", &row->value) ? NULL : "it has no value";
}

kedge_status kedge_resource_row_read(const kedge_allocator *allocator,
                                     const kedge_resource_ref *ref, const kedge_record *record,
                                     kedge_resource *row, kedge_resource_mark *mark,
                                     kedge_error *error)
{
    kedge_resource found = {0};
    int64_t named = 0;
    bool of_history =
        kedge_bytes_start_with(record->key.partition, KEDGE_BYTES("ResourceHistory#"));
    bool has_number = of_history && kedge_resource_key_version(record->key.sort, &named);
    *mark = read_mark(record);
    const char *wrong = read_members(record, &found, *mark);
    if (wrong == NULL && of_history && (!has_number || named != found.version))
        wrong = "it is not the version that its key names";
    if (wrong == NULL && *mark != KEDGE_RESOURCE_MARK_DELETED) {
        kedge_status status =
            kedge_json_check(found.value, KEDGE_LIMIT_JSON_DEPTH, allocator, NULL);
        if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
        if (status != KEDGE_OK) wrong = "its value is not JSON";
    }
    if (wrong != NULL) {
        return kedge_resource_damaged(ref, named > 0 ? named : found.version, wrong, error);
    }
    *row = found;
    return KEDGE_OK;
}
