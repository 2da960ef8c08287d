/* Making an edit, for the files of sdk/store that make one. */
#ifndef KEDGE_SDK_STORE_EDIT_H
#define KEDGE_SDK_STORE_EDIT_H

#include "mutate/apply.h"
#include "sdk/store/store_internal.h"

/* The inputs and results of making one mutation. */
typedef struct kedge_edit {
    kedge_bytes name;
    kedge_bytes args;     /* canonical, unless they come from the inbox */
    int64_t rejected;     /* the sequence of the inbox row that it replaces; 0: none */
    int64_t attempt;      /* of a client-only one that is made again, from 2 on; else 0 */
    int64_t first;        /* the sequence of its first attempt */
    int64_t timestamp_ms; /* of its first attempt */
    int64_t sequence;     /* out */
    kedge_change_set *changes;
    /* What the edit changes is recorded when it takes back a group (an undo, a redo), or belongs to
     * one. */
    const kedge_undo_group *takes_back; /* NULL: none */
    kedge_undo_group recorded;          /* out: of one that takes back; the caller must clear it */
    uint64_t passed_over;               /* out: changes of a kedge.restore that did not fit */
} kedge_edit;

/* The meta rows of both files, in the transactions of the edit. */
typedef struct kedge_edit_state {
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    int64_t now_ms;
} kedge_edit_state;

/* Appends the canonical form of `args`, within what a server takes. KEDGE_LIMIT_EXCEEDED: they are
 * larger or deeper. */
kedge_status kedge_edit_normalize(kedge_bytes args, kedge_buffer *out, kedge_error *error);
/* Begins the transactions of both files, with a prediction that fits. */
kedge_status kedge_edit_begin(kedge_store *store, kedge_edit_state *state, kedge_error *error);
/* Runs the mutator inside them, and writes the mutation to the outbox. When the mutator refuses, or
 * the edit is over a limit, nothing was written. After another failure both transactions must be
 * rolled back. */
kedge_status kedge_edit_write(kedge_store *store, kedge_edit *made, kedge_edit_state *state,
                              kedge_error *error);
/* Commits what was written. */
kedge_status kedge_edit_end(kedge_store *store, kedge_edit_state *state, kedge_change_set *changes,
                            kedge_error *error);
/* In a write turn: all of these. */
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
/* A client-only edit that was made again. */
typedef struct kedge_undo_remade {
    int64_t old_sequence; /* of the attempt before */
    int64_t sequence;
    kedge_undo_group recorded;
    kedge_undo_group *group; /* of undo_record.c */
} kedge_undo_remade;
/* After the commit of those that were made together: the groups that they belong to take back what
 * these attempts did, in place of what the ones before did. Empties each `recorded`. */
void kedge_undo_keep_remade(kedge_store *store, kedge_undo_remade *made, size_t count);
/* Appends what is shown under the key; nothing when nothing is. */
kedge_status kedge_undo_read_shown(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                   kedge_buffer *shown, kedge_error *error);

/* ---- undo_rebase.c ---- */
/* After a pull, here or of another process, whose cache is committed: what a pending edit lies over
 * may be another value now, which is the one that an undo of it must bring back. `patch` NULL:
 * under any key. */
void kedge_undo_rebase(kedge_store *store, const kedge_wire_patch *patch,
                       const kedge_cache_meta *cache);
/* The same for one group, with what the pulls of other processes brought. */
kedge_status kedge_undo_refresh(kedge_store *store, kedge_undo_group *group, kedge_error *error);

#endif
