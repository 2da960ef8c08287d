/* The client's two SQLite files in one folder.
 *
 * outbox.db holds data that exists nowhere else: the client id, the counters, the pending
 * mutations, the inbox of rejected ones, a tail of confirmed ones. WAL, synchronous=FULL. cache.db
 * holds what a pull restores: `item`, what the app reads; `base`, the canonical value or its
 * absence under every key that a pending mutation changed; the version. WAL, NORMAL for local
 * writes and FULL for the commit of a pull. Canonical state == item with base laid over it.
 *
 * Which pending row counts as covered, and is neither replayed nor sent, is one durable rule:
 *     client == cache.client and id <= cache.lmid, or covered_version <= cache.version.
 * The second half serves a rotation, which learns outcomes of versions that it has not pulled yet.
 *
 * Lock order is cache, then outbox. All functions may be called from any thread. Writers wait for
 * each other; readers do not wait. Several processes may open one folder. */
#ifndef KEDGE_SDK_STORE_H
#define KEDGE_SDK_STORE_H

#include "common/environment.h"
#include "common/hash.h"
#include "mutate/registry.h"
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/push.h"
#include "wire/retire.h"
#include <kedge/index.h>
#include <kedge/limits.h>
#include <kedge/sync.h>
#include <kedge/undo.h>

typedef struct kedge_store kedge_store;

/* Points at which the crash tests stop the process. NULL in production. The names are the phases:
 * "mutate-before-outbox", "mutate-between-commits", "mutate-after-cache", "push-sent",
 * "pull-before-inbox" (1), "pull-before-cache" (2), "pull-before-delete" (3), "pull-done",
 * "rotate-before-outbox", "rotate-after-outbox", "repair-between-commits". */
typedef void (*kedge_store_phase_function)(void *context, const char *phase);

typedef enum kedge_changed_by {
    KEDGE_CHANGED_BY_EDIT = 1,  /* made or cancelled */
    KEDGE_CHANGED_BY_PULL = 2,  /* of whichever process */
    KEDGE_CHANGED_BY_OTHERS = 3 /* an edit of another process */
} kedge_changed_by;

/* The keys that one commit changed for readers, in key order, with their values; {"",""} is the
 * project record. When there are too many to list (over 4,096, or 64 MiB) `all` is set and the list
 * is empty. */
typedef struct kedge_change_set {
    bool all;
    bool values; /* the list has the values, too; a store sets it when they are wanted */
    kedge_changed_by by;
    size_t count;
    kedge_buffer bytes; /* as changes.c says */
} kedge_change_set;

/* One change of a set; borrowed from it. Each text has a NUL after it. Without values, both are
 * as if there were no item. */
typedef struct kedge_changed {
    kedge_bytes collection;
    kedge_bytes id;
    bool was_there;
    kedge_bytes before;
    bool is_there;
    kedge_bytes after;
} kedge_changed;

kedge_change_set kedge_change_set_make(const kedge_allocator *allocator);
void kedge_change_set_free(kedge_change_set *changes);
/* `before` and `after` NULL: no item. Does nothing when `changes` is NULL. */
void kedge_changes_add(kedge_change_set *changes, kedge_bytes collection, kedge_bytes id,
                       const kedge_bytes *before, const kedge_bytes *after);
/* Reads the next change; `*offset` starts at 0. Returns false when there are no more. */
bool kedge_change_set_next(const kedge_change_set *changes, size_t *offset, kedge_changed *next);

/* Who is told of changes. */
typedef struct kedge_store_observer {
    void *context;
    /* Called from any thread. Returns whether change sets are to have values. */
    bool (*watched)(void *context);
    /* Called in a turn, from any thread. Returns whether another process has the folder open, and
     * is to be told of this commit. */
    bool (*company)(void *context);
    /* Called from any thread, within a call that changed what readers see, before the next commit
     * of any thread or process: so calls come in the order of the commits. Must not call the
     * store. */
    void (*changed)(void *context, const kedge_change_set *changes);
} kedge_store_observer;

