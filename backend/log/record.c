/* Entries and segments as records. */
#include "backend/log/record.h"

#include "backend/base/packed.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

#include <kedge/limits.h>
#include <stdio.h>
#include <string.h>

/* Of an entry. */
#define CREATED  "C"
#define EXTERNAL KEDGE_LOG_ATTRIBUTE_EXTERNAL
#define TYPE     KEDGE_LOG_ATTRIBUTE_TYPE
#define VERSION  "V"
#define BODY     "B"
#define ID       "I"
#define SNAPSHOT KEDGE_LOG_ATTRIBUTE_SNAPSHOT
#define HISTORY  "H"
#define PENDING  "P"
#define NAME     KEDGE_LOG_ATTRIBUTE_NAME
#define EXPIRES  "X"
#define REVISION "R" /* also of a segment */
/* Of a segment, beside CREATED. */
#define LAST_SNAPSHOT "L"
#define ARCHIVE       "A"
#define FIRST         "F"
#define DELETED       "D"

int64_t kedge_log_now_s(const kedge_log *log)
{
    const kedge_environment *environment = log->project->environment;
    return environment->now_ms(environment->context) / 1000;
}

/* ---- writing ---- */

static void add(kedge_log_record *record, const kedge_attribute *attribute)
{
    KEDGE_ASSERT(record->count < KEDGE_LOG_ATTRIBUTES_MAX);
    record->attributes[record->count++] = *attribute;
}

static void add_number(kedge_log_record *record, const char *name, int64_t number)
{
    add(record, &(kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = number});
}

static void add_text(kedge_log_record *record, const char *name, kedge_bytes text)
{
    if (text.size == 0) return;
    add(record, &(kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_TEXT, .bytes = text});
}

kedge_record_write kedge_log_put(const kedge_log_record *record, kedge_condition condition)
{
    return (kedge_record_write){
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_log_key_bytes(&record->partition), kedge_log_key_bytes(&record->sort)},
                   record->attributes,
                   record->count},
        .condition = condition};
}

kedge_record_write kedge_log_put_over(const kedge_log_record *record, int64_t revision)
{
    kedge_record_write write = kedge_log_put(record, KEDGE_IF_EQUAL);
    write.expected =
        (kedge_attribute){.name = REVISION, .type = KEDGE_ATTRIBUTE_NUMBER, .number = revision};
    return write;
}

static bool is_null(kedge_bytes body)
{
    return body.size == 0 || kedge_bytes_equal_text(body, "null");
}

/* Of an entry with effects: its key has the names of the log as a hash alone. */
static kedge_status add_name(const kedge_log *log, const kedge_log_entry *entry, kedge_arena *arena,
                             kedge_log_record *record, kedge_error *error)
{
    const kedge_project_ref *ref = &log->project->ref;
    bool asks = kedge_bytes_equal_text(entry->type, KEDGE_LOG_SNAPSHOT);
    if (!asks && entry->external.size == 0) return KEDGE_OK;
    size_t size = ref->organization.size + ref->project.size + log->name.size + 3;
    char *text = kedge_arena_take(arena, size);
    if (text == NULL) return kedge_fail_no_memory(error);
    snprintf(text, size, "%.*s/%.*s/%.*s", (int)ref->organization.size, ref->organization.data,
             (int)ref->project.size, ref->project.data, (int)log->name.size, log->name.data);
    add_text(record, NAME, (kedge_bytes){text, size - 1});
    return KEDGE_OK;
}

kedge_status kedge_log_entry_encode(const kedge_log *log, const kedge_log_entry *entry,
                                    kedge_arena *arena, kedge_log_record *record,
                                    kedge_error *error)
{
    *record = (kedge_log_record){.partition = kedge_log_key_entries(log, entry->at.segment),
                                 .sort = kedge_log_key_num(entry->at.num)};
    add_number(record, CREATED, entry->created_s);
    add_text(record, TYPE, entry->type);
    add_number(record, VERSION, entry->version);
    add(record, &(kedge_attribute){.name = ID,
                                   .type = KEDGE_ATTRIBUTE_BINARY,
                                   .bytes = {(const char *)entry->id, sizeof entry->id}});
    add_number(record, REVISION, entry->revision);
    if (entry->expires_s > 0) add_number(record, EXPIRES, entry->expires_s);
    add_text(record, EXTERNAL, entry->external);
    add_text(record, SNAPSHOT, entry->snapshot);
    add_text(record, HISTORY, entry->history);
    add_text(record, PENDING, entry->pending);
    kedge_status status = add_name(log, entry, arena, record, error);
    if (status != KEDGE_OK || entry->external.size > 0 || is_null(entry->body)) return status;
    kedge_attribute packed;
    status = kedge_pack(BODY, entry->body, arena, &packed, error);
    if (status == KEDGE_OK) add(record, &packed);
    return status;
}

