/* Reads a log page by page, up or down, from segment to segment.
 *
 * What a read gives is held to the rules of a log: nums without a gap, no id twice, nothing after
 * an End Segment, an End Segment at the end of every segment but the newest. A read that is not
 * consistent may break them while nothing is wrong. So it is made again, consistently, and only
 * then the log is corrupt. */
#include "backend/log/archive.h"
#include "backend/log/segments.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

/* Reads of one call: an eventual and a consistent one, and both again when entries were
 * truncated. */
#define ROUNDS_MAX 4

/* ---- one query ---- */

static kedge_status query(const kedge_log_reader *reader, uint32_t limit, bool consistent,
                          kedge_record_set *set, kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_entries(reader->log, reader->segment);
    kedge_log_key num = kedge_log_key_num(reader->num < 0 ? 0 : reader->num);
    kedge_records_query wanted = {.partition = kedge_log_key_bytes(&partition),
                                  .descending = reader->descending,
                                  .limit = limit,
                                  .consistent = consistent};
    if (!reader->descending) wanted.sort_from = kedge_log_key_bytes(&num);
    if (reader->descending && reader->num >= 0) wanted.sort_to = kedge_log_key_bytes(&num);
    const kedge_records *records = reader->log->project->records;
    return records->vtable->query(records->self, &wanted, set, error);
}

/* ---- the rules ---- */

static bool is_end(const kedge_log_entry *entry)
{
    return kedge_bytes_equal_text(entry->type, KEDGE_LOG_END_SEGMENT);
}

static bool is_known(const kedge_log_reader *reader, const kedge_log_entry *entry)
{
    if (reader->types == NULL || kedge_log_entry_is_system(entry)) return true;
    for (size_t i = 0; i < reader->type_count; i++) {
        if (kedge_bytes_equal(reader->types[i].name, entry->type))
            return entry->version <= reader->types[i].version_max;
    }
    return false;
}

static kedge_status refuse_type(const kedge_log_reader *reader, const kedge_log_entry *entry,
                                kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNSUPPORTED, "log-type-unknown",
                      "the log %.*s has at segment %lld, entry %lld, version %lld of the type "
                      "%.*s, which the reader does not know",
                      (int)reader->log->name.size, reader->log->name.data,
                      (long long)entry->at.segment, (long long)entry->at.num,
                      (long long)entry->version, (int)entry->type.size, entry->type.data);
}

static bool stands_twice(const kedge_log_reader *reader, const kedge_log_entry *entry)
{
    return memcmp(reader->last_id, entry->id, sizeof entry->id) == 0;
}

/* Whether `entry` may stand at reader->num. */
static kedge_status check_entry(const kedge_log_reader *reader, const kedge_log_entry *entry,
                                kedge_error *error)
{
    const kedge_log *log = reader->log;
    if (reader->num >= 0 && entry->at.num != reader->num) {
        return kedge_log_corrupt(log, reader->segment, reader->num, error, "the entry is missing");
    }
    if (reader->num < 0 && !is_end(entry)) {
        return kedge_log_corrupt(log, reader->segment, entry->at.num + 1, error,
                                 "the End Segment entry is missing");
    }
    if (stands_twice(reader, entry)) {
        return kedge_log_corrupt(log, reader->segment, entry->at.num, error,
                                 "the entry is there twice in a row");
    }
    bool first = entry->at.num == 0;
    if (first && !kedge_bytes_equal_text(entry->type, KEDGE_LOG_SNAPSHOT)) {
        return kedge_log_corrupt(log, reader->segment, 0, error,
                                 "the segment does not start with a Snapshot entry");
    }
    return is_known(reader, entry) ? KEDGE_OK : refuse_type(reader, entry, error);
}

/* ---- moving ---- */

