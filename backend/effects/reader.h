/* Follows a stream: gives the changes of each shard to a handler, in order and at least once.
 *
 * A shard is read to its end before its children. How far a shard was read, and who reads it,
 * stands in a record (a checkpoint). So any number of readers of one name share the shards, and
 * another goes on where one has ended. A checkpoint is only written under the condition that nobody
 * else has written it since: a reader whose lease went to another loses the shard with its next
 * write. What it handled before is then handled again.
 *
 * When changes were trimmed before they were read, the reader says so (`expired`), leaves a record
 * about it, and goes on with the oldest change that is kept. What the changes would have caused
 * must then be found in the tables themselves. The same holds when a checkpoint is damaged, or has
 * a position that the stream never gave: changes that are kept are then handled again.
 *
 * Records of a reader, in the partition "Stream#{name}":
 *
 *   sort key                        attributes
 *   Shard#{shard}                   owner, until (ms), position, finished (0 or 1), revision,
 *                                   at (ms), parent
 *   Expired#{20 digits, ms}#{shard} since (ms; 0: unknown), shard */
#ifndef KEDGE_BACKEND_EFFECTS_READER_H
#define KEDGE_BACKEND_EFFECTS_READER_H

#include "backend/ports/records.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

#define KEDGE_READER_NAME_BYTES_MAX 64
#define KEDGE_READER_SHARDS_MAX     512   /* that a stream may have at a time */
#define KEDGE_READER_LEASE_MS       30000 /* unless the options say */
#define KEDGE_READER_BATCH          100   /* changes a read, unless the options say */
/* Changes that were written longer ago than this are taken to be visible by now. */
#define KEDGE_READER_LATE_MS 60000

typedef struct kedge_stream_expired {
    const char *shard; /* whose changes are missing */
    int64_t since_ms;  /* changes that are older were all handled; 0: unknown */
    bool damaged;      /* the checkpoint was: only what had been trimmed before can be missing */
} kedge_stream_expired;

typedef struct kedge_stream_reader_options {
    const kedge_environment *environment; /* must outlive the reader, like everything here */
    const kedge_records *records;         /* of the checkpoints */
    const kedge_stream *stream;
    const char *name;  /* of the checkpoints: 1 to 64 bytes */
    const char *owner; /* at most 32 bytes, of no other living reader; NULL: a random one. Who comes
                          back under the same owner need not wait for a lease to end */
    const kedge_stream_pattern *patterns;
    size_t pattern_count;
    int64_t lease_ms; /* 0: KEDGE_READER_LEASE_MS */
    uint32_t batch;   /* 0: KEDGE_READER_BATCH */
    /* Takes changes in order, and tells how many of them, from the first on, it has dealt with; the
     * others come again. With fewer than `count` it says why by its status. */
    kedge_status (*handle)(void *context, const kedge_stream_change *changes, size_t count,
                           size_t *handled, kedge_error *error);
    /* Called after the record about it. May be NULL. */
    void (*expired)(void *context, const kedge_stream_expired *expired);
    void *context;
} kedge_stream_reader_options;

typedef struct kedge_stream_reader kedge_stream_reader;

kedge_status kedge_stream_reader_new(const kedge_stream_reader_options *options,
                                     kedge_stream_reader **reader, kedge_error *error);
/* Ends its leases, so that others need not wait for that. Another round takes what is free then.
 * After a failure the leases end by themselves. */
kedge_status kedge_stream_reader_leave(kedge_stream_reader *reader, kedge_error *error);
/* Its leases stay, unless it has left. NULL is allowed. */
void kedge_stream_reader_free(kedge_stream_reader *reader);

/* What one round did. */
typedef struct kedge_stream_round {
    size_t shards;  /* that were read */
    size_t handled; /* changes */
    size_t expired;
    size_t lost; /* shards that went to another reader meanwhile */
    bool more;   /* another round at once has something to do */
} kedge_stream_round;

/* One batch of each shard that is nobody else's. The first failure ends the round, which can be
 * repeated: KEDGE_UNAVAILABLE, KEDGE_BUSY and the like, or the handler's. `round` tells in any case
 * what was done. One thread at a time. */
kedge_status kedge_stream_reader_round(kedge_stream_reader *reader, kedge_stream_round *round,
                                       kedge_error *error);

#endif