typedef struct kedge_store_options {
    const kedge_environment *environment; /* must outlive the store */
    const char *path;                     /* the folder; made when absent */
    const char *organization;
    const char *project;
    const char *user;
    const char *role;
    const kedge_registry *registry; /* must outlive the store */
    int64_t server_wait_ms;         /* as in kedge_options */
    const char *vfs;                /* name of an SQLite VFS; NULL: the default */
    kedge_store_phase_function phase;
    void *phase_context;
    /* Called from any thread, within any call, when a damaged cache was set aside, also by another
     * process: its contents must be pulled again, and what readers see has changed. Must not call
     * the store. May be NULL. */
    void (*set_aside)(void *context);
    void *set_aside_context;
    /* Called once, in the same way, when outbox.db has damage that cannot be healed: from then on
     * no edit is acknowledged or sent. May be NULL. */
    void (*refused)(void *context);
    void *refused_context;
    kedge_store_observer observer; /* its functions may be NULL */
} kedge_store_options;

/* Opens or creates, and repairs what a crash left: deletes covered pending rows, rebuilds the
 * prediction when the cache does not fit the outbox, sets a damaged cache aside. Errors as of
 * kedge_open. */
kedge_status kedge_store_open(const kedge_store_options *options, kedge_store **store,
                              kedge_error *error);
void kedge_store_close(kedge_store *store);
/* The store is to be closed soon. From now on kedge_store_apply, kedge_store_stage,
 * kedge_store_rotate and kedge_store_rotate_lost return KEDGE_CANCELLED and change nothing; the one
 * that runs does so, too, unless it has begun the turn that writes. The next opening pulls
 * again. */
void kedge_store_stop_pulls(kedge_store *store);

/* The state of both files, as one consistent snapshot. */
typedef struct kedge_store_position {
    char client[KEDGE_CLIENT_ID_SIZE]; /* the living client id; also the client group id */
    int64_t version;                   /* of the cache; 0: nothing pulled yet */
    char lineage[33];                  /* "" before the first pull */
    int64_t lmid;                      /* of the living client, at `version` */
    int64_t lowest_pending;            /* id of the lowest uncovered mutation; next id when none */
    /* the id from which a retire asks for outcomes: lowest_pending, or, when the lineage is
     * lost, the lowest id in the tail */
    int64_t lowest_told;
    int64_t highest_id;   /* the id counter: last id given out */
    int64_t sent_through; /* highest id that may have been sent */
    int64_t last_sequence;
    /* uncovered mutations, those of covered_version included, and those about to be made again */
    int64_t pending;
    int64_t rejected; /* rows in the inbox that the app sees */
    int64_t withheld; /* of the pending ones: not predicted */
    int64_t unrecovered;
    bool resyncing; /* the cache was set aside, is being paged in, or waits for another lineage */
    bool stale;     /* an outbox commit whose cache commit failed waits to catch up */
    int64_t staged_version; /* of a first pull being paged in; 0: none */
    char staged_lineage[33];
} kedge_store_position;

kedge_status kedge_store_position_get(kedge_store *store, kedge_store_position *position,
                                      kedge_error *error);
/* Whether a client-only edit that conflicted is not decided yet: it was made again and is pending,
 * or waits to be made again. */
kedge_status kedge_store_remakes(kedge_store *store, bool *any, kedge_error *error);
/* Returns true when damage that cannot be healed was found in outbox.db since it was opened; every
 * call that needs it then fails with `error`. `position` (may be NULL) gets what can be read:
 * `client` may be "", and `pending` includes rows that cannot be read. */
bool kedge_store_is_refused(kedge_store *store, kedge_store_position *position, kedge_error *error);

/* KEDGE_INVALID_ARGUMENT "called-back" when this thread has the turn to write: a mutator calls. All
 * functions that take a turn check it. */
kedge_status kedge_store_check_outside(const kedge_store *store, kedge_error *error);

/* ---- writing (mutate.c, remake.c, cancel.c, inbox.c; without a writable cache: shadow.c) ---- */

