/* The checkpoints of a reader: records about shards. */
#ifndef KEDGE_BACKEND_EFFECTS_CHECKPOINT_H
#define KEDGE_BACKEND_EFFECTS_CHECKPOINT_H

#include "backend/effects/reader.h"

#define KEDGE_READER_OWNER_HEX 33

typedef struct kedge_checkpoint {
    char shard[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char parent[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char position[KEDGE_STREAM_POSITION_BYTES_MAX + 1]; /* "": the oldest change that is kept */
    char owner[KEDGE_READER_OWNER_HEX];
    int64_t until_ms;
    int64_t at_ms; /* changes that are older were all handled; 0: unknown */
    bool finished;
    int64_t revision; /* 0: there is no record yet */
} kedge_checkpoint;

typedef struct kedge_checkpoints {
    const kedge_allocator *allocator;
    kedge_checkpoint *of;
    size_t count;
    size_t capacity;
} kedge_checkpoints;

/* All of a reader's name, by consistent reads, behind those that are there. KEDGE_LIMIT_EXCEEDED:
 * more than KEDGE_READER_SHARDS_MAX. */
kedge_status kedge_checkpoints_load(const kedge_stream_reader_options *options,
                                    kedge_checkpoints *checkpoints, kedge_error *error);
void kedge_checkpoints_free(kedge_checkpoints *checkpoints);
kedge_checkpoint *kedge_checkpoints_find(const kedge_checkpoints *checkpoints, const char *shard);
/* A new one, without a record; NULL: no memory. Those that were found before have moved. */
kedge_checkpoint *kedge_checkpoints_add(kedge_checkpoints *checkpoints,
                                        const kedge_stream_shard *shard);

/* Writes the checkpoint over the revision that it has, and counts that up. With `expired` a record
 * about missing changes is written in the same transaction. KEDGE_CONFLICT: another was written in
 * between; KEDGE_UNAVAILABLE: unknown. */
kedge_status kedge_checkpoint_save(const kedge_stream_reader_options *options,
                                   kedge_checkpoint *checkpoint,
                                   const kedge_stream_expired *expired, kedge_error *error);
/* Removes the record of this revision. */
kedge_status kedge_checkpoint_remove(const kedge_stream_reader_options *options,
                                     const kedge_checkpoint *checkpoint, kedge_error *error);

#endif
