/* Pending snapshots as records. */
#include "backend/effects/pending.h"

#include "backend/log/layout.h"
#include "backend/log/segments.h"
#include "common/error.h"

#include <string.h>

#define ATTRIBUTES 5

typedef struct pending_key {
    kedge_log_key partition;
    kedge_log_key sort;
} pending_key;

/* A num says how long it is, so that two of them, one after the other, are in order. */
static pending_key key_of(const kedge_log *log, const kedge_log_place *at)
{
    kedge_log_key num = kedge_log_key_num(at->num);
    pending_key key = {kedge_log_key_pending(log), kedge_log_key_num(at->segment)};
    memcpy(key.sort.text + key.sort.size, num.text, num.size + 1);
    key.sort.size += num.size;
    return key;
}

static bool read_key(kedge_bytes sort, kedge_log_place *at)
{
    if (sort.size < 2 || sort.data[0] < '1' || sort.data[0] > '9') return false;
    size_t first = (size_t)(sort.data[0] - '0') + 1;
    if (first >= sort.size) return false;
    return kedge_log_key_read_num((kedge_bytes){sort.data, first}, &at->segment) &&
           kedge_log_key_read_num((kedge_bytes){sort.data + first, sort.size - first}, &at->num);
}

static kedge_attribute number(const char *name, int64_t value)
{
    return (kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = value};
}

static kedge_record_write write_of(const pending_key *key, kedge_write_kind kind,
                                   const kedge_attribute *attributes, size_t count)
{
    return (kedge_record_write){
        .kind = kind,
        .record = {{kedge_log_key_bytes(&key->partition), kedge_log_key_bytes(&key->sort)},
                   attributes,
                   count}};
}

/* ---- writing ---- */

static kedge_status put(const kedge_log *log, const kedge_log_place *at, kedge_condition condition,
                        kedge_error *error)
{
    const kedge_records *records = log->project->records;
    pending_key key = key_of(log, at);
    const kedge_attribute attributes[] = {number("number", at->number), number("revision", 1)};
    kedge_record_write write = write_of(&key, KEDGE_WRITE_PUT, attributes, 2);
    write.condition = condition;
    return records->vtable->write(records->self, &write, error);
}

kedge_status kedge_pending_snapshot_put(const kedge_log *log, const kedge_log_place *at,
                                        kedge_error *error)
{
    kedge_status status = put(log, at, KEDGE_IF_ABSENT, error);
    return status == KEDGE_CONFLICT ? KEDGE_OK : status;
}

kedge_status kedge_pending_snapshot_save(const kedge_log *log, kedge_pending_snapshot *pending,
                                         kedge_error *error)
{
    const kedge_records *records = log->project->records;
    pending_key key = key_of(log, &pending->at);
    kedge_attribute attributes[ATTRIBUTES];
    size_t count = 0;
    if (pending->progress.size > KEDGE_PENDING_PROGRESS_BYTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "snapshot-progress-too-large",
                          "the progress of a snapshot has %zu bytes; at most %d are allowed",
                          pending->progress.size, KEDGE_PENDING_PROGRESS_BYTES_MAX);
    attributes[count++] = number("number", pending->at.number);
    attributes[count++] = number("revision", pending->revision + 1);
    attributes[count++] = number("since", pending->since_ms);
    if (pending->owner[0] != '\0')
        attributes[count++] =
            (kedge_attribute){"owner", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(pending->owner), 0};
    if (pending->progress.size > 0)
        attributes[count++] = (kedge_attribute){"progress", KEDGE_ATTRIBUTE_BINARY,
                                                kedge_buffer_bytes(&pending->progress), 0};
    kedge_record_write write = write_of(&key, KEDGE_WRITE_PUT, attributes, count);
    write.condition = KEDGE_IF_EQUAL;
    write.expected = number("revision", pending->revision);
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status == KEDGE_OK) pending->revision++;
    return status;
}

kedge_status kedge_pending_snapshot_remove(const kedge_log *log,
                                           const kedge_pending_snapshot *pending,
                                           kedge_error *error)
{
    const kedge_records *records = log->project->records;
    pending_key key = key_of(log, &pending->at);
    kedge_record_write write = write_of(&key, KEDGE_WRITE_DELETE, NULL, 0);
    write.condition = KEDGE_IF_EQUAL;
    write.expected = number("revision", pending->revision);
    return records->vtable->write(records->self, &write, error);
}

/* ---- reading ---- */

static bool read_number(const kedge_record *record, const char *name, int64_t *value)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    if (found != NULL && found->type == KEDGE_ATTRIBUTE_NUMBER) *value = found->number;
    return found == NULL || found->type == KEDGE_ATTRIBUTE_NUMBER;
}

