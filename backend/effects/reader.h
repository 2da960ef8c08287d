/* Follows a stream: gives the changes of each shard to a handler, in order and at least once.
 *
 * A shard is read to its end before its children. The reader writes to a record (a checkpoint) how
 * far a shard was read and who reads it. So any number of readers with one name share the shards,
 * and one continues where another has stopped. Each write of a checkpoint has the condition that
 * nobody else has written it since the read. So a reader whose lease another reader has taken loses
 * the shard at its next write. The changes that it handled meanwhile are handled again.
 *
 * When changes were trimmed before they were read, the reader calls `expired`, leaves a record
 * about it, and goes on with the oldest change that is kept. The effects of the trimmed changes
 * must then be made from the tables (reprocess.h). The same holds when a checkpoint is damaged, or
 * has a position that the stream never gave; changes that are kept are then handled again.
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
    bool damaged;      /* the checkpoint was damaged; trimmed changes may be missing */
} kedge_stream_expired;

typedef struct kedge_stream_reader_options {
    const kedge_environment *environment; /* must outlive the reader, like everything here */
    const kedge_records *records;         /* of the checkpoints */
    const kedge_stream *stream;
    const char *name;  /* of the checkpoints: 1 to 64 bytes */
    const char *owner; /* at most 32 bytes, of no other running reader; NULL: a random one. A reader
                          with the owner of a lease need not wait until that lease ends */
    const kedge_stream_pattern *patterns;
    size_t pattern_count;
    int64_t lease_ms; /* 0: KEDGE_READER_LEASE_MS */
    uint32_t batch;   /* 0: KEDGE_READER_BATCH */
    /* Takes changes in order, and sets `*handled` to how many of them, from the first on, it has
     * handled; the others come again. When these are fewer than `count`, its status says why. */
    kedge_status (*handle)(void *context, const kedge_stream_change *changes, size_t count,
                           size_t *handled, kedge_error *error);
    /* Called when changes were trimmed, after the record about it was written. May be NULL. */
    void (*expired)(void *context, const kedge_stream_expired *expired);
    void *context;
} kedge_stream_reader_options;

typedef struct kedge_stream_reader kedge_stream_reader;

kedge_status kedge_stream_reader_new(const kedge_stream_reader_options *options,
                                     kedge_stream_reader **reader, kedge_error *error);
/* Ends the reader's leases, so that other readers need not wait for their end. A later round takes
 * leases that are free then. After a failure the leases end by themselves. */
kedge_status kedge_stream_reader_leave(kedge_stream_reader *reader, kedge_error *error);
/* Leaves its leases, unless kedge_stream_reader_leave has ended them. NULL is allowed. */
void kedge_stream_reader_free(kedge_stream_reader *reader);

/* What one round did. */
typedef struct kedge_stream_round {
    size_t shards;  /* that were read */
    size_t handled; /* changes */
    size_t expired;
    size_t lost; /* shards that another reader has taken meanwhile */
    bool more;   /* there are more changes: call the next round at once */
} kedge_stream_round;

/* Handles one batch of each shard that no other reader has. The first failure ends the round, which
 * can be repeated: KEDGE_UNAVAILABLE, KEDGE_BUSY and the like, or the handler's. `round` is filled
 * in any case. One thread at a time. */
kedge_status kedge_stream_reader_round(kedge_stream_reader *reader, kedge_stream_round *round,
                                       kedge_error *error);

#endif