/* Makes an edit, which is durable when the call returns: mutate.c has the order of its steps. When
 * the commit of the cache fails after that of the outbox, the call succeeds, the store is `stale`,
 * and reads show the edit nevertheless. */
kedge_status kedge_store_mutate(kedge_store *store, kedge_bytes name, kedge_bytes args,
                                int64_t *sequence, kedge_change_set *changes, kedge_error *error);
kedge_status kedge_store_cancel(kedge_store *store, int64_t sequence, kedge_change_set *changes,
                                kedge_error *error);
kedge_status kedge_store_dismiss(kedge_store *store, int64_t sequence, kedge_error *error);
/* As kedge/sync.h says of kedge_rejected_dismiss_through, in turns of KEDGE_STORE_DISMISS_ROWS.
 * `*dismissed` is set after a failure, too. */
kedge_status kedge_store_dismiss_through(kedge_store *store, int64_t sequence, size_t *dismissed,
                                         kedge_error *error);
/* In one outbox transaction: adds a new pending mutation and removes the inbox row (a tombstone is
 * kept). */
kedge_status kedge_store_resubmit(kedge_store *store, int64_t sequence, int64_t *new_sequence,
                                  kedge_change_set *changes, kedge_error *error);
/* Tells the observer what other processes have committed. */
kedge_status kedge_store_follow(kedge_store *store, kedge_error *error);
/* Returns true when the cache cannot be written and lacks edits, which reads show nevertheless;
 * `error` says why. */
bool kedge_store_cache_error(kedge_store *store, kedge_error *error);
/* Rebuilds a stale prediction, and makes client-only edits again that could not be when their
 * conflicts came; KEDGE_OK and nothing done when there is neither. */
kedge_status kedge_store_catch_up(kedge_store *store, kedge_change_set *changes,
                                  kedge_error *error);

/* ---- undo (undo.c), as kedge/undo.h says ---- */

kedge_status kedge_store_undo_begin(kedge_store *store, const char *label, kedge_error *error);
kedge_status kedge_store_undo_end(kedge_store *store, kedge_error *error);
kedge_status kedge_store_undo_state(kedge_store *store, kedge_undo_state *state,
                                    kedge_error *error);
/* Takes back the newest group or, when `redo`, the newest undo. */
kedge_status kedge_store_undo(kedge_store *store, bool redo, kedge_undo_result *result,
                              kedge_change_set *changes, kedge_error *error);

/* ---- sending (push.c) ---- */

/* The receiver of the mutations of a push. */
typedef struct kedge_store_push_taker {
    void *context;
    /* Must be set. Starts over: the mutations follow from the first one on. May be called twice. */
    void (*begin)(void *context);
    /* Must be set. Returns KEDGE_OK when it took the mutation, which is borrowed, and KEDGE_DONE
     * when the push is full without it; the first mutation must be taken. Any other status ends the
     * push with that failure. */
    kedge_status (*take)(void *context, const kedge_wire_mutation *mutation, kedge_error *error);
} kedge_store_push_taker;

typedef struct kedge_store_pushed {
    uint32_t count; /* 0: nothing to push */
    int64_t last_id;
    bool pull_first; /* the next mutation must wait for a pull */
} kedge_store_pushed;

/* Gives the mutations from the lowest uncovered id above `after_id` on: at most `count_max` (at
 * least one). Commits sent_through before it returns. `fresh`: the store has pulled what the server
 * has, as far as is known. Client-only edits that were never sent are then made anew, on that
 * state. Otherwise the push ends in front of them. */
kedge_status kedge_store_push(kedge_store *store, int64_t after_id, uint32_t count_max, bool fresh,
                              const kedge_store_push_taker *taker, kedge_store_pushed *made,
                              kedge_error *error);
/* Without a cache: the one that is lost may have lied, and a log project's mutations were decided
 * on it. `*lowest`, from which outcomes are asked for, is lowered to the lowest id that the tail or
 * the inbox has. */
