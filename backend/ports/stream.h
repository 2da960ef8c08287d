/* The stream port: the changes of the records, in order, in the shape of DynamoDB Streams.
 *
 * Every put and delete of a record that takes effect makes one change. Changes are in shards. A
 * shard is open, or closed for ever. When it closes, the changes that follow are in its children,
 * which name it as their parent. Changes of one record are in the order of its writes: in one
 * shard, or in a shard and its descendants. So a reader that reads a shard to its end before its
 * children gets each record's changes in order. The implementations here keep that order for a
 * whole partition. A put that leaves a record as it was may make no change; writes of a transaction
 * come in any order.
 *
 * A change is kept for a time (24 hours on DynamoDB) and then trimmed; a closed shard vanishes from
 * the list when all of its changes are trimmed. Failures as in records.h, and KEDGE_NOT_FOUND
 * "changes-trimmed": changes after the position are trimmed, or the shard is. Reads change
 * nothing, any number of readers may read, and a change may be given any number of times.
 * Implementations: SQLite, DynamoDB Streams, memory. */
#ifndef KEDGE_BACKEND_PORTS_STREAM_H
#define KEDGE_BACKEND_PORTS_STREAM_H

#include "backend/ports/records.h"

#define KEDGE_STREAM_SHARD_BYTES_MAX    80
#define KEDGE_STREAM_POSITION_BYTES_MAX 80
#define KEDGE_STREAM_SHARDS_MAX         100 /* that one call lists */
#define KEDGE_STREAM_READ_MAX           1000
#define KEDGE_STREAM_READ_BYTES         1000000 /* a read stops after the change that passes it */
#define KEDGE_STREAM_PATTERNS_MAX       8
#define KEDGE_STREAM_KEPT_MS            86400000 /* 24 hours */

/* The code of the KEDGE_NOT_FOUND above. */
#define KEDGE_STREAM_TRIMMED "changes-trimmed"
/* That of the KEDGE_INVALID_ARGUMENT of a read from a position that the stream never gave. */
#define KEDGE_STREAM_NO_POSITION "invalid-position"

typedef struct kedge_stream_shard {
    const char *id;     /* 1 to KEDGE_STREAM_SHARD_BYTES_MAX bytes, NUL-terminated */
    const char *parent; /* "": it has none. It may be trimmed already */
    /* The position before its very first change, not empty: a read from there fails once that
     * change is trimmed. */
    const char *start;
    bool closed;
} kedge_stream_shard;

/* A page of shards, with its memory. Start from {0}; kedge_stream_shards_free in the end. `more`:
 * go on after the last shard's id. */
typedef struct kedge_stream_shards {
    kedge_stream_shard *shards;
    size_t count;
    bool more;
    void *memory;
    void (*memory_free)(void *memory);
} kedge_stream_shards;

void kedge_stream_shards_free(kedge_stream_shards *shards);

typedef enum kedge_stream_change_kind {
    KEDGE_STREAM_INSERT, /* there was no record under the key */
    KEDGE_STREAM_MODIFY,
    KEDGE_STREAM_REMOVE,
    KEDGE_STREAM_FOREIGN /* a put of what the records port cannot have written */
} kedge_stream_change_kind;

typedef struct kedge_stream_change {
    kedge_stream_change_kind kind;
    kedge_record record;  /* as it was written; of a removal and of what is foreign the key alone */
    int64_t at_ms;        /* about when it was written, by the store's clock; in whole seconds on
                            DynamoDB */
    kedge_bytes position; /* after this change */
} kedge_stream_change;

/* What a reader wants to see: records whose partition key starts with `partition_prefix` (empty:
 * any), and which have the attribute (NULL: any; a removal has none, and what is foreign may have
 * any). */
typedef struct kedge_stream_pattern {
    kedge_bytes partition_prefix;
    const char *attribute;
} kedge_stream_pattern;

typedef struct kedge_stream_query {
    const char *shard;
    /* Behind which change to start: a position that this shard gave, of a change, of a batch, or
     * its start. Empty: from the oldest change that is kept. */
    kedge_bytes position;
    bool newest;    /* with an empty position: only what is written from now on */
    uint32_t limit; /* changes looked at, given or not: 1 to 1000 */
    /* A change that fits none of them is passed over; no patterns: every change fits. */
    const kedge_stream_pattern *patterns;
    size_t pattern_count;
} kedge_stream_query;

/* Changes that a read gave, with their memory. Start from {0}; kedge_stream_batch_free. */
typedef struct kedge_stream_batch {
    kedge_stream_change *changes;
    size_t count;
    /* Where the next read goes on: after all that were looked at. It is the query's own position
     * when there was nothing to look at; so a batch of a `newest` read whose `next` is empty is
     * followed by a `newest` read of the same port. */
    kedge_bytes next;
    bool ended; /* the shard is closed, and there is nothing after `next` */
    bool idle;  /* nothing was there to look at */
    void *memory;
    void (*memory_free)(void *memory);
} kedge_stream_batch;

void kedge_stream_batch_free(kedge_stream_batch *batch);

typedef struct kedge_stream_vtable {
    /* must. Up to `limit` (1 to 100) shards after the shard `after` (empty: from the first), in an
     * order of the store's own. */
    kedge_status (*shards)(void *self, kedge_bytes after, uint32_t limit,
                           kedge_stream_shards *shards, kedge_error *error);
    /* must. Changes of one shard in order. An empty batch is KEDGE_OK; it may also come when there
     * is more. */
    kedge_status (*read)(void *self, const kedge_stream_query *query, kedge_stream_batch *batch,
                         kedge_error *error);
    /* must. */
    void (*close)(void *self);
} kedge_stream_vtable;

typedef struct kedge_stream {
    const kedge_stream_vtable *vtable;
    void *self;
} kedge_stream;

#endif
