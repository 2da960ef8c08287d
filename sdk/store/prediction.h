/* The prediction: what pending mutations make of the canonical state. Private to sdk/store. */
#ifndef KEDGE_SDK_STORE_PREDICTION_H
#define KEDGE_SDK_STORE_PREDICTION_H

#include "sdk/store/store_internal.h"

/* ---- prediction.c: whether the prediction fits ---- */
bool kedge_prediction_fits(const kedge_outbox_meta *outbox, const kedge_cache_meta *cache);
/* Returns whether the outbox has lost commits that the cache reflects, until the cache is
 * repaired. */
bool kedge_prediction_outbox_is_older(const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *cache);
/* When the cache is newer than the outbox, the mutations that it covers are decided, but their
 * outcomes are not known: they count as pending until the repair has asked for them again. */
void kedge_prediction_doubt(const kedge_outbox_meta *outbox, kedge_cache_meta *cache);
/* Counts the edits that the outbox has lost, and makes sure that their sequences are not used
 * again. Afterwards the outbox still counts as older. */
void kedge_prediction_count_lost(kedge_outbox_meta *outbox, const kedge_cache_meta *cache);

/* ---- prediction.c, prediction_repair.c ---- */
/* Inside a cache transaction: lays `patch` (NULL: nothing) over the canonical state, replays what
 * `next` does not cover, writes the rows that differ, and then `next` as the cache's meta with the
 * outbox's revision. `outbox` is what the outbox's open transaction, if any, is about to commit. */
kedge_status kedge_prediction_rebase(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_outbox_meta *outbox, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error);
/* The same from the state of `before` on: for a pull, whose patch is laid over it, and for a
 * pending mutation that was replaced by another one with the same sequence (`other`; 0: none). Of
 * the pending mutations only this one runs, and those that read something else now, where the
 * footprints tell which these are. */
kedge_status kedge_prediction_advance(kedge_store *store, const kedge_wire_patch *patch,
                                      int64_t other, const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *before, kedge_cache_meta *next,
                                      kedge_change_set *changes, kedge_error *error);
/* Writes the changes of an edit, which ran on the visible state, to `item`, and the canonical
 * values to `base`. The caller must then write `next`. */
kedge_status kedge_prediction_write_run(kedge_store *store, const kedge_overlay *overlay,
                                        kedge_cache_meta *next, kedge_change_set *changes,
                                        kedge_error *error);
/* Rebuilds the prediction when it does not fit, in its own cache transaction. When `changes` is
 * NULL, the next change set says that any key may have changed. */
kedge_status kedge_prediction_repair(kedge_store *store, bool force, kedge_change_set *changes,
                                     kedge_error *error);

/* ---- replay.c: one pending mutation after the other ---- */
typedef struct kedge_rerun {
    kedge_overlay *prediction; /* of all that ran */
    kedge_overlay_view view;   /* the prediction over the canonical state */
    kedge_overlay *written;    /* by the mutation that runs */
    kedge_recording recording; /* of what it reads */
    kedge_tx *tx;
    bool rejected; /* that mutation, which has written nothing */
    const char *client;
    kedge_footprints *footprints; /* NULL: not recorded, or they cannot be */
} kedge_rerun;

/* Call kedge_rerun_end also after a failure. `*work` must stay where it is. `client` is the one of
 * the cache's meta; `footprints` may be NULL. */
kedge_status kedge_rerun_begin(kedge_store *store, kedge_rerun *work, kedge_overlay *prediction,
                               kedge_state_reader canonical, const char *client,
                               kedge_footprints *footprints, kedge_error *error);
/* Runs a row, unless it is withheld; its changes stay apart, in `written`. */
kedge_status kedge_rerun_try(kedge_store *store, kedge_rerun *work, const kedge_pending *row,
                             kedge_error *error);
/* Adds these changes to the prediction. */
kedge_status kedge_rerun_keep(kedge_rerun *work, const kedge_pending *row, kedge_error *error);
/* Both. */
kedge_status kedge_rerun_row(kedge_store *store, kedge_rerun *work, const kedge_pending *row,
                             kedge_error *error);
/* All rows after this sequence that the cache does not cover. */
kedge_status kedge_rerun_after(kedge_store *store, kedge_rerun *work, const kedge_cache_meta *cache,
                               int64_t sequence, kedge_error *error);
/* Whether the value that is predicted under the key is shown. */
kedge_status kedge_rerun_compare(kedge_store *store, const kedge_overlay *prediction,
                                 const kedge_overlay_entry *key, bool *same, kedge_error *error);
void kedge_rerun_end(kedge_rerun *work);
/* Whether both have the same canonical state, and the same mutations are covered. */
bool kedge_rerun_same_canonical(const kedge_cache_meta *a, const kedge_cache_meta *b);

/* ---- replay.c ---- */
/* Runs what `next` does not cover, on the canonical state; the changes go to `prediction`. Records
 * the footprints. */
kedge_status kedge_replay_pending(kedge_store *store, const kedge_cache_meta *next,
                                  kedge_state_reader canonical, kedge_overlay *prediction,
                                  kedge_error *error);
/* Runs what must run again (rebase.h). */
kedge_status kedge_replay_again(kedge_store *store, const kedge_cache_meta *next, int64_t other,
                                const kedge_overlay *delta, kedge_overlay *base,
                                kedge_overlay *prediction, kedge_error *error);
/* Records what the edit that is made next has read and written; before it is written. An edit that
 * cannot be recorded is made nevertheless. */
kedge_status kedge_replay_record(kedge_store *store, const kedge_outbox_meta *outbox,
                                 const kedge_cache_meta *cache, const kedge_recording *read,
                                 const kedge_overlay *written, kedge_error *error);
/* The footprints count only for the cache with this meta row. Of one that is being written call
 * this after the commit. */
void kedge_store_stamp_footprints(kedge_store *store, const kedge_cache_meta *committed);
bool kedge_store_has_footprints(const kedge_store *store, const kedge_cache_meta *cache);
void kedge_store_drop_footprints(kedge_store *store);
/* Forgets all, for a run of all mutations. */
void kedge_store_restart_footprints(kedge_store *store);

/* ---- footprint_follow.c ---- */
/* Call in a turn, before anything is written. `cache` is what the file has now. When nothing but
 * edits of other processes has changed it since the footprints were made, these edits run once
 * more, and the footprints are of this cache. Otherwise there are none. */
kedge_status kedge_footprints_follow(kedge_store *store, const kedge_cache_meta *cache,
                                     kedge_error *error);

/* ---- retrace.c ---- */
/* A turn ends after so many mutations, and so many whose writes are compared, or after so long. It
 * is given up when so many turns came after edits, each of which costs a read of `base`. */
#define KEDGE_RETRACE_ROWS  256
#define KEDGE_RETRACE_MS    5
#define KEDGE_RETRACE_LOADS 64
/* Before the turn that applies a pull of changes, or cancels a mutation (`pull` is NULL), and in
 * turns of its own: makes footprints of what is pending, where there are none. After a failure
 * there are none. */
void kedge_store_retrace(kedge_store *store, const kedge_wire_pull_response *pull);

#endif
