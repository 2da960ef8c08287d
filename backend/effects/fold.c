/* From entries to a state, and its text. */
#include "backend/effects/fold.h"

#include "backend/base/backend.h"
#include "backend/log/snapshot.h"
#include "common/error.h"
#include "common/json.h"
#include "mutate/replay.h"

#include <kedge/limits.h>

#define PAGE 100

typedef struct folding {
    const kedge_log *log;
    const kedge_registry *registry;
    kedge_overlay *overlay; /* the state */
    kedge_tx *tx;
    kedge_buffer body;
    int64_t from; /* the first entry that is not in the state */
    int64_t to;   /* the entry of the snapshot */
    bool any;     /* something is in the state, or was */
} folding;

/* ---- the snapshot before ---- */

static kedge_status put_item(folding *work, kedge_bytes collection, kedge_bytes key,
                             kedge_bytes value, kedge_error *error)
{
    kedge_buffer id = kedge_buffer_make(work->log->project->allocator);
    bool read = kedge_json_to_text(key, &id);
    kedge_status status = kedge_buffer_status(&id, error);
    if (status == KEDGE_OK && !read) status = KEDGE_CORRUPT;
    if (status == KEDGE_OK)
        status =
            kedge_overlay_put(work->overlay, collection, kedge_buffer_bytes(&id), value, error);
    kedge_buffer_free(&id);
    return status;
}

static kedge_status put_collection(folding *work, kedge_bytes name, kedge_bytes items,
                                   kedge_error *error)
{
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes key, value;
    kedge_status status = KEDGE_OK;
    if (!kedge_json_to_chars(name, collection, sizeof collection)) return KEDGE_CORRUPT;
    kedge_json_iterator each = kedge_json_iterate(items);
    while (status == KEDGE_OK && kedge_json_next_member(&each, &key, &value))
        status = put_item(work, kedge_bytes_of(collection), key, value, error);
    return status;
}

/* KEDGE_CORRUPT: the text is another's. */
static kedge_status put_state(folding *work, kedge_bytes text, int64_t number, kedge_error *error)
{
    kedge_bytes collections, name, items, record;
    int64_t stands_for;
    kedge_status status = KEDGE_OK;
    if (!kedge_json_member(text, "collections", &collections) ||
        kedge_json_type_of(collections) != KEDGE_JSON_OBJECT ||
        !kedge_json_member_integer(text, "number", &stands_for) || stands_for != number)
        return KEDGE_CORRUPT;
    kedge_json_iterator each = kedge_json_iterate(collections);
    while (status == KEDGE_OK && kedge_json_next_member(&each, &name, &items))
        status = put_collection(work, name, items, error);
    if (status == KEDGE_OK && kedge_json_member(text, "project", &record))
        status = kedge_overlay_put(work->overlay, (kedge_bytes){"", 0}, (kedge_bytes){"", 0},
                                   record, error);
    return status;
}

/* The last snapshot, unless it is behind the entry, or another made it. */
static kedge_status open_base(folding *work, const kedge_log_summary *summary, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_buffer text = kedge_buffer_make(work->log->project->allocator);
    kedge_status status = KEDGE_NOT_FOUND;
    work->from = summary->first;
    if (summary->last_snapshot >= 0 && summary->last_snapshot < work->to &&
        summary->snapshot_entry.count > 0)
        status = kedge_log_snapshot_read(work->log, summary->snapshot_entry.entries[0].snapshot,
                                         &text, &failure);
    if (status == KEDGE_OK)
        status = put_state(work, kedge_buffer_bytes(&text), summary->last_snapshot, &failure);
    kedge_buffer_free(&text);
    if (status == KEDGE_OK) {
        work->from = summary->last_snapshot + 1;
        work->any = true;
        return KEDGE_OK;
    }
    if (status != KEDGE_NOT_FOUND && status != KEDGE_CORRUPT)
        return kedge_fail(error, status, failure.code, "%s", failure.message);
    kedge_overlay_clear(work->overlay);
    if (work->from == 0) return KEDGE_OK;
    return kedge_fail(
        error, KEDGE_UNSUPPORTED, "snapshot-base-missing",
        "the log %.*s is truncated, and its last snapshot is not one of the backend's",
        (int)work->log->name.size, work->log->name.data);
}

static kedge_status find_base(folding *work, kedge_error *error)
{
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(work->log->project->allocator)};
    kedge_status status = kedge_log_summarize(work->log, true, &summary, error);
    if (status == KEDGE_OK) status = open_base(work, &summary, error);
    kedge_log_page_free(&summary.snapshot_entry);
    return status;
}

/* ---- entries ---- */

