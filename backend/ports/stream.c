/* The stream port: what all of its implementations share. */
#include "backend/ports/stream_support.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void kedge_stream_shards_free(kedge_stream_shards *shards)
{
    if (shards->memory_free != NULL) shards->memory_free(shards->memory);
    *shards = (kedge_stream_shards){0};
}

void kedge_stream_batch_free(kedge_stream_batch *batch)
{
    if (batch->memory_free != NULL) batch->memory_free(batch->memory);
    *batch = (kedge_stream_batch){0};
}

/* ---- checks ---- */

static kedge_status check_count(const char *what, uint32_t count, uint32_t count_max,
                                kedge_error *error)
{
    if (count >= 1 && count <= count_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-limit",
                      "the limit of %s is %u; 1 to %u are allowed", what, count, count_max);
}

static kedge_status check_size(const char *what, kedge_bytes text, size_t size_max,
                               kedge_error *error)
{
    if (text.size <= size_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-stream-query",
                      "the %s is %zu bytes long; at most %zu are allowed", what, text.size,
                      size_max);
}

kedge_status kedge_stream_shards_check(kedge_bytes after, uint32_t limit, kedge_error *error)
{
    kedge_status status = check_count("a list of shards", limit, KEDGE_STREAM_SHARDS_MAX, error);
    return status == KEDGE_OK
               ? check_size("shard to start after", after, KEDGE_STREAM_SHARD_BYTES_MAX, error)
               : status;
}

static kedge_status check_patterns(const kedge_stream_query *query, kedge_error *error)
{
    if (query->pattern_count > KEDGE_STREAM_PATTERNS_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-patterns",
                          "the query has %zu patterns; at most %d are allowed",
                          query->pattern_count, KEDGE_STREAM_PATTERNS_MAX);
    return KEDGE_OK;
}

kedge_status kedge_stream_query_check(const kedge_stream_query *query, kedge_error *error)
{
    kedge_bytes shard = kedge_bytes_of(query->shard);
    if (shard.size == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-stream-query",
                          "the query names no shard");
    if (query->newest && query->position.size > 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-stream-query",
                          "the query has a position and asks for the newest changes");
    kedge_status status = check_size("shard", shard, KEDGE_STREAM_SHARD_BYTES_MAX, error);
    if (status == KEDGE_OK)
        status = check_size("position", query->position, KEDGE_STREAM_POSITION_BYTES_MAX, error);
    if (status == KEDGE_OK)
        status = check_count("a read of a stream", query->limit, KEDGE_STREAM_READ_MAX, error);
    return status == KEDGE_OK ? check_patterns(query, error) : status;
}

kedge_status kedge_stream_invalid_position(kedge_bytes position, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, KEDGE_STREAM_NO_POSITION,
                      "the stream never gave the position %.*s", (int)position.size,
                      position.size == 0 ? "" : position.data);
}

kedge_status kedge_stream_fail_trimmed(const char *shard, kedge_bytes position, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, KEDGE_STREAM_TRIMMED,
                      "changes of the shard %s after the position %.*s are trimmed", shard,
                      (int)position.size, position.size == 0 ? "" : position.data);
}

bool kedge_stream_fits(const kedge_stream_query *query, kedge_stream_change_kind kind,
                       const kedge_record *record)
{
    for (size_t i = 0; i < query->pattern_count; i++) {
        const kedge_stream_pattern *pattern = &query->patterns[i];
        if (!kedge_bytes_start_with(record->key.partition, pattern->partition_prefix)) continue;
        if (pattern->attribute == NULL || kind == KEDGE_STREAM_FOREIGN ||
            kedge_record_attribute(record, pattern->attribute)) {
            return true;
        }
    }
    return query->pattern_count == 0;
}

/* ---- positions ---- */

void kedge_stream_sequence_write(uint64_t sequence, char text[KEDGE_STREAM_SEQUENCE_SIZE])
{
    snprintf(text, KEDGE_STREAM_SEQUENCE_SIZE, "%020" PRIu64, sequence);
}

bool kedge_stream_sequence_read(kedge_bytes text, uint64_t *sequence)
{
    uint64_t value = 0;
    if (text.size != KEDGE_STREAM_SEQUENCE_SIZE - 1) return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *sequence = value;
    return true;
}

/* ---- lists of shards ---- */