static kedge_status decode(const kedge_log *log, const kedge_record *record,
                           kedge_pending_snapshot *pending, kedge_error *error)
{
    const kedge_attribute *owner = kedge_record_attribute(record, "owner");
    const kedge_attribute *progress = kedge_record_attribute(record, "progress");
    pending->at = (kedge_log_place){.number = -1};
    pending->revision = 0;
    pending->since_ms = 0;
    pending->owner[0] = '\0';
    kedge_buffer_clear(&pending->progress);
    bool fine = read_key(record->key.sort, &pending->at) &&
                read_number(record, "number", &pending->at.number) && pending->at.number >= 0 &&
                read_number(record, "revision", &pending->revision) && pending->revision > 0 &&
                read_number(record, "since", &pending->since_ms) &&
                (owner == NULL || (owner->type == KEDGE_ATTRIBUTE_TEXT &&
                                   owner->bytes.size < sizeof pending->owner)) &&
                (progress == NULL || progress->type == KEDGE_ATTRIBUTE_BINARY);
    if (!fine)
        return kedge_fail(error, KEDGE_CORRUPT, KEDGE_PENDING_DAMAGED,
                          "a pending snapshot of the log %.*s is damaged", (int)log->name.size,
                          log->name.data);
    if (owner != NULL) {
        memcpy(pending->owner, owner->bytes.data, owner->bytes.size);
        pending->owner[owner->bytes.size] = '\0';
    }
    if (progress != NULL) kedge_buffer_append_bytes(&pending->progress, progress->bytes);
    return kedge_buffer_status(&pending->progress, error);
}

/* The set is empty when there is none. */
static kedge_status query_first(const kedge_log *log, bool consistent, kedge_record_set *set,
                                kedge_error *error)
{
    const kedge_records *records = log->project->records;
    kedge_log_key partition = kedge_log_key_pending(log);
    const kedge_records_query query = {
        .partition = kedge_log_key_bytes(&partition), .limit = 1, .consistent = consistent};
    return records->vtable->query(records->self, &query, set, error);
}

kedge_status kedge_pending_snapshot_first(const kedge_log *log, bool consistent,
                                          kedge_pending_snapshot *pending, kedge_error *error)
{
    kedge_record_set set = {0};
    kedge_status status = query_first(log, consistent, &set, error);
    if (status != KEDGE_OK) return status;
    status = set.count == 0 ? kedge_fail(error, KEDGE_NOT_FOUND, "snapshot-not-pending",
                                         "no snapshot of the log %.*s is pending",
                                         (int)log->name.size, log->name.data)
                            : decode(log, &set.records[0], pending, error);
    kedge_record_set_free(&set);
    return status;
}

/* The number of the entry that the key names. KEDGE_NOT_FOUND: it names none. */
static kedge_status find_entry(const kedge_log *log, const kedge_record *record,
                               kedge_log_place *at, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_log_segment segment;
    if (!read_key(record->key.sort, at)) return KEDGE_NOT_FOUND;
    kedge_status status = kedge_log_segment_get(log, at->segment, &segment, &failure);
    if (status == KEDGE_OK) at->number = segment.first + at->num;
    if (status == KEDGE_CORRUPT) status = KEDGE_NOT_FOUND; /* nor its entries */
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND && error != NULL) *error = failure;
    return status;
}

/* Over the damaged one, in one write: what is removed and not put again is asked for no more. */
static kedge_status put_anew(const kedge_log *log, const kedge_record *record, kedge_error *error)
{
    kedge_log_place at;
    const kedge_records *records = log->project->records;
    const kedge_record_write removal = {.kind = KEDGE_WRITE_DELETE, .record = {.key = record->key}};
    kedge_status status = find_entry(log, record, &at, error);
    if (status == KEDGE_OK) return put(log, &at, KEDGE_IF_ANY, error);
    return status == KEDGE_NOT_FOUND ? records->vtable->write(records->self, &removal, error)
                                     : status;
}

kedge_status kedge_pending_snapshot_mend(const kedge_log *log, kedge_error *error)
{
    kedge_record_set set = {0};
    kedge_pending_snapshot pending = {.progress = kedge_buffer_make(log->project->allocator)};
    kedge_status status = query_first(log, true, &set, error);
    if (status == KEDGE_OK && set.count > 0 &&
        decode(log, &set.records[0], &pending, NULL) == KEDGE_CORRUPT)
        status = put_anew(log, &set.records[0], error);
    kedge_record_set_free(&set);
    kedge_buffer_free(&pending.progress);
    return status;
}