void kedge_log_segment_encode(const kedge_log *log, const kedge_log_segment *segment,
                              kedge_log_record *record)
{
    *record = (kedge_log_record){.partition = kedge_log_key_segments(log),
                                 .sort = kedge_log_key_num(segment->num)};
    add_number(record, CREATED, segment->created_s);
    add_number(record, FIRST, segment->first);
    add_number(record, REVISION, segment->revision);
    if (segment->last_snapshot >= 0) add_number(record, LAST_SNAPSHOT, segment->last_snapshot);
    if (segment->deleted > 0) add_number(record, DELETED, segment->deleted);
    if (segment->archived) add_text(record, ARCHIVE, kedge_bytes_of(segment->archive));
}

/* ---- reading ---- */

/* False when it is no number of 0 or more. `*out` is not changed when it is absent. */
static bool read_number(const kedge_record *record, const char *name, bool must, int64_t *out)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    if (found == NULL) return !must;
    if (found->type != KEDGE_ATTRIBUTE_NUMBER || found->number < 0) return false;
    *out = found->number;
    return true;
}

/* … and of no more than a key can have. */
static bool read_place(const kedge_record *record, const char *name, bool must, int64_t *out)
{
    return read_number(record, name, must, out) && *out <= KEDGE_LOG_NUMBER_MAX;
}

static bool read_text(const kedge_record *record, const char *name, kedge_bytes *out)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    if (found == NULL) return true;
    *out = found->bytes;
    return found->type == KEDGE_ATTRIBUTE_TEXT;
}

bool kedge_log_is_body_name(kedge_bytes name)
{
    uint8_t bytes[KEDGE_LOG_ID_SIZE];
    return kedge_hex_decode(name, bytes, sizeof bytes);
}

static bool read_external(const kedge_record *record, kedge_bytes *out)
{
    return read_text(record, EXTERNAL, out) && (out->size == 0 || kedge_log_is_body_name(*out));
}

static bool read_id(const kedge_record *record, uint8_t id[KEDGE_LOG_ID_SIZE])
{
    const kedge_attribute *found = kedge_record_attribute(record, ID);
    if (found == NULL || found->type != KEDGE_ATTRIBUTE_BINARY ||
        found->bytes.size != KEDGE_LOG_ID_SIZE)
        return false;
    memcpy(id, found->bytes.data, KEDGE_LOG_ID_SIZE);
    return true;
}

static kedge_status keep(kedge_arena *arena, kedge_bytes *text, kedge_error *error)
{
    if (text->size == 0) return KEDGE_OK;
    return kedge_arena_copy(arena, *text, text) ? KEDGE_OK : kedge_fail_no_memory(error);
}

static kedge_status keep_texts(kedge_arena *arena, kedge_log_entry *entry, kedge_error *error)
{
    kedge_bytes *const texts[] = {&entry->type, &entry->external, &entry->snapshot, &entry->history,
                                  &entry->pending};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == KEDGE_OK; i++)
        status = keep(arena, texts[i], error);
    return status;
}

/* A type of the log itself has one version; any other is a name. */
static kedge_status check_type(const kedge_log *log, const kedge_log_entry *entry,
                               kedge_error *error)
{
    bool system = kedge_log_entry_is_system(entry);
    if (system && entry->version != KEDGE_LOG_SYSTEM_VERSION) {
        return kedge_fail(error, KEDGE_UNSUPPORTED, "log-version-unknown",
                          "the log %.*s has at segment %lld, entry %lld, version %lld of the type "
                          "%.*s; this program knows version %d",
                          (int)log->name.size, log->name.data, (long long)entry->at.segment,
                          (long long)entry->at.num, (long long)entry->version,
                          (int)entry->type.size, entry->type.data, KEDGE_LOG_SYSTEM_VERSION);
    }
    if (system || kedge_check_name("type", entry->type, NULL) == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "log-type-unknown",
                      "the log %.*s has at segment %lld, entry %lld, the type \"%.*s\", which this "
                      "program does not know",
                      (int)log->name.size, log->name.data, (long long)entry->at.segment,
                      (long long)entry->at.num, (int)entry->type.size, entry->type.data);
}

