/* Add Entry, with optimistic concurrency: the entry after the last one is put if it is absent.
 *
 * A put whose outcome is unknown holds its place. Until something is seen there, the same place is
 * tried again: the put may still come, and on another place the entry would then stand twice.
 *
 * A place is free again when its entry was removed. A put that comes so late is looked at as if its
 * outcome were unknown. */
#include "backend/base/pause.h"
#include "backend/log/archive.h"
#include "backend/log/body.h"
#include "backend/log/commit.h"
#include "backend/log/segments.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

#include <kedge/limits.h>
#include <string.h>

/* A process that takes longer between the read of the last entry and the end of its put may have
 * been suspended, while others ended the segment, archived it and removed its entries. */
#define LATE_MS 5000

typedef struct appending {
    const kedge_log *log;
    const kedge_log_append_request *request;
    kedge_log_append_result *result;
    kedge_log_entry entry;
    kedge_log_body_name external;
    kedge_log_segment segment; /* where the entry goes, after segment.first and entry.at.num */
    kedge_arena arena;
    int64_t looked_ms; /* when step 2 began, by the monotonic clock and by the other one */
    int64_t looked_at_ms;
    bool held; /* a put at this place has an unknown outcome */
    bool done; /* the result is known */
} appending;

/* ---- the request ---- */

static kedge_status check_size(const kedge_log_append_request *request, size_t bytes,
                               kedge_error *error)
{
    size_t most = request->body_bytes_max == 0 ? KEDGE_LOG_BODY_BYTES_MAX : request->body_bytes_max;
    KEDGE_ASSERT(most <= KEDGE_LOG_STORED_BYTES_MAX);
    if (bytes <= most) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "log-body-too-large",
                      "the body has %zu bytes; at most %zu are allowed", bytes, most);
}

static kedge_status check_request(const kedge_log *log, const kedge_log_append_request *request,
                                  kedge_error *error)
{
    kedge_status status = kedge_check_name("log", log->name, error);
    bool snapshot = kedge_bytes_equal_text(request->type, KEDGE_LOG_SNAPSHOT);
    if (status == KEDGE_OK) status = kedge_check_name("type", request->type, error);
    if (status != KEDGE_OK) return status;
    if (request->version < 1 || request->version > KEDGE_LOG_VERSION_MAX ||
        (snapshot && request->version != KEDGE_LOG_SYSTEM_VERSION)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "log-version-invalid",
                          "the version of the type %.*s must be from 1 to %d",
                          (int)request->type.size, request->type.data,
                          snapshot ? KEDGE_LOG_SYSTEM_VERSION : KEDGE_LOG_VERSION_MAX);
    }
    return check_size(request, request->body.size, error);
}

static bool is_zero(const uint8_t id[KEDGE_LOG_ID_SIZE])
{
    static const uint8_t zero[KEDGE_LOG_ID_SIZE];
    return memcmp(id, zero, sizeof zero) == 0;
}

static size_t inline_bytes(const kedge_log *log)
{
    size_t bytes = log->project->backend->options.log_inline_bytes;
    KEDGE_ASSERT(bytes <= KEDGE_LOG_INLINE_BYTES_MAX);
    return bytes == 0 ? KEDGE_LOG_INLINE_BYTES : bytes;
}

static kedge_status prepare(appending *work, kedge_buffer *canonical, kedge_error *error)
{
    const kedge_log_append_request *request = work->request;
    kedge_bytes body = request->body.size == 0 ? KEDGE_BYTES("null") : request->body;
    kedge_status status = kedge_json_normalize(body, KEDGE_LIMIT_JSON_DEPTH, canonical, error);
    /* A number may be longer than it was. */
    if (status == KEDGE_OK) status = check_size(request, canonical->size, error);
    if (status != KEDGE_OK) return status;
    work->entry = (kedge_log_entry){.created_s = kedge_log_now_s(work->log),
                                    .type = request->type,
                                    .version = request->version,
                                    .body = kedge_buffer_bytes(canonical)};
    memcpy(work->entry.id, request->id, sizeof work->entry.id);
    if (is_zero(request->id)) kedge_log_new_id(work->log, work->entry.id);
    return KEDGE_OK;
}

