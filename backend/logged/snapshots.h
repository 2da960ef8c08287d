/* Snapshots of log projects: the state after an entry, made by replay with this server's mutators.
 *
 * The state stands in the chunks and roots of backend/versioned/state/checkpoint.h, as a checkpoint
 * of each collection at the entry's number; chunks that did not change are those of the snapshot
 * before. One object holds the rest, and its hash is the snapshot's id, which the entry gets as
 * metadata (snapshot_object.h). */
#ifndef KEDGE_BACKEND_LOGGED_SNAPSHOTS_H
#define KEDGE_BACKEND_LOGGED_SNAPSHOTS_H

#include "backend/logged/logged.h"
#include "backend/versioned/state/state.h"

/* A snapshot is due when so many entries have come after the last one. */
#define KEDGE_LOGGED_SNAPSHOT_ENTRIES 1000
/* A new segment is due when the newest has so many entries after a snapshot. */
#define KEDGE_LOGGED_SEGMENT_ENTRIES 10000

typedef struct kedge_logged_snapshot {
    int64_t number;                  /* of the entry */
    const kedge_version *at;         /* the entry as a version, with `recent` */
    uint8_t hash[KEDGE_SHA256_SIZE]; /* of the state */
    kedge_state *state;
    kedge_state *rejections; /* a hidden collection: what replays rejected up to here */
    char id[KEDGE_SHA256_HEX];
    int64_t revision; /* of the entry's metadata, where the id was read */
} kedge_logged_snapshot;

/* The number of the last snapshot; -1: there is none. By a consistent read. */
kedge_status kedge_logged_last_snapshot(const kedge_project *project, int64_t *number,
                                        kedge_error *error);
/* Opens the snapshot of an entry. KEDGE_NOT_FOUND: the entry has none. KEDGE_CORRUPT
 * "snapshot-missing" or "snapshot-damaged", naming the entry. Close it. */
kedge_status kedge_logged_snapshot_open(const kedge_project *project, int64_t number,
                                        kedge_logged_snapshot *snapshot, kedge_error *error);
void kedge_logged_snapshot_close(kedge_logged_snapshot *snapshot);
/* Reads all collections. KEDGE_CORRUPT: something of one is gone or damaged. */
kedge_status kedge_logged_snapshot_check(kedge_logged_snapshot *snapshot, kedge_error *error);
/* Discards a snapshot in which two reads have found missing or damaged data. Replaces its id in the
 * entry by a mark, which keeps a part of the id, unless the snapshot was made again since it was
 * opened. From then on no client is sent to the snapshot, and the next one is made from the
 * entries. Where it can be requested or made in the background, the call does not wait for it.
 * `snapshot` is from kedge_logged_snapshot_open. */
kedge_status kedge_logged_snapshot_discard(const kedge_logged_snapshot *snapshot,
                                           kedge_error *error);
#define KEDGE_LOGGED_DISCARDED "damaged:"
/* Opens a snapshot of the entry by its id, also when the id is not set at the entry. */
kedge_status kedge_logged_snapshot_open_id(const kedge_project *project, int64_t number,
                                           const char *id, kedge_logged_snapshot *snapshot,
                                           kedge_error *error);
/* Only the hash of the state. */
kedge_status kedge_logged_snapshot_hash(const kedge_project *project, const char *id,
                                        uint8_t hash[KEDGE_SHA256_SIZE], kedge_error *error);

/* Gets the reason for which a replay rejected the mutation, or the one that it is a duplicate of.
 * `*found` false: no replay up to the snapshot rejected it. The caller passes empty buffers. With a
 * digest, `client` and `id` are those of the mutation's origin, or its own when it has none. */
kedge_status kedge_logged_rejection(kedge_logged_snapshot *snapshot, kedge_bytes client, int64_t id,
                                    const uint8_t *digest, bool *found, kedge_buffer *code,
                                    kedge_buffer *message, kedge_error *error);

/* Reads an object of the hidden collection: appends the rejection's code and message. `number` is
 * that of the snapshot. */
kedge_status kedge_logged_rejection_read(kedge_bytes object, int64_t number, kedge_buffer *code,
                                         kedge_buffer *message, kedge_error *error);