static bool copy_text(kedge_arena *arena, const char *text, const char **copy)
{
    kedge_bytes copied;
    if (!kedge_arena_copy(arena, kedge_bytes_of(text), &copied)) return false;
    *copy = copied.data;
    return true;
}

kedge_status kedge_shard_page_add(kedge_shard_page *page, const kedge_stream_shard *shard,
                                  kedge_error *error)
{
    kedge_stream_shard *copy = &page->shards[page->count];
    if (page->arena == NULL) page->arena = kedge_arena_new(page->allocator);
    if (page->arena == NULL || !copy_text(page->arena, shard->id, &copy->id) ||
        !copy_text(page->arena, shard->parent, &copy->parent) ||
        !copy_text(page->arena, shard->start, &copy->start))
        return kedge_fail_no_memory(error);
    copy->closed = shard->closed;
    page->count++;
    return KEDGE_OK;
}

kedge_status kedge_shard_page_finish(kedge_shard_page *page, bool more, kedge_stream_shards *shards,
                                     kedge_error *error)
{
    kedge_stream_shard *copies = NULL;
    if (page->count > 0) {
        copies = kedge_arena_take_array(page->arena, page->count, sizeof *copies);
        if (copies == NULL) return kedge_fail_no_memory(error);
        memcpy(copies, page->shards, page->count * sizeof *copies);
    }
    *shards = (kedge_stream_shards){.shards = copies,
                                    .count = page->count,
                                    .more = more,
                                    .memory = page->arena,
                                    .memory_free = kedge_arena_delete};
    page->arena = NULL;
    page->count = 0;
    return KEDGE_OK;
}

void kedge_shard_page_free(kedge_shard_page *page)
{
    kedge_arena_delete(page->arena);
    page->arena = NULL;
    page->count = 0;
}

/* ---- batches of changes ---- */

static bool reserve(kedge_stream_page *page)
{
    if (page->records.count <= page->capacity) return true;
    size_t capacity = page->capacity == 0 ? 4 : page->capacity * 2;
    kedge_stream_change *changes =
        kedge_arena_take_array(page->records.arena, capacity, sizeof *changes);
    if (changes == NULL) return false;
    if (page->capacity > 0) memcpy(changes, page->changes, page->capacity * sizeof *changes);
    page->changes = changes;
    page->capacity = capacity;
    return true;
}

kedge_status kedge_stream_page_add(kedge_stream_page *page, const kedge_stream_query *query,
                                   kedge_stream_change_kind kind, int64_t at_ms,
                                   kedge_bytes position, kedge_error *error)
{
    kedge_record_page *records = &page->records;
    size_t at = records->count - 1;
    kedge_stream_change change = {.kind = kind, .at_ms = at_ms};
    if (kind == KEDGE_STREAM_REMOVE || kind == KEDGE_STREAM_FOREIGN)
        records->records[at].attribute_count = 0;
    if (!reserve(page) || !kedge_arena_copy(records->arena, position, &change.position))
        return kedge_fail_no_memory(error);
    memcpy(page->next, change.position.data, position.size + 1);
    page->changes[at] = change;
    page->looked_at++;
    if (!kedge_stream_fits(query, kind, &records->records[at])) records->count--;
    return KEDGE_OK;
}

kedge_status kedge_stream_page_finish(kedge_stream_page *page, const kedge_stream_query *query,
                                      bool ended, kedge_stream_batch *batch, kedge_error *error)
{
    kedge_record_page *records = &page->records;
    bool stays = page->next[0] == '\0';
    kedge_bytes next = stays ? query->position : kedge_bytes_of(page->next);
    if (records->arena == NULL) records->arena = kedge_arena_new(records->allocator);
    if (records->arena == NULL || !kedge_arena_copy(records->arena, next, &next))
        return kedge_fail_no_memory(error);
    for (size_t i = 0; i < records->count; i++)
        page->changes[i].record = records->records[i];
    *batch = (kedge_stream_batch){.changes = page->changes,
                                  .count = records->count,
                                  .next = next,
                                  .ended = ended,
                                  .idle = page->looked_at == 0,
                                  .memory = records->arena,
                                  .memory_free = kedge_arena_delete};
    *page = (kedge_stream_page){.records = {.allocator = records->allocator}};
    return KEDGE_OK;
}

void kedge_stream_page_free(kedge_stream_page *page)
{
    kedge_record_page_free(&page->records);
    *page = (kedge_stream_page){.records = {.allocator = page->records.allocator}};
}