/* The blob is written once, and when it is known where the entry can go. */
static kedge_status prepare_body(appending *work, kedge_error *error)
{
    if (work->external.text[0] != '\0' || work->entry.body.size <= inline_bytes(work->log))
        return KEDGE_OK;
    kedge_status status = kedge_log_body_write(work->log, work->entry.body, &work->external, error);
    if (status == KEDGE_OK) work->entry.external = kedge_bytes_of(work->external.text);
    return status;
}

/* ---- the place ---- */

static void finish(appending *work, const kedge_log_place *at, bool before)
{
    work->done = true;
    work->result->at = *at;
    work->result->before = before;
}

/* Looks from `number` on, up to `next`, for the entry itself (`found`), and for any event
 * (`event`), at which it ends when `until_event`. */
static kedge_status scan(appending *work, const kedge_log_segment *newest, int64_t number,
                         int64_t next, bool until_event, bool *event, kedge_error *error)
{
    kedge_log_segment segment;
    kedge_status status = kedge_log_segment_of(work->log, newest, &number, &segment, error);
    if (status != KEDGE_OK) return status;
    kedge_log_reader reader = {.log = work->log,
                               .consistent = true,
                               .segment = segment.num,
                               .first = segment.first,
                               .num = number - segment.first,
                               .newest = newest->num};
    bool looks = true;
    while (status == KEDGE_OK && looks && !reader.ended && !work->done) {
        kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
        status = kedge_log_read(&reader, 100, &page, error);
        for (size_t i = 0; i < page.count && status == KEDGE_OK && looks; i++) {
            const kedge_log_entry *entry = &page.entries[i];
            looks = entry->at.number < next;
            if (!looks) break;
            if (memcmp(entry->id, work->entry.id, sizeof entry->id) == 0) {
                finish(work, &entry->at, true);
                /* Who put it may have ended before it removed the tag of the body. */
                if (entry->external.size > 0) kedge_log_body_keep(work->log, entry->external);
                looks = false;
            } else if (!kedge_log_entry_is_system(entry)) {
                *event = true;
                looks = !until_event;
            }
        }
        kedge_log_page_free(&page);
    }
    return status;
}

static kedge_status again(kedge_error *error, const char *why)
{
    return kedge_fail(error, KEDGE_CONFLICT, "log-moved", "%s", why);
}

/* Whether the caller may append at `next`. A refusal is decided on consistent reads alone. */
static kedge_status check_expected(appending *work, int64_t next, bool consistent,
                                   kedge_error *error)
{
    int64_t expected = work->request->expected;
    int64_t since = expected >= 0 ? expected : work->request->since;
    bool event = false;
    if (since < 0 || expected == next) return KEDGE_OK;
    if (!consistent) return again(error, "the last entry is read again");
    if (since < next) {
        kedge_status status = scan(work, &work->segment, since, next, expected >= 0, &event, error);
        if (status != KEDGE_OK || work->done) return status;
    }
    if (expected < 0 || (expected < next && !event)) return KEDGE_OK;
    work->done = true;
    work->result->conflict = true;
    work->result->at = (kedge_log_place){.number = next};
    return KEDGE_OK;
}

/* Step 1, or a hint in its place. */
static kedge_status find_segment(appending *work, bool consistent, kedge_error *error)
{
    size_t count;
    kedge_log_hint hint;
    kedge_backend *backend = work->log->project->backend;
    memcpy(hint.id, work->log->id, sizeof hint.id);
    if (!consistent && kedge_log_hint_find(&backend->log_hints, &hint)) {
        work->segment = (kedge_log_segment){.num = hint.segment, .first = hint.first};
        return KEDGE_OK;
    }
    kedge_status status =
        kedge_log_segments_newest(work->log, 1, consistent, &work->segment, &count, error);
    if (status != KEDGE_OK) return status;
    hint.segment = work->segment.num;
    hint.first = work->segment.first;
    kedge_log_hint_put(&backend->log_hints, &hint);
    return KEDGE_OK;
}