/* The rejections of a replay of entries that no snapshot covers. Nothing is written. */
typedef struct kedge_logged_replayed kedge_logged_replayed;
#define KEDGE_LOGGED_REPLAY_ENTRIES 1100     /* some more than one snapshot is behind the other */
#define KEDGE_LOGGED_REPLAY_BYTES   4194304  /* of entries */
#define KEDGE_LOGGED_REPLAY_CHANGES 16777216 /* bytes of the items that they change */
/* Replays the entries after a snapshot (below 1: from the start) up to the entry `number`.
 * KEDGE_LIMIT_EXCEEDED: these are more. KEDGE_UNSUPPORTED: this server lacks a mutator.
 * KEDGE_CORRUPT also when the snapshot is damaged. `project` must outlive the result. */
kedge_status kedge_logged_replay(const kedge_project *project, int64_t snapshot, int64_t number,
                                 kedge_logged_replayed **replayed, kedge_error *error);
void kedge_logged_replayed_free(kedge_logged_replayed *replayed); /* NULL is allowed */
/* As kedge_logged_rejection, of all entries up to `number`. */
kedge_status kedge_logged_replayed_rejection(kedge_logged_replayed *replayed, kedge_bytes client,
                                             int64_t id, const uint8_t *digest, bool *found,
                                             kedge_buffer *code, kedge_buffer *message,
                                             kedge_error *error);

/* Makes a snapshot of the last entry and sets it. `*number` is that entry; `*made` false: it had
 * one before, whose object is there. Twice gives the same object. KEDGE_UNSUPPORTED
 * "update-required": this server lacks a mutator. */
kedge_status kedge_logged_snapshot_make(const kedge_project *project, int64_t *number, bool *made,
                                        kedge_error *error);

/* Makes a snapshot of any entry, and does not set it; the caller sets it later. Replays from the
 * last snapshot when that is before the entry and undamaged, else from the start.
 * KEDGE_NOT_FOUND. */
kedge_status kedge_logged_snapshot_build(const kedge_project *project, int64_t number,
                                         char id[KEDGE_SHA256_HEX], kedge_error *error);

/* Makes a piece of such a snapshot: from the piece before, the last snapshot or the start,
 * whichever of them is the latest undamaged one, over at most `entries_max` entries. It ends
 * earlier when it passes one of the bounds below. Start from {.number = -1}. The piece is the
 * snapshot when its number is `number`, and otherwise a snapshot of an earlier entry, without its
 * hash, which only the next call reads. */
#define KEDGE_LOGGED_PIECE_BYTES 16777216 /* of items and rejections, and those of one entry */
#define KEDGE_LOGGED_PIECE_MS    4000     /* of replay, and that of one entry */
typedef struct kedge_logged_piece {
    int64_t number;
    char id[KEDGE_SHA256_HEX];
} kedge_logged_piece;
kedge_status kedge_logged_snapshot_piece(const kedge_project *project, int64_t number,
                                         int64_t entries_max, kedge_logged_piece *piece,
                                         kedge_error *error);

/* The ids of a mutation in the hidden collection of rejections: one of its client and id, and one
 * of its origin (or its own client and id) and digest. */
#define KEDGE_LOGGED_REJECTION_BYTES (KEDGE_LIMIT_CLIENT_ID_BYTES + 24 + KEDGE_DIGEST_HEX)
void kedge_logged_rejection_id(kedge_bytes client, int64_t id, const uint8_t *digest,
                               char out[KEDGE_LOGGED_REJECTION_BYTES]);

/* Ends the newest segment of the log when it is long and has a snapshot after that length, which
 * `*ended` tells. */
kedge_status kedge_logged_end_segment(const kedge_project *project, bool *ended,
                                      kedge_error *error);

/* Call it after an append. When a snapshot is due, requests it, where the stream is followed, or
 * makes it, by `later` where the backend has that option. */
void kedge_logged_maintain(kedge_state *state);
/* Asks for a snapshot, or lets one be made, before it is due: the last one is damaged, or there is
 * none behind an entry that no response of this front end can carry. Does nothing
 * where the backend has neither a stream that is followed nor `later`, nor within KEDGE_REMAKE_MS
 * of the last try for the project. Failures are reported. `version` is any of the project. */
void kedge_logged_make_anew(const kedge_project *project, const kedge_version *version);

#endif