kedge_status kedge_store_lower_to_decided(kedge_store *store, const kedge_store_position *at,
                                          int64_t *lowest, kedge_error *error);
/* Makes the request of a pull from the position. */
kedge_status kedge_store_pull_request(kedge_store *store, kedge_wire_pull_request *out,
                                      kedge_error *error);

/* ---- pulling (pull.c, snapshot.c) ---- */

typedef enum kedge_apply_result {
    KEDGE_APPLY_DONE,   /* applied, or nothing to do */
    KEDGE_APPLY_STALE,  /* the delta does not start from the cache's version: pull again */
    KEDGE_APPLY_ROTATE, /* ids or digests do not fit, or retired: nothing was changed; rotate */
    KEDGE_APPLY_PAGES,  /* pages of `staged_version` are to be fetched, of whichever lineage */
    KEDGE_APPLY_LOST,   /* another lineage, whose whole state is staged now: rotate (lost) */
    /* the state of a log project has another hash than the server's: the cache was set aside, and
     * is to be pulled again */
    KEDGE_APPLY_DIVERGED
} kedge_apply_result;

/* Applies a pull response with its outcomes complete and its bodies fetched. The order: (1) outbox:
 * rejections; (2) cache, one BEGIN IMMEDIATE, commit FULL; (3) outbox: covered pending deleted, the
 * tail extended. Each step may be repeated after a crash. A mutation is dropped only when the
 * outcome carries its digest.
 *
 * Of a log project the entries are replayed first, which gives the patch and the outcomes. Errors
 * of that, after which nothing was changed: KEDGE_UNSUPPORTED "update-required" when a mutator is
 * missing or older than an entry needs; KEDGE_CONFLICT "diverged" when the state differed from the
 * server's twice in a row. */
kedge_status kedge_store_apply(kedge_store *store, const kedge_wire_pull_response *response,
                               kedge_apply_result *result, kedge_change_set *changes,
                               kedge_error *error);

/* Stores one page of a snapshot in staging tables of the cache, with the key after which the next
 * page starts. Pages survive a restart. With the last page the staged version replaces the
 * canonical state in one transaction, and pending is replayed on it. */
kedge_status kedge_store_stage(kedge_store *store, const kedge_wire_page_response *page,
                               kedge_apply_result *result, kedge_change_set *changes,
                               kedge_error *error);
/* Gives the key after which the next page starts. Returns false when nothing is being staged. */
bool kedge_store_staged_after(kedge_store *store, kedge_buffer *after);
/* Drops the staged pages, when their version is gone. */
kedge_status kedge_store_unstage(kedge_store *store, kedge_error *error);

/* ---- identity (rotate.c) ---- */

/* Takes a new client id, in one outbox transaction. Pending mutations that have an outcome with
 * their digest in `response` get its version as covered_version (a rejected one goes to the inbox);
 * the others are renumbered 1, 2, 3… in order of sequence, with their origin. Then the prediction
 * is rebuilt. */
kedge_status kedge_store_rotate(kedge_store *store, const kedge_wire_retire_response *response,
                                kedge_change_set *changes, kedge_error *error);
/* The same after the backend was restored from a backup. These mutations of the tail are sent
 * again, in front of the pending ones, each with the id that it had as its origin:
 * - of this client, those above the lmid that came with the staged state;
 * - of this client, those at or below that lmid which have no outcome with their digest in
 *   `response`: another copy of this folder may have used their ids;
 * - of earlier clients, all.
 * Rejections that the app has not dismissed or resubmitted leave the inbox and are sent again, too.
 * What the backend lacks and the tail no longer has is counted as `unrecovered`. The staged state
 * replaces the canonical one in the same call. */
kedge_status kedge_store_rotate_lost(kedge_store *store, const kedge_wire_retire_response *response,
                                     kedge_change_set *changes, kedge_error *error);
/* The state that kedge_store_rotate_lost would put in; null when none is staged. */
kedge_status kedge_store_staged(kedge_store *store, kedge_wire_cookie *cookie, kedge_error *error);
/* The earlier clients of this folder whose mutations were trimmed from the tail, and up to which
 * id. A retire asks for the lmids of these clients. */