static kedge_status decode_body(const kedge_log *log, const kedge_record *record,
                                kedge_arena *arena, kedge_log_entry *entry, kedge_error *error)
{
    const kedge_attribute *packed = kedge_record_attribute(record, BODY);
    if (entry->external.size > 0) return KEDGE_OK;
    if (packed == NULL) {
        entry->body = KEDGE_BYTES("null");
        return KEDGE_OK;
    }
    kedge_status status = kedge_unpack(packed, arena, &entry->body, error);
    if (status == KEDGE_OK)
        status =
            kedge_json_check(entry->body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, error);
    if (status == KEDGE_OK || status == KEDGE_NO_MEMORY) return status;
    return kedge_log_corrupt(log, entry->at.segment, entry->at.num, error, "its body is not JSON");
}

kedge_status kedge_log_entry_decode(const kedge_log *log, int64_t segment, int64_t first,
                                    const kedge_record *record, kedge_arena *arena,
                                    kedge_log_entry *entry, kedge_error *error)
{
    *entry = (kedge_log_entry){.at = {.segment = segment}};
    if (!kedge_log_key_read_num(record->key.sort, &entry->at.num))
        return kedge_log_corrupt(log, segment, -1, error, "a key of an entry is no number");
    entry->at.number = first + entry->at.num;
    bool fine = read_number(record, CREATED, true, &entry->created_s) &&
                read_number(record, VERSION, true, &entry->version) &&
                read_number(record, REVISION, true, &entry->revision) &&
                read_number(record, EXPIRES, false, &entry->expires_s) &&
                read_text(record, TYPE, &entry->type) && read_external(record, &entry->external) &&
                read_text(record, SNAPSHOT, &entry->snapshot) &&
                read_text(record, HISTORY, &entry->history) &&
                read_text(record, PENDING, &entry->pending) && read_id(record, entry->id);
    if (!fine || entry->type.size == 0) {
        return kedge_log_corrupt(log, segment, entry->at.num, error,
                                 "an attribute is missing or has another type");
    }
    kedge_status status = check_type(log, entry, error);
    if (status == KEDGE_OK) status = keep_texts(arena, entry, error);
    return status == KEDGE_OK ? decode_body(log, record, arena, entry, error) : status;
}

static bool read_archive(const kedge_record *record, kedge_log_segment *segment)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes text = {NULL, 0};
    if (!read_text(record, ARCHIVE, &text)) return false;
    segment->archived = text.size > 0;
    if (text.size == 0) return true;
    if (!kedge_hex_decode(text, hash, sizeof hash)) return false;
    memcpy(segment->archive, text.data, text.size);
    segment->archive[text.size] = '\0';
    return true;
}

kedge_status kedge_log_segment_decode(const kedge_log *log, const kedge_record *record,
                                      kedge_log_segment *segment, kedge_error *error)
{
    *segment = (kedge_log_segment){.last_snapshot = -1};
    if (!kedge_log_key_read_num(record->key.sort, &segment->num))
        return kedge_log_corrupt(log, -1, -1, error, "the key of a segment is no number");
    bool fine = read_number(record, CREATED, true, &segment->created_s) &&
                read_place(record, FIRST, true, &segment->first) &&
                read_number(record, REVISION, true, &segment->revision) &&
                read_place(record, LAST_SNAPSHOT, false, &segment->last_snapshot) &&
                read_place(record, DELETED, false, &segment->deleted) &&
                read_archive(record, segment);
    if (fine) return KEDGE_OK;
    return kedge_log_corrupt(log, segment->num, -1, error,
                             "an attribute of the segment is missing or has another type");
}

/* ---- pages ---- */

kedge_log_page kedge_log_page_make(const kedge_allocator *allocator)
{
    return (kedge_log_page){.arena = kedge_arena_make(allocator)};
}

void kedge_log_page_free(kedge_log_page *page)
{
    kedge_arena_free(&page->arena);
    page->entries = NULL;
    page->count = 0;
}

bool kedge_log_entry_is_system(const kedge_log_entry *entry)
{
    return kedge_bytes_equal_text(entry->type, KEDGE_LOG_SNAPSHOT) ||
           kedge_bytes_equal_text(entry->type, KEDGE_LOG_END_SEGMENT);
}
