/* Shared by the files that apply responses of the server: a pull, the last page of a snapshot, a
 * rotation. Private to sdk/store. */
#ifndef KEDGE_SDK_STORE_PULL_H
#define KEDGE_SDK_STORE_PULL_H

#include "sdk/store/store_internal.h"

typedef struct kedge_pull_state {
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_staging staging;
} kedge_pull_state;

/* A pending mutation of ours under the client and id that it had before a rotation. */
typedef struct kedge_origin {
    int64_t sequence;
    char client[KEDGE_CLIENT_ID_SIZE];
    kedge_wire_outcome outcome; /* its id and digest; all of it when it was rejected */
    bool rejected;
} kedge_origin;

typedef struct kedge_origins {
    kedge_origin *rows; /* in the order of client and id */
    size_t count;
    size_t capacity;
    bool any_rejected;
} kedge_origins;

kedge_status kedge_pull_state_read(kedge_store *store, kedge_pull_state *state, kedge_error *error);
/* Checks that the outcomes fit our rows. Sets `*rotate` when they are of another client's
 * mutations. */
kedge_status kedge_pull_check_outcomes(kedge_store *store, const kedge_pull_state *state,
                                       int64_t lmid, const kedge_wire_outcomes *outcomes,
                                       bool *rotate, kedge_error *error);
/* Checks that the patch has every body. */
kedge_status kedge_store_check_patch(const kedge_wire_patch *patch, kedge_error *error);
/* Returns the outcome with the row's id and digest, or NULL. */
const kedge_wire_outcome *kedge_pull_outcome_of(const kedge_wire_outcomes *outcomes,
                                                const kedge_pending *row);
/* Step 1 without its commit: begins a transaction of the outbox when there is something to note.
 * Also raises the revision in `state`, so that a cache written after it shows when the outbox has
 * lost the rejections. `origins` may be NULL. */
kedge_status kedge_pull_keep_rejections(kedge_store *store, kedge_pull_state *state,
                                        const kedge_wire_outcomes *outcomes,
                                        const kedge_origins *origins, kedge_error *error);
/* Commits step 1, if it has begun a transaction, and then step 2, whose meta is `cache`. `changes`
 * is for other processes; NULL: any key may have changed. */
kedge_status kedge_pull_commit(kedge_store *store, const kedge_cache_meta *cache,
                               const kedge_change_set *changes, kedge_error *error);
/* A turn of pulls, unless these are stopped. */
kedge_status kedge_pull_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                  kedge_change_set *changes, kedge_error *error);
/* Step 3. When it fails, the pull still succeeds, since covered rows count as covered before they
 * are deleted. */
void kedge_pull_settle(kedge_store *store);
/* Behind step 2: step 3, and what else follows. `filled_anew`: the cache, from the empty state. */
void kedge_pull_end(kedge_store *store, const kedge_outbox_meta *outbox, bool filled_anew);
/* A transaction of the cache whose commit waits for the disk, as others do not. The end also rolls
 * back what was not committed; call it even when the begin has failed. */
kedge_status kedge_pull_begin_durable(kedge_store *store, kedge_error *error);
void kedge_pull_end_durable(kedge_store *store);

/* ---- lost.c ---- */
/* Adds to lost.db what reads show and the staged state does not have, and the other way round. Call
 * before the staged state takes the place of the cache's. */
kedge_status kedge_lost_keep(kedge_store *store, kedge_error *error);

#endif