/* An entry expires only when its segment is archived. The store deletes expired entries in any
 * order: the End Segment entry may be gone before the others, and places after them are free. */
static bool has_ended(const kedge_log_entry *last)
{
    return last->expires_s > 0 || kedge_bytes_equal_text(last->type, KEDGE_LOG_END_SEGMENT);
}

/* The monotonic clock may stand still while a machine sleeps, and the other one may be set. */
static bool is_late(const appending *work)
{
    const kedge_environment *environment = work->log->project->backend->options.environment;
    return environment->monotonic_ms(environment->context) - work->looked_ms > LATE_MS ||
           environment->now_ms(environment->context) - work->looked_at_ms > LATE_MS;
}

/* Step 2. */
static kedge_status find_place(appending *work, bool consistent, kedge_error *error)
{
    const kedge_environment *environment = work->log->project->backend->options.environment;
    work->looked_ms = environment->monotonic_ms(environment->context);
    work->looked_at_ms = environment->now_ms(environment->context);
    kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
    kedge_status status = find_segment(work, consistent, error);
    if (status == KEDGE_OK)
        status = kedge_log_entry_last(work->log, &work->segment, consistent, &page, error);
    if (status != KEDGE_OK) goto out;
    if (page.count == 0) {
        status = consistent ? kedge_log_corrupt(work->log, work->segment.num, -1, error,
                                                "the segment has no entries")
                            : again(error, "the segment's entries are not seen yet");
    } else if (has_ended(&page.entries[0])) {
        status = again(error, "the segment has ended");
    } else {
        work->entry.at.segment = work->segment.num;
        work->entry.at.num = page.entries[0].at.num + 1;
        work->entry.at.number = page.entries[0].at.number + 1;
        status = check_expected(work, work->entry.at.number, consistent, error);
    }
out:
    kedge_log_page_free(&page);
    return status;
}

/* ---- one try ---- */

/* Step 3. */
static kedge_status put(appending *work, kedge_error *error)
{
    kedge_log_record record;
    const kedge_records *records = work->log->project->records;
    kedge_arena_free(&work->arena);
    kedge_status status =
        kedge_log_entry_encode(work->log, &work->entry, &work->arena, &record, error);
    if (status != KEDGE_OK) return status;
    kedge_record_write write = kedge_log_put(&record, KEDGE_IF_ABSENT);
    status = records->vtable->write(records->self, &write, error);
    if (status == KEDGE_UNAVAILABLE || status == KEDGE_TIMEOUT) work->held = true;
    if (status != KEDGE_OK) return status;
    if (is_late(work)) {
        work->held = true;
        return again(error, "the put came late");
    }
    finish(work, &work->entry.at, false);
    return KEDGE_OK;
}

/* Whether the archive has the entry. */
static kedge_status look_in_archive(const appending *work, const kedge_log_segment *segment,
                                    bool *has, kedge_error *error)
{
    int64_t num = work->entry.at.num;
    kedge_log_archive_root root;
    kedge_log_archived part = {.count = 0};
    kedge_arena arena = kedge_arena_make(work->log->project->allocator);
    kedge_status status = kedge_log_archive_open(work->log, segment, &arena, &root, error);
    if (status == KEDGE_OK && num < root.entries)
        status = kedge_log_archive_read(work->log, &root, num, &arena, &part, error);
    *has = false;
    for (size_t i = 0; i < part.count && status == KEDGE_OK; i++) {
        const kedge_log_entry *entry = &part.entries[i];
        *has = *has ||
               (entry->at.num == num && memcmp(entry->id, work->entry.id, sizeof entry->id) == 0);
    }
    kedge_arena_free(&arena);
    return status;
}

static kedge_status remove_own(const appending *work, kedge_error *error)
{
    const kedge_records *records = work->log->project->records;
    kedge_log_key partition = kedge_log_key_entries(work->log, work->entry.at.segment);
    kedge_log_key sort = kedge_log_key_num(work->entry.at.num);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record.key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}};
    return records->vtable->write(records->self, &write, error);
}

/* The entry is in the table. It is lost there, and is removed again, when its segment was archived
 * without it or its place was truncated. */
