/* Making an edit, for the files of sdk/store that make one. */
#ifndef KEDGE_SDK_STORE_EDIT_H
#define KEDGE_SDK_STORE_EDIT_H

#include "sdk/store/store_internal.h"

/* The inputs and results of making one mutation. */
typedef struct kedge_edit {
    kedge_bytes name;
    kedge_bytes args; /* canonical, unless they come from the inbox */
    int64_t rejected; /* the sequence of the inbox row that it replaces; 0: none */
    int64_t sequence; /* out */
    kedge_change_set *changes;
    /* What the edit changes is recorded when it takes back a group (an undo, a redo), or belongs to
     * one. */
    const kedge_undo_group *takes_back; /* NULL: none */
    kedge_undo_group recorded;          /* out: of one that takes back; the caller must clear it */
    uint64_t passed_over;               /* out: changes of a kedge.restore that did not fit */
} kedge_edit;

/* In a write turn: runs the mutator, writes the mutation to the outbox and commits. */
kedge_status kedge_edit_make(kedge_store *store, kedge_edit *made, kedge_error *error);

/* Commits the outbox, then the cache, whose meta rows are these now: the end of each edit. */
kedge_status kedge_edit_commit(kedge_store *store, const kedge_outbox_meta *outbox,
                               const kedge_cache_meta *cache, kedge_change_set *changes,
                               kedge_error *error);

/* ---- undo_record.c ---- */
/* Before `written` is written: records what it changes in what is shown, if that is to be
 * recorded. */
kedge_status kedge_undo_record(kedge_store *store, kedge_edit *made, const kedge_overlay *written,
                               kedge_error *error);
/* After the commit: puts what was recorded into the open group. */
void kedge_undo_keep(kedge_store *store, kedge_edit *made);
/* Appends what is shown under the key; nothing when nothing is. */
kedge_status kedge_undo_read_shown(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                   kedge_buffer *shown, kedge_error *error);

/* ---- undo_rebase.c ---- */
/* After a pull, whose cache is committed: what a pending edit lies over may be another value
 * now, which is the one that an undo of it must bring back. `patch` NULL: under any key. */
void kedge_undo_rebase(kedge_store *store, const kedge_wire_patch *patch,
                       const kedge_cache_meta *cache);
/* The same for one group, with what the pulls of other processes brought. */
kedge_status kedge_undo_refresh(kedge_store *store, kedge_undo_group *group, kedge_error *error);

#endif
