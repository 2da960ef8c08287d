/* Shared by the files that apply the entries of a log project, and private to sdk/store. */
#ifndef KEDGE_SDK_STORE_ENTRIES_H
#define KEDGE_SDK_STORE_ENTRIES_H

#include "sdk/store/pull.h"

/* A pull of a log project on its way into the store. */
typedef struct kedge_entries {
    kedge_store *store;           /* NULL: there are none */
    const kedge_wire_replay *log; /* borrowed from the response */
    kedge_wire_pull_response as;  /* the same pull, as of a versioned project */
    bool anew;                    /* the entries start from the empty state */
    kedge_wire_patch_operation clear;
    kedge_overlay *base;
    kedge_overlay *changes; /* of the replay; the patch borrows from it */
    kedge_origins origins;
} kedge_entries;

/* ---- entries.c ---- */
/* Lists the outcomes of our own mutations, with their digests and still undecided; the patch has
 * no more than a clear. The caller frees `entries` in every case. */
kedge_status kedge_entries_begin(kedge_store *store, const kedge_pull_state *state,
                                 const kedge_wire_pull_response *response, kedge_entries *entries,
                                 kedge_error *error);
/* Call once, in a write turn. Replays: afterwards `as` has the patch and the decisions. `*agrees`
 * false: the response has a hash, and the state after the patch has another one. KEDGE_UNSUPPORTED
 * "update-required" when a mutator is missing or older than an entry needs. */
kedge_status kedge_entries_replay(kedge_entries *entries, const kedge_pull_state *state,
                                  bool *agrees, kedge_error *error);
void kedge_entries_free(kedge_entries *entries);

/* ---- origins.c ---- */
/* Of the pending mutations that are not covered: those that had another client and id before. */
kedge_status kedge_origins_load(kedge_store *store, const kedge_pull_state *state,
                                kedge_origins *origins, kedge_error *error);
/* The mutation of this client and id, or of this origin, was rejected; `outcome` has its digest. */
void kedge_origins_reject(kedge_origins *origins, kedge_bytes client, int64_t id,
                          const kedge_wire_outcome *outcome);

/* ---- canonical_hash.c ---- */
/* The hash of the canonical state, as mutate/state_hash.h says: `changes` over `base` over `item`;
 * with `anew` only `changes` counts. */
kedge_status kedge_canonical_hash(kedge_store *store, const kedge_overlay *base,
                                  const kedge_overlay *changes, bool anew,
                                  uint8_t hash[KEDGE_SHA256_SIZE], kedge_error *error);

#endif