static kedge_status look_at_own(appending *work, kedge_error *error)
{
    bool kept = true;
    kedge_log_segment segment;
    kedge_status status = kedge_log_segment_get(work->log, work->entry.at.segment, &segment, error);
    if (status == KEDGE_NOT_FOUND || (status == KEDGE_OK && work->entry.at.num < segment.deleted)) {
        kept = false;
        status = KEDGE_OK;
    } else if (status == KEDGE_OK && segment.archived) {
        status = look_in_archive(work, &segment, &kept, error);
    }
    if (status == KEDGE_OK && kept) finish(work, &work->entry.at, false);
    if (status != KEDGE_OK || kept) return status;
    /* What removed the entries may have removed its body: it is written again. */
    work->external.text[0] = '\0';
    work->entry.external.size = 0;
    return remove_own(work, error);
}

/* What has become of a put with an unknown outcome. */
static kedge_status look_at_held(appending *work, kedge_error *error)
{
    kedge_log_occupant occupant;
    kedge_status status = kedge_log_look(work->log, &work->segment, work->entry.at.num,
                                         work->entry.id, &occupant, error);
    if (status == KEDGE_OK && occupant == KEDGE_LOG_OWN) {
        if (is_late(work))
            status = look_at_own(work, error);
        else
            finish(work, &work->entry.at, false);
    }
    if (status == KEDGE_OK && occupant != KEDGE_LOG_FREE) work->held = false;
    return status;
}

static kedge_status try_once(appending *work, bool consistent, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (work->held) status = look_at_held(work, error);
    if (status == KEDGE_OK && !work->held && !work->done)
        status = find_place(work, consistent, error);
    if (status != KEDGE_OK || work->done) return status;
    status = prepare_body(work, error);
    return status == KEDGE_OK ? put(work, error) : status;
}

/* Step 4: again from step 1, which then reads consistently. */
static kedge_status append(appending *work, kedge_error *error)
{
    kedge_error failure = {0};
    for (uint32_t tries = 0; tries < KEDGE_LOG_TRIES_MAX; tries++) {
        if (tries > 0) kedge_backend_pause(work->log->project->backend, tries);
        kedge_status status = try_once(work, tries > 0, &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
        if (!kedge_log_is_transient(status))
            return kedge_fail(error, status, failure.code, "%s", failure.message);
    }
    return kedge_log_give_up("the entry could be appended", &failure, error);
}

static void settle_body(const appending *work, kedge_status status)
{
    kedge_bytes name = kedge_bytes_of(work->external.text);
    bool appended = status == KEDGE_OK && !work->result->conflict && !work->result->before;
    if (name.size == 0 || work->entry.external.size == 0) return;
    if (appended)
        kedge_log_body_keep(work->log, name);
    else if (!work->held)
        kedge_log_body_discard(work->log, name);
}

kedge_status kedge_log_append(const kedge_log *log, const kedge_log_append_request *request,
                              kedge_log_append_result *result, kedge_error *error)
{
    kedge_status status = check_request(log, request, error);
    if (status != KEDGE_OK) return status;
    *result = (kedge_log_append_result){.conflict = false};
    appending work = {.log = log,
                      .request = request,
                      .result = result,
                      .arena = kedge_arena_make(log->project->allocator)};
    kedge_buffer canonical = kedge_buffer_make(log->project->allocator);
    kedge_locks *locks = &log->project->backend->locks;
    const kedge_lock_name name = {log->project->ref, {(const char *)log->id, sizeof log->id}};
    kedge_lock_place place;
    status = prepare(&work, &canonical, error);
    if (status == KEDGE_OK) {
        if (!request->locked) kedge_lock(locks, &name, &place);
        status = append(&work, error);
        if (!request->locked) kedge_unlock(locks, &place);
        settle_body(&work, status);
    }
    kedge_arena_free(&work.arena);
    kedge_buffer_free(&canonical);
    bool unknown = status != KEDGE_OK && work.held;
    if (!request->locked && (unknown || (status == KEDGE_OK && !result->conflict)))
        kedge_log_tell(log, unknown ? work.entry.at.number : result->at.number);
    return status;
}