static void move_up(kedge_log_reader *reader, const kedge_log_entry *entry)
{
    reader->num = entry->at.num + 1;
    if (!is_end(entry)) return;
    reader->segment++;
    reader->first = entry->at.number + 1;
    reader->num = reader->skips_snapshots ? 1 : 0;
    if (reader->newest < reader->segment) reader->newest = reader->segment;
}

static void move_down(kedge_log_reader *reader, const kedge_log_entry *entry)
{
    reader->num = entry->at.num - 1;
    if (entry->at.num > 0) return;
    if (reader->segment == 0) {
        reader->ended = true;
        return;
    }
    reader->segment--;
    reader->num = -1;
    reader->first = -1;
    reader->end = entry->at.number - 1;
}

static void move(kedge_log_reader *reader, const kedge_log_entry *entry)
{
    if (reader->descending)
        move_down(reader, entry);
    else
        move_up(reader, entry);
}

/* ---- pages ---- */

/* Takes the entry that the reader stands at, and moves on. `more`: another one is after it in the
 * segment. What a query says of more to come is no proof: DynamoDB says so of every full page. */
static kedge_status accept(kedge_log_reader *reader, kedge_log_page *page,
                           const kedge_log_entry *entry, bool more, kedge_error *error)
{
    kedge_status status = check_entry(reader, entry, error);
    if (status != KEDGE_OK) return status;
    if (is_end(entry) && more && !reader->descending) {
        return kedge_log_corrupt(reader->log, reader->segment, entry->at.num, error,
                                 "there is an entry after the End Segment entry");
    }
    page->entries[page->count++] = *entry;
    memcpy(reader->last_id, entry->id, sizeof reader->last_id);
    move(reader, entry);
    return KEDGE_OK;
}

/* Finds the number of the segment's first entry. When the segment is read from its end, the reader
 * knows only the number of `last`, its last entry. */
static void learn_first(kedge_log_reader *reader, const kedge_record *last)
{
    int64_t num;
    if (reader->first < 0 && kedge_log_key_read_num(last->key.sort, &num))
        reader->first = reader->end - num;
}

static kedge_status read_table(kedge_log_reader *reader, uint32_t limit, bool consistent,
                               kedge_log_page *page, kedge_error *error)
{
    kedge_record_set set = {0};
    int64_t segment = reader->segment;
    kedge_status status = query(reader, limit, consistent, &set, error);
    if (status == KEDGE_OK && set.count > 0) learn_first(reader, &set.records[0]);
    for (size_t i = 0; i < set.count && status == KEDGE_OK && reader->segment == segment; i++) {
        kedge_log_entry entry;
        status = kedge_log_entry_decode(reader->log, segment, reader->first, &set.records[i],
                                        &page->arena, &entry, error);
        if (status == KEDGE_OK) status = accept(reader, page, &entry, i + 1 < set.count, error);
    }
    kedge_record_set_free(&set);
    return status;
}

/* Nothing was read where the reader stands: does the log, as it was seen, end here? */
static bool is_behind_the_last(const kedge_log_reader *reader)
{
    return !reader->descending && reader->num > 0 && reader->segment >= reader->newest;
}

/* ---- what is not in the table ---- */

static kedge_status missing(const kedge_log_reader *reader, kedge_error *error)
{
    return kedge_log_corrupt(reader->log, reader->segment, reader->num, error, "%s",
                             reader->num < 0 ? "its entries are missing" : "the entry is missing");
}

/* The segment is not kept any more, or was truncated in front of `num`. Load and Update Loaded give
 * no gap: whoever reads starts again, from the last snapshot. */
static kedge_status skip_truncated(kedge_log_reader *reader, kedge_error *error)
{
    kedge_log_segment segment;
    int64_t number = reader->num < 0 ? reader->end : reader->first + reader->num;
    int64_t kept = number;
    kedge_status status = kedge_log_segment_find(reader->log, &kept, &segment, error);
    if (status != KEDGE_OK) return status;
    if (kept == number && segment.num == reader->segment) return missing(reader, error);
    if (reader->skips_snapshots) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                          "the log %.*s was truncated while it was loaded; load it again",
                          (int)reader->log->name.size, reader->log->name.data);
    }
    if (reader->descending) {
        reader->ended = true;
        return KEDGE_OK;
    }
    reader->segment = segment.num;
    reader->first = segment.first;
    reader->num = kept - segment.first;
    return KEDGE_OK;
}

