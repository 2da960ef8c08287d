/* What every implementation of the stream port shares: the checks of its contract, patterns, and
 * the building of responses. */
#ifndef KEDGE_BACKEND_PORTS_STREAM_SUPPORT_H
#define KEDGE_BACKEND_PORTS_STREAM_SUPPORT_H

#include "backend/ports/records_support.h"
#include "backend/ports/stream.h"

/* KEDGE_OK, KEDGE_INVALID_ARGUMENT or KEDGE_LIMIT_EXCEEDED. */
kedge_status kedge_stream_shards_check(kedge_bytes after, uint32_t limit, kedge_error *error);
kedge_status kedge_stream_query_check(const kedge_stream_query *query, kedge_error *error);
/* KEDGE_INVALID_ARGUMENT: the stream never gave this position. */
kedge_status kedge_stream_invalid_position(kedge_bytes position, kedge_error *error);
/* KEDGE_NOT_FOUND, KEDGE_STREAM_TRIMMED. */
kedge_status kedge_stream_fail_trimmed(const char *shard, kedge_bytes position, kedge_error *error);

/* A change of this kind, of this record, fits one of the query's patterns. */
bool kedge_stream_fits(const kedge_stream_query *query, kedge_stream_change_kind kind,
                       const kedge_record *record);

/* ---- positions of the streams that are our own: 20 digits ---- */

#define KEDGE_STREAM_SEQUENCE_SIZE 21

void kedge_stream_sequence_write(uint64_t sequence, char text[KEDGE_STREAM_SEQUENCE_SIZE]);
bool kedge_stream_sequence_read(kedge_bytes text, uint64_t *sequence);

/* ---- lists of shards ---- */

/* A list under construction; start from {0} with `allocator` set. */
typedef struct kedge_shard_page {
    const kedge_allocator *allocator;
    kedge_arena *arena;
    kedge_stream_shard shards[KEDGE_STREAM_SHARDS_MAX];
    size_t count;
} kedge_shard_page;

/* Adds a copy; the page has room. */
kedge_status kedge_shard_page_add(kedge_shard_page *page, const kedge_stream_shard *shard,
                                  kedge_error *error);
kedge_status kedge_shard_page_finish(kedge_shard_page *page, bool more, kedge_stream_shards *shards,
                                     kedge_error *error);
void kedge_shard_page_free(kedge_shard_page *page); /* what was not finished */

/* ---- batches of changes ---- */

/* A batch under construction; start from {0} with `records.allocator` set. The n-th record of
 * `records` is that of the n-th change. */
typedef struct kedge_stream_page {
    kedge_record_page records;
    kedge_stream_change *changes;
    size_t capacity;
    uint32_t looked_at;
    char next[KEDGE_STREAM_POSITION_BYTES_MAX + 1]; /* where to go on; "": where the query began */
} kedge_stream_page;

/* Adds the change whose record was added to `page->records` last. A change that does not
 * fit the query is dropped again; its position is kept in either case. */
kedge_status kedge_stream_page_add(kedge_stream_page *page, const kedge_stream_query *query,
                                   kedge_stream_change_kind kind, int64_t at_ms,
                                   kedge_bytes position, kedge_error *error);
kedge_status kedge_stream_page_finish(kedge_stream_page *page, const kedge_stream_query *query,
                                      bool ended, kedge_stream_batch *batch, kedge_error *error);
void kedge_stream_page_free(kedge_stream_page *page); /* what was not finished */

#endif
