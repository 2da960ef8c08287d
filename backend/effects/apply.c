/* From changes of records to the effects of entries. */
#include "backend/effects/apply.h"

#include "backend/log/body.h"
#include "backend/log/segments.h"
#include "common/error.h"
#include "common/names.h"

#include <string.h>

const kedge_stream_pattern kedge_effects_pattern = {
    {KEDGE_LOG_ENTRY_PREFIX, sizeof KEDGE_LOG_ENTRY_PREFIX - 1}, KEDGE_LOG_ATTRIBUTE_NAME};

/* Sets the entry's number in the log: that of the segment's first entry plus its num. `*wanted`
 * becomes false when the segment is gone or archived: the entry then gets no snapshot any more. */
static kedge_status find_number(const kedge_log *log, kedge_log_place *at, bool *wanted,
                                kedge_error *error)
{
    kedge_log_segment segment;
    kedge_error failure = {0};
    kedge_status status = kedge_log_segment_get(log, at->segment, &segment, &failure);
    *wanted = status == KEDGE_OK && !segment.archived;
    if (status == KEDGE_OK) at->number = segment.first + at->num;
    if (status == KEDGE_OK || status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (error != NULL) *error = failure;
    return status;
}

kedge_status kedge_effects_of_entry(const kedge_effects *effects, const kedge_log *log,
                                    const kedge_log_entry *entry, kedge_error *error)
{
    bool wanted = kedge_bytes_equal_text(entry->type, KEDGE_LOG_SNAPSHOT) &&
                  entry->snapshot.size == 0 && effects->queue.vtable != NULL;
    kedge_log_place at = entry->at;
    kedge_status status = KEDGE_OK;
    if (entry->external.size > 0) status = kedge_log_body_untag(log, entry->external, error);
    if (status == KEDGE_OK && wanted) status = find_number(log, &at, &wanted, error);
    if (status != KEDGE_OK || !wanted) return status;
    return kedge_snapshot_request(log, &effects->queue, &at, error);
}

/* ---- a record of the stream ---- */

/* Which entry a change is of; it borrows the change. */
typedef struct changed_entry {
    kedge_project_ref ref;
    kedge_bytes log;
    kedge_log_entry entry; /* its segment and num, type, external body and snapshot alone */
} changed_entry;

static bool cut(kedge_bytes *rest, kedge_bytes *name)
{
    const char *end = memchr(rest->data, '/', rest->size);
    if (end == NULL) return false;
    *name = (kedge_bytes){rest->data, (size_t)(end - rest->data)};
    *rest = (kedge_bytes){end + 1, rest->size - name->size - 1};
    return true;
}

static bool is_name(kedge_bytes name)
{
    return kedge_check_name("name", name, NULL) == KEDGE_OK;
}

static bool read_names(kedge_bytes text, changed_entry *changed)
{
    kedge_bytes rest = text;
    if (text.size == 0 || !cut(&rest, &changed->ref.organization) ||
        !cut(&rest, &changed->ref.project))
        return false;
    changed->log = rest;
    return is_name(changed->ref.organization) && is_name(changed->ref.project) && is_name(rest);
}

/* Absent: empty. */
static bool read_text(const kedge_record *record, const char *name, kedge_bytes *text)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    *text = found == NULL ? (kedge_bytes){NULL, 0} : found->bytes;
    return found == NULL || found->type == KEDGE_ATTRIBUTE_TEXT;
}

static bool read_change(const kedge_record *record, changed_entry *changed)
{
    kedge_bytes names;
    return read_text(record, KEDGE_LOG_ATTRIBUTE_NAME, &names) && read_names(names, changed) &&
           read_text(record, KEDGE_LOG_ATTRIBUTE_TYPE, &changed->entry.type) &&
           read_text(record, KEDGE_LOG_ATTRIBUTE_EXTERNAL, &changed->entry.external) &&
           (changed->entry.external.size == 0 || kedge_log_is_body_name(changed->entry.external)) &&
           read_text(record, KEDGE_LOG_ATTRIBUTE_SNAPSHOT, &changed->entry.snapshot);
}

/* The nums of the segment and of the entry. False when the key is none of this log's. */
static bool read_place(const kedge_log *log, const kedge_record_key *key, kedge_log_place *at)
{
    kedge_log_key own = kedge_log_key_entries(log, 0), num = kedge_log_key_num(0);
    size_t prefix = own.size - num.size;
    if (key->partition.size < prefix || memcmp(key->partition.data, own.text, prefix) != 0)
        return false;
    kedge_bytes segment = {key->partition.data + prefix, key->partition.size - prefix};
    return kedge_log_key_read_num(segment, &at->segment) &&
           kedge_log_key_read_num(key->sort, &at->num);
}

static kedge_status pass_over(const kedge_effects *effects, const kedge_error *why)
{
    if (effects->passed != NULL) effects->passed(effects->context, why);
    return KEDGE_OK;
}

static kedge_status pass_foreign(const kedge_effects *effects, const kedge_record_key *key,
                                 const char *what)
{
    kedge_error why = {0};
    kedge_fail(&why, KEDGE_CORRUPT, "log-change-corrupt", "the record %.*s %.*s %s",
               (int)key->partition.size, key->partition.data, (int)key->sort.size, key->sort.data,
               what);
    return pass_over(effects, &why);
}

/* A log that is damaged must not hold up all others of its shard. */
static bool is_damage(const kedge_error *failure)
{
    return strcmp(failure->code, KEDGE_LOG_CORRUPT) == 0 ||
           strcmp(failure->code, KEDGE_RECORD_CORRUPT) == 0;
}

static kedge_status apply(const kedge_effects *effects, const kedge_stream_change *change,
                          kedge_error *error)
{
    const kedge_record *record = &change->record;
    changed_entry changed = {.log = {NULL, 0}};
    if (!kedge_bytes_start_with(record->key.partition, kedge_effects_pattern.partition_prefix) ||
        change->kind == KEDGE_STREAM_REMOVE)
        return KEDGE_OK;
    if (change->kind == KEDGE_STREAM_FOREIGN)
        return pass_foreign(effects, &record->key, "has attributes that Kedge does not write");
    if (kedge_record_attribute(record, KEDGE_LOG_ATTRIBUTE_NAME) == NULL) return KEDGE_OK;
    static const char other[] = "names another log than its key, or none, or an impossible body";
    if (!read_change(record, &changed)) return pass_foreign(effects, &record->key, other);
    kedge_project project = kedge_project_of(effects->backend, &changed.ref);
    kedge_log log = kedge_log_of(&project, changed.log);
    if (!read_place(&log, &record->key, &changed.entry.at))
        return pass_foreign(effects, &record->key, other);
    kedge_error failure = {0};
    kedge_status status = kedge_effects_of_entry(effects, &log, &changed.entry, &failure);
    if (status == KEDGE_CORRUPT && is_damage(&failure)) return pass_over(effects, &failure);
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

kedge_status kedge_effects_handle(void *context, const kedge_stream_change *changes, size_t count,
                                  size_t *handled, kedge_error *error)
{
    const kedge_effects *effects = context;
    kedge_status status = KEDGE_OK;
    *handled = 0;
    while (status == KEDGE_OK && *handled < count) {
        status = apply(effects, &changes[*handled], error);
        if (status == KEDGE_OK) ++*handled;
    }
    return status;
}
