/* The checkpoints of a stream's reader (reader.h): records that say how far each shard was read.
 * The checkpoints of collections are others (backend/versioned/state/checkpoint.h). */
#ifndef KEDGE_BACKEND_EFFECTS_CHECKPOINT_H
#define KEDGE_BACKEND_EFFECTS_CHECKPOINT_H

#include "backend/effects/reader.h"

#define KEDGE_READER_OWNER_HEX 33

typedef struct kedge_reader_checkpoint {
    char shard[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char parent[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char position[KEDGE_STREAM_POSITION_BYTES_MAX + 1]; /* "": the oldest change that is kept */
    char owner[KEDGE_READER_OWNER_HEX];
    int64_t until_ms;
    int64_t at_ms; /* changes that are older were all handled; 0: unknown */
    bool finished;
    int64_t revision; /* 0: there is no record yet, or it is damaged */
    bool damaged;     /* nothing but the shard is known, and perhaps the revision */
} kedge_reader_checkpoint;

typedef struct kedge_reader_checkpoints {
    const kedge_allocator *allocator;
    kedge_reader_checkpoint *of;
    size_t count;
    size_t capacity;
} kedge_reader_checkpoints;

/* Appends all checkpoints of the reader's name, by consistent reads. KEDGE_LIMIT_EXCEEDED:
 * more than KEDGE_READER_SHARDS_MAX. */
kedge_status kedge_reader_checkpoints_load(const kedge_stream_reader_options *options,
                                           kedge_reader_checkpoints *checkpoints,
                                           kedge_error *error);
void kedge_reader_checkpoints_free(kedge_reader_checkpoints *checkpoints);
kedge_reader_checkpoint *kedge_reader_checkpoints_find(const kedge_reader_checkpoints *checkpoints,
                                                       const char *shard);
/* A new one, without a record; NULL: no memory. Pointers to others are not valid any more. */
kedge_reader_checkpoint *kedge_reader_checkpoints_add(kedge_reader_checkpoints *checkpoints,
                                                      const kedge_stream_shard *shard);

/* Writes the checkpoint if its record still has this revision, and increments the revision. With
 * `expired` a record about missing changes is written in the same transaction. KEDGE_CONFLICT:
 * somebody else has written the record; KEDGE_UNAVAILABLE: it may have been written. */
kedge_status kedge_reader_checkpoint_save(const kedge_stream_reader_options *options,
                                          kedge_reader_checkpoint *checkpoint,
                                          const kedge_stream_expired *expired, kedge_error *error);
/* Removes the record of this revision. */
kedge_status kedge_reader_checkpoint_remove(const kedge_stream_reader_options *options,
                                            const kedge_reader_checkpoint *checkpoint,
                                            kedge_error *error);

#endif