/* Takes from the archive what the reader wants, a page of it. */
static kedge_status take_archived(kedge_log_reader *reader, uint32_t limit, int64_t deleted,
                                  const kedge_log_archive_root *root, kedge_log_page *page,
                                  kedge_error *error)
{
    if (reader->num < 0) {
        reader->first = root->first;
        reader->num = root->entries - 1;
    }
    kedge_log_archived part;
    kedge_status status =
        kedge_log_archive_read(reader->log, root, reader->num, &page->arena, &part, error);
    int64_t at = part.count == 0 ? 0 : reader->num - part.entries[0].at.num;
    int64_t step = reader->descending ? -1 : 1;
    while (status == KEDGE_OK && at >= 0 && at < (int64_t)part.count && page->count < limit) {
        reader->ended = part.entries[at].at.num < deleted; /* downwards */
        if (reader->ended) return KEDGE_OK;
        status = accept(reader, page, &part.entries[at], false, error);
        at += step;
    }
    return page->count > 0 ? KEDGE_OK : status;
}

/* After a consistent read that did not give what must be there. */
static kedge_status look_elsewhere(kedge_log_reader *reader, uint32_t limit, kedge_log_page *page,
                                   kedge_error *error)
{
    kedge_log_segment segment = {.num = 0};
    kedge_log_archive_root root;
    kedge_status status = kedge_log_segment_get(reader->log, reader->segment, &segment, error);
    bool kept = reader->num < 0 || reader->num >= segment.deleted;
    bool archived = status == KEDGE_OK && segment.archived && kept;
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    if (!archived) return skip_truncated(reader, error);
    kedge_arena arena = kedge_arena_make(reader->log->project->allocator);
    status = kedge_log_archive_open(reader->log, &segment, &arena, &root, error);
    if (status == KEDGE_OK)
        status = take_archived(reader, limit, segment.deleted, &root, page, error);
    kedge_arena_free(&arena);
    return status;
}

static bool gave_nothing(kedge_status status, const kedge_log_page *page)
{
    return page->count == 0 && (status == KEDGE_OK || status == KEDGE_CORRUPT);
}

kedge_status kedge_log_read(kedge_log_reader *reader, uint32_t limit, kedge_log_page *page,
                            kedge_error *error)
{
    KEDGE_ASSERT(limit >= 1 && limit <= KEDGE_LOG_PAGE_MAX && page->count == 0);
    if (reader->ended) return KEDGE_OK;
    page->entries = kedge_arena_take_array(&page->arena, limit, sizeof *page->entries);
    if (page->entries == NULL) return kedge_fail_no_memory(error);
    kedge_error failure = {0};
    kedge_status status = KEDGE_OK;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        bool consistent = reader->consistent || round > 0;
        if (reader->num < 0) reader->first = -1; /* a stale read may have told another end */
        status = read_table(reader, limit, consistent, page, &failure);
        if (page->count > 0) return KEDGE_OK;
        if (!gave_nothing(status, page)) break;
        if (status == KEDGE_OK && is_behind_the_last(reader)) {
            reader->ended = true;
            return KEDGE_OK;
        }
        if (!consistent) continue;
        bool told = status == KEDGE_CORRUPT; /* what is wrong, better than the other place can */
        kedge_error other = {0};
        status = look_elsewhere(reader, limit, page, &other);
        if (status != KEDGE_OK && !(told && status == KEDGE_CORRUPT)) failure = other;
        if (status != KEDGE_OK || page->count > 0 || reader->ended) break;
    }
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}