kedge_status kedge_store_earlier(kedge_store *store, kedge_wire_client_marks *marks,
                                 kedge_error *error);

/* ---- reading (read.c, scan.c, query.c, list.c) ---- */

kedge_status kedge_store_get(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, kedge_error *error);

typedef struct kedge_store_scan kedge_store_scan;
kedge_status kedge_store_scan_open(kedge_store *store, kedge_bytes collection,
                                   const kedge_scan_options *options, kedge_store_scan **scan,
                                   kedge_error *error);
/* Both are borrowed until the next call, and have a NUL after them. */
kedge_status kedge_store_scan_next(kedge_store_scan *scan, kedge_bytes *id, kedge_bytes *value,
                                   kedge_error *error);
void kedge_store_scan_close(kedge_store_scan *scan);

/* Read-only SQL over the views, as kedge/read.h says of kedge_query. */
kedge_status kedge_store_query_open(kedge_store *store, kedge_bytes sql, kedge_bytes parameters,
                                    kedge_query **query, kedge_error *error);
kedge_status kedge_store_query_next(kedge_query *query, kedge_error *error);
int32_t kedge_store_query_column_count(const kedge_query *query);
const char *kedge_store_query_column_name(const kedge_query *query, int32_t column);
kedge_column_type kedge_store_query_column_type(const kedge_query *query, int32_t column);
const char *kedge_store_query_text(kedge_query *query, int32_t column, size_t *size);
int64_t kedge_store_query_integer(kedge_query *query, int32_t column);
double kedge_store_query_real(kedge_query *query, int32_t column);
void kedge_store_query_close(kedge_query *query); /* NULL does nothing */

/* ---- declared indexes (index.c) ---- */

/* As kedge/index.h says of kedge_index and kedge_index_list. */
kedge_status kedge_store_index(kedge_store *store, kedge_bytes name, kedge_bytes collection,
                               const kedge_bytes *paths, size_t count, kedge_error *error);
kedge_status kedge_store_index_drop(kedge_store *store, kedge_bytes name, kedge_error *error);
kedge_status kedge_store_index_list_open(kedge_store *store, kedge_index_list **list,
                                         kedge_error *error);
kedge_status kedge_store_index_list_next(kedge_index_list *list, const char **name,
                                         const char **collection, const char **paths);
void kedge_store_index_list_close(kedge_index_list *list); /* NULL does nothing */

/* ---- lists (list.c) ---- */

/* Lists, as kedge/sync.h says of kedge_mutation_list. */
kedge_status kedge_store_pending_open(kedge_store *store, kedge_mutation_list **list,
                                      kedge_error *error);
kedge_status kedge_store_rejected_open(kedge_store *store, kedge_mutation_list **list,
                                       kedge_error *error);
kedge_status kedge_store_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                   kedge_error *error);
void kedge_store_list_close(kedge_mutation_list *list); /* NULL does nothing */
kedge_status kedge_store_outcome(kedge_store *store, int64_t sequence, kedge_outcome *outcome,
                                 kedge_error *error);

/* Moves the WALs into the files, while writers are shut out, and gives the disk back what a backlog
 * took in the outbox; cheap when there is little to do. */
kedge_status kedge_store_checkpoint(kedge_store *store, kedge_error *error);

/* Checks the cache in the background, a slice a call, on one snapshot: every row, their order and
 * their count. One thread calls it. KEDGE_OK: there is more to check; KEDGE_DONE: all is checked,
 * until the next opening or resync; KEDGE_CORRUPT: the cache was set aside, and is to be pulled
 * again. After any other failure the next call starts the check again. */
kedge_status kedge_store_check_cache(kedge_store *store, kedge_error *error);
/* Returns whether the next call of kedge_store_check_cache has anything to do. Call it on the same
 * thread. */
bool kedge_store_check_is_due(kedge_store *store);

#endif