static kedge_status apply(folding *work, const kedge_log_entry *entry, kedge_error *error)
{
    kedge_replay_decision decision;
    if (kedge_log_entry_is_system(entry)) return KEDGE_OK;
    if (kedge_registry_find(work->registry, entry->type) == NULL)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-type-unknown",
                          "the type %.*s of entry %lld of the log %.*s is no mutator here",
                          (int)entry->type.size, entry->type.data, (long long)entry->at.number,
                          (int)work->log->name.size, work->log->name.data);
    kedge_buffer_clear(&work->body);
    kedge_status status = kedge_log_read_body(work->log, entry, &work->body, error);
    if (status != KEDGE_OK) return status;
    const kedge_replay_mutation call = {.call = {.name = entry->type,
                                                 .args = kedge_buffer_bytes(&work->body),
                                                 .args_are_canonical = true,
                                                 .caller = {.user = "",
                                                            .role = "",
                                                            .client = "",
                                                            .now_ms = entry->created_s * 1000}},
                                        .mutator = entry->version,
                                        .decided = KEDGE_REPLAY_OPEN};
    status = kedge_replay_decide(work->tx, work->registry, &call, &decision, error);
    work->any = true;
    if (status != KEDGE_OK || kedge_overlay_bytes(work->overlay) <= KEDGE_FOLD_BYTES_MAX)
        return status;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-too-large",
                      "the state of the log %.*s has more than %d bytes", (int)work->log->name.size,
                      work->log->name.data, KEDGE_FOLD_BYTES_MAX);
}

static kedge_status apply_page(folding *work, const kedge_log_page *page, int64_t *next,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < page->count && status == KEDGE_OK; i++) {
        if (page->entries[i].at.number > work->to) break;
        status = apply(work, &page->entries[i], error);
        *next = page->entries[i].at.number + 1;
    }
    return status;
}

static kedge_status apply_entries(folding *work, kedge_error *error)
{
    kedge_log_reader reader;
    int64_t next = work->from;
    kedge_status status =
        kedge_log_query(work->log, KEDGE_LOG_FROM_NUMBER, work->from, false, &reader, error);
    reader.consistent = true;
    while (status == KEDGE_OK && next <= work->to) {
        kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
        status = kedge_log_read(&reader, PAGE, &page, error);
        bool ended = page.count == 0;
        if (status == KEDGE_OK) status = apply_page(work, &page, &next, error);
        kedge_log_page_free(&page);
        if (ended) break;
    }
    if (status != KEDGE_OK || next > work->to) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "entries-missing",
                      "the entries up to %lld could not be read", (long long)work->to);
}

/* ---- the text ---- */

static void write_items(const folding *work, kedge_json_writer *writer, kedge_overlay_entry *entry,
                        bool *more)
{
    kedge_bytes collection = entry->collection;
    kedge_json_key_bytes(writer, collection);
    kedge_json_begin_object(writer);
    while (*more && kedge_bytes_equal(entry->collection, collection)) {
        if (!entry->deleted) {
            kedge_json_key_bytes(writer, entry->id);
            kedge_json_raw(writer, entry->value);
        }
        const kedge_overlay_entry at = *entry;
        *more = kedge_overlay_next(work->overlay, &at, entry);
    }
    kedge_json_end_object(writer);
}

/* The project record is the first entry: its names are empty. */
static void write_state(const folding *work, kedge_buffer *text)
{
    kedge_overlay_entry entry;
    kedge_bytes record = {NULL, 0};
    kedge_json_writer writer = kedge_json_write(text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "collections");
    kedge_json_begin_object(&writer);
    bool more = kedge_overlay_next(work->overlay, NULL, &entry);
    if (more && entry.collection.size == 0) {
        const kedge_overlay_entry first = entry;
        if (!entry.deleted) record = entry.value;
        more = kedge_overlay_next(work->overlay, &first, &entry);
    }
    while (more)
        write_items(work, &writer, &entry, &more);
    kedge_json_end_object(&writer);
    kedge_json_key(&writer, "log");
    kedge_json_text(&writer, work->log->name);
    kedge_json_key(&writer, "number");
    kedge_json_integer(&writer, work->to);
    if (record.size > 0) {
        kedge_json_key(&writer, "project");
        kedge_json_raw(&writer, record);
    }
    kedge_json_end_object(&writer);
}

static kedge_status put_text(const folding *work, const char *id, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(work->log->project->allocator);
    write_state(work, &text);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK)
        status = kedge_log_snapshot_write(work->log, kedge_bytes_of(id), kedge_buffer_bytes(&text),
                                          error);
    kedge_buffer_free(&text);
    return status;
}

/* ---- all of it ---- */

static kedge_status fold(folding *work, kedge_error *error)
{
    const kedge_allocator *allocator = work->log->project->allocator;
    if (work->overlay == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_tx_new(allocator, work->registry, work->overlay,
                                       kedge_state_reader_empty, &work->tx, error);
    if (status == KEDGE_OK) status = find_base(work, error);
    if (status == KEDGE_OK) status = apply_entries(work, error);
    if (status != KEDGE_OK || work->any) return status;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-empty",
                      "no event stands in front of entry %lld of the log %.*s", (long long)work->to,
                      (int)work->log->name.size, work->log->name.data);
}

kedge_status kedge_effects_fold(const kedge_log *log, const kedge_log_place *at,
                                char id[KEDGE_SHA256_HEX], kedge_error *error)
{
    const kedge_allocator *allocator = log->project->allocator;
    folding work = {.log = log,
                    .registry = log->project->backend->options.registry,
                    .overlay = kedge_overlay_new(allocator),
                    .body = kedge_buffer_make(allocator),
                    .to = at->number};
    kedge_status status = fold(&work, error);
    kedge_snapshot_id(log, at, id);
    if (status == KEDGE_OK) status = put_text(&work, id, error);
    kedge_tx_free(work.tx);
    kedge_overlay_free(work.overlay);
    kedge_buffer_free(&work.body);
    return status;
}
