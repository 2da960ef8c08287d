/* The state of sync: pending and rejected edits, the connection, and functions that wait. A
 * database syncs by itself; an app calls these functions to show the state or to wait for it. */
#ifndef KEDGE_SYNC_H
#define KEDGE_SYNC_H

#include <kedge/limits.h>
#include <kedge/read.h>

KEDGE_BEGIN_DECLS

#define KEDGE_CLIENT_ID_SIZE (KEDGE_LIMIT_CLIENT_ID_BYTES + 1)

typedef enum kedge_connection {
    /* By the option `offline`, by kedge_set_online(db, false), or because there is no `url`. */
    KEDGE_OFFLINE = 0,
    /* Another process has the folder open and does the syncing. `last_error` is the error of that
     * process. */
    KEDGE_FOLLOWER = 1,
    KEDGE_CONNECTING = 2, /* no response yet, or waiting to retry */
    /* The last request had a response. Pending edits may still wait for a newer server: see
     * `last_error`. Kedge notices that a server is gone when the event stream breaks, or has been
     * silent for 40 seconds: then it sends a request, which fails. */
    KEDGE_ONLINE = 3,
    /* Kedge does not retry by itself; `last_error` says why. When the server has refused, call
     * kedge_set_online(db, true). With the code "other-user" (KEDGE_FORBIDDEN) the folder was
     * synced as another user: open another folder, or call kedge_set_online when that user has
     * logged in. With the status KEDGE_CORRUPT outbox.db is damaged: call kedge_repair. */
    KEDGE_STOPPED = 4
} kedge_connection;

/* Start from KEDGE_SYNC_STATUS_INIT (see kedge/base.h). */
typedef struct kedge_sync_status {
    uint32_t size;
    kedge_connection connection;
    bool resyncing;   /* the whole state is being fetched; reads show the current one */
    int64_t version;  /* the canonical version that was pulled last, or 0 */
    int64_t pending;  /* edits that the server has not decided yet */
    int64_t rejected; /* edits in the inbox of rejected ones, damaged ones included */
    /* Pending edits that reads do not show, because the pulled state may contain them already
     * (after a restore of the backend, or of one file of the folder). Reads show them, or the state
     * contains them, once the server has told their outcomes. For that the app need only be online,
     * or call kedge_sync. Withheld edits cannot be cancelled. */
    int64_t withheld;
    /* Lost edits: those that a restored backend lacks and this client no longer keeps, and
     * acknowledged edits that a damaged or older outbox.db lacks. The number never falls. So an app
     * that shows it should store the number that it has shown. The file lost.db of the folder has
     * what reads showed before a restore and the restored backend lacks; the command `kedge lost`
     * prints what of it is still missing. */
    int64_t unrecovered;
    char client[KEDGE_CLIENT_ID_SIZE]; /* the present client id, NUL-terminated */
    /* The error of the last request; status KEDGE_OK when it succeeded. These codes have a meaning
     * of their own:
     *
     *   "server-too-old"      pending edits wait for a newer server, as the message says;
     *                         everything else goes on (while KEDGE_ONLINE)
     *   "items-damaged"       the server has lost items and left them out; the message names the
     *                         first ones (while KEDGE_ONLINE)
     *   "client-id-unstable"  check whether two copies of the folder are in use
     *   "disk-full", "cache-not-written"
     *                         the cache cannot be written. Reads show all edits, further edits are
     *                         refused, and nothing is pulled. The connection, whatever it was,
     *                         becomes KEDGE_CONNECTING once a pull could not be stored
     *   "outbox-damaged"      see kedge_get_sync_status */
    kedge_error last_error;
} kedge_sync_status;

#define KEDGE_SYNC_STATUS_INIT                                                                     \
    {                                                                                              \
        sizeof(kedge_sync_status), KEDGE_OFFLINE, false, 0, 0, 0, 0, 0, "",                        \
        {                                                                                          \
            KEDGE_OK, "", ""                                                                       \
        }                                                                                          \
    }

/* Fills `status` with a consistent snapshot, from the disk and the worker, without using the
 * network. Any thread. It may wait for a writer, such as a pull that is applied: see kedge_mutate.
 * So a user interface should keep the status that kedge_watch_sync_status gave last.
 *
 * When Kedge finds outbox.db damaged, the database stops: it acknowledges and sends no more edits,
 * and every function that needs the outbox returns KEDGE_CORRUPT with the code "outbox-damaged" and
 * the same message. Items can still be read. kedge_get_sync_status still returns KEDGE_OK:
 * `connection` is KEDGE_STOPPED, `last_error` is that error, `pending` includes edits that can no
 * longer be read, and the other members have what can be read (`client` may be ""). Watches of the
 * status are called once when this happens.
 *
 * Errors: KEDGE_INVALID_ARGUMENT, KEDGE_IO, KEDGE_BUSY, KEDGE_NO_MEMORY, KEDGE_LIMIT_EXCEEDED. */
KEDGE_API kedge_status kedge_get_sync_status(kedge_db *db, kedge_sync_status *status,
                                             kedge_error *KEDGE_NULLABLE error);

/* A watch of the status, or of the inbox. Its callback runs through the dispatcher, or on the
 * worker thread when there is none, never inside a call of the app and never twice at a time. The
 * callback may call any function of the database but kedge_close; on the worker thread it may not
 * call those that wait for the server either (kedge_sync, kedge_wait, kedge_history). These return
 * KEDGE_INVALID_ARGUMENT there. Before the callback, Kedge reads the status on the same thread, and
 * may wait there as kedge_get_sync_status does. */
typedef struct kedge_sync_watch kedge_sync_watch;

/* `status` is borrowed during the callback. */
typedef void (*kedge_sync_status_function)(void *KEDGE_NULLABLE userdata,
                                           const kedge_sync_status *status);

/* Calls `callback` with the present status, and then after each change of it: of the connection,
 * of the numbers of pending, rejected and withheld edits, of the pulled version, of the last error,
 * and when the token function gave no token. Several quick changes may give one call; the last of
 * them always gives one. `userdata_free` may be NULL, and is not called when this function fails.
 * The caller owns `*watch` and must free it with kedge_sync_watch_free before it closes the
 * database. Any thread. Errors: KEDGE_INVALID_ARGUMENT, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_watch_sync_status(
    kedge_db *db, kedge_sync_status_function callback, void *KEDGE_NULLABLE userdata,
    void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE), kedge_sync_watch **watch,
    kedge_error *KEDGE_NULLABLE error);

/* Ends the watch and frees it: waits for a running callback, then calls `userdata_free`. Called in
 * the watch's own callback, it does not wait, and `userdata_free` is called when the callback has
 * returned. The callback does not run again. NULL is allowed. Any thread. */
KEDGE_API void kedge_sync_watch_free(kedge_sync_watch *KEDGE_NULLABLE watch);

/* Switches the database offline or online, without waiting for a connection. Any thread. Errors:
 * KEDGE_INVALID_ARGUMENT when `db` is NULL.
 *
 * Offline: no edit is sent that is made after the call, and no response is applied that comes after
 * it. The server may still decide a request that was sent before, and a response that came before
 * may still be applied. Other processes that have the folder open go on, and send the edits of this
 * one, too. The setting is not stored: the next kedge_open starts from its options. Without a `url`
 * the database stays offline, and the call returns KEDGE_OK.
 *
 * Online, also when the database is online already: the process that syncs asks its token function
 * again before its next request. So call it in that process when somebody has logged in or out.
 *
 * After a failure Kedge tries again by itself, after random waits that grow to a minute at most.
 * During such a wait one edit is pushed at once; further ones do not shorten the wait. When the
 * server was out of reach, and one of pull, push and event stream reaches it again, the others
 * follow at once. This call with `online` true ends the waits, and so does kedge_sync: call one of
 * them when the system says that there is a network again, and for a button "try now". */
KEDGE_API kedge_status kedge_set_online(kedge_db *db, bool online,
                                        kedge_error *KEDGE_NULLABLE error);

/* Pushes all edits that are pending at the call, then pulls, and waits for both. When it returns
 * KEDGE_OK, the server has decided every edit made before the call, and reads show a version that
 * the server had after the call. Returns KEDGE_TIMEOUT after `timeout_ms` milliseconds (-1: no
 * timeout), also when the server is down; the message then names the cause.
 *
 * A client-only edit that has conflicted is made again. The call then goes on, with everything that
 * is pending by then, until that edit is decided. When the edit cannot be made again now, the call
 * returns the reason, for example KEDGE_DISK_FULL, and Kedge tries again in the background.
 *
 * Returns at once:
 *
 *   KEDGE_NETWORK      when offline
 *   KEDGE_NOT_FOUND    "project-not-found": the server has no such project yet
 *   KEDGE_CONFLICT     "server-too-old": an edit waits for a newer server (kedge_options);
 *                      the pull may still run
 *   KEDGE_UNAVAILABLE  "client-id-unstable": the server refused several new client ids in a row,
 *                      and the client waits before it tries another
 *
 * After any of these no edit is lost, and sync continues in the background unless the database is
 * offline. When sync has stopped (KEDGE_STOPPED), kedge_sync returns kedge_sync_status.last_error:
 * KEDGE_UNAUTHORIZED, KEDGE_FORBIDDEN and the like, or KEDGE_CORRUPT when outbox.db is damaged. It
 * returns KEDGE_INVALID_ARGUMENT in a callback on the worker thread, as all functions that wait do,
 * and KEDGE_CANCELLED when another thread closes the database. */
KEDGE_API kedge_status kedge_sync(kedge_db *db, int32_t timeout_ms,
                                  kedge_error *KEDGE_NULLABLE error);

typedef enum kedge_outcome {
    KEDGE_OUTCOME_PENDING = 0,
    KEDGE_OUTCOME_APPLIED = 1, /* contained in the pulled version */
    /* In the inbox, or dismissed from it. A damaged edit has this outcome, too, although the server
     * may have applied it. */
    KEDGE_OUTCOME_REJECTED = 2
} kedge_outcome;

/* Waits until the edit of this sequence has been decided and pulled, and sets `*outcome` (`outcome`
 * may be NULL). It also waits while the database is offline or stopped, when kedge_sync returns at
 * once with the cause.
 *
 * An outcome is final, unless the backend is restored from an older backup. Then the edit is
 * pending again, and the server decides it again, unless it was rejected and the app has dismissed
 * or resubmitted it. For an edit that is counted in kedge_sync_status.unrecovered the outcome is
 * KEDGE_OUTCOME_APPLIED, since nothing tells which edits these are.
 *
 * Errors: KEDGE_TIMEOUT after `timeout_ms` milliseconds (-1: no timeout); KEDGE_NOT_FOUND when no
 * edit has this sequence; KEDGE_CORRUPT when outbox.db is damaged (see kedge_get_sync_status);
 * KEDGE_INVALID_ARGUMENT when it would have to wait in a callback on the worker thread;
 * KEDGE_CANCELLED when another thread closes the database; KEDGE_IO, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_wait(kedge_db *db, int64_t sequence, int32_t timeout_ms,
                                  kedge_outcome *KEDGE_NULLABLE outcome,
                                  kedge_error *KEDGE_NULLABLE error);

/* One mutation of a list. Start from KEDGE_MUTATION_INIT (see kedge/base.h). All strings are
 * NUL-terminated and borrowed until the next call on the list. `args` is canonical JSON of
 * `args_size` bytes. `timestamp_ms` counts from 1970. `code` and `message` are "" for a pending
 * mutation.
 *
 * An edit that was damaged on the disk is in the list of rejected edits with the code "damaged":
 * `name` ("" when illegible) and `args` are what could be read, and may differ from the original.
 * Its id may be given to a mutation "kedge.noop", which has no effect. A cancelled edit becomes a
 * "kedge.noop", too. Such a mutation is listed and counted as pending until the server has decided
 * it. So an app that shows pending edits should leave out mutations with this name. */
typedef struct kedge_mutation {
    uint32_t size;
    int64_t sequence;
    int64_t timestamp_ms;
    /* Of a pending edit: it may have been sent, and kedge_cancel fails. `sent` is true from the
     * moment at which the edit's first push begins, also when the server cannot be reached, or
     * refuses the push because of another user's token. Of a rejected edit: always true; `message`
     * of a damaged one says whether it was sent. */
    bool sent;
    bool withheld; /* reads do not show it: see kedge_sync_status */
    const char *name;
    const char *args;
    size_t args_size;
    const char *code;
    const char *message;
} kedge_mutation;

#define KEDGE_MUTATION_INIT                                                                        \
    {                                                                                              \
        sizeof(kedge_mutation), 0, 0, false, false, NULL, NULL, 0, NULL, NULL                      \
    }

typedef struct kedge_mutation_list kedge_mutation_list;

/* Open a snapshot, in order of sequence, of the pending edits, or of the rejected edits in the
 * inbox. A client-only edit that was made again has the sequence of its first attempt, and the
 * place of its newest attempt in the order. The caller owns `*list` and must free it with
 * kedge_mutation_list_close before it closes the database. Any thread may open a list; only one at
 * a time may use it. Errors: KEDGE_LIMIT_EXCEEDED "too-many-readers", KEDGE_CORRUPT, KEDGE_IO,
 * KEDGE_BUSY, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_pending_open(kedge_db *db, kedge_mutation_list **list,
                                          kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_open(kedge_db *db, kedge_mutation_list **list,
                                           kedge_error *KEDGE_NULLABLE error);
/* Fills `mutation` with the next edit. Returns KEDGE_DONE when there are no more. */
KEDGE_API kedge_status kedge_mutation_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                                kedge_error *KEDGE_NULLABLE error);
/* Ends a list and frees it. NULL is allowed. */
KEDGE_API void kedge_mutation_list_close(kedge_mutation_list *KEDGE_NULLABLE list);

/* `mutation` and its texts are borrowed during the callback. */
typedef void (*kedge_rejected_function)(void *KEDGE_NULLABLE userdata,
                                        const kedge_mutation *mutation);

/* Calls `callback` once for each edit in the inbox: first for those that are there now, then for
 * each that comes, whichever process of the folder has pulled it. An edit that is dismissed before
 * its callback could run gives no call. A new watch, for example after kedge_open, begins again
 * with all edits that are in the inbox. So an app that announces them should remember which ones it
 * has announced. Threads, ownership and errors: as of kedge_watch_sync_status. */
KEDGE_API kedge_status
kedge_watch_rejected(kedge_db *db, kedge_rejected_function callback, void *KEDGE_NULLABLE userdata,
                     void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                     kedge_sync_watch **watch, kedge_error *KEDGE_NULLABLE error);

/* Remove a rejected edit from the inbox of this folder. kedge_rejected_resubmit also makes the same
 * edit again, as kedge_mutate makes one, with a new sequence and with the time of the call as its
 * timestamp. `*new_sequence` gets the new sequence; `new_sequence` may be NULL. When the edit
 * cannot be made, for example because the mutator refuses it, the call returns the error of
 * kedge_mutate, and the edit stays in the inbox. Both functions are durable when they return, and
 * may wait as kedge_mutate does. Any thread.
 *
 * Errors: KEDGE_NOT_FOUND when the edit is not in the inbox; KEDGE_CONFLICT "mutation-damaged" when
 * a damaged edit is to be resubmitted (sync, look whether the server has its changes, make the edit
 * again if not, and dismiss the damaged one); KEDGE_DISK_FULL, KEDGE_IO, KEDGE_BUSY,
 * KEDGE_NO_MEMORY; KEDGE_CORRUPT as for kedge_mutate. */
KEDGE_API kedge_status kedge_rejected_dismiss(kedge_db *db, int64_t sequence,
                                              kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_resubmit(kedge_db *db, int64_t sequence,
                                               int64_t *KEDGE_NULLABLE new_sequence,
                                               kedge_error *KEDGE_NULLABLE error);

/* Dismisses many edits: those that kedge_rejected_open lists, from the first one up to the one of
 * this sequence, that one included. When no edit in the list has the sequence, those with a lower
 * sequence are dismissed. INT64_MAX dismisses all that are there at the call. `*dismissed` gets the
 * number of edits that were dismissed, which may be 0; `dismissed` may be NULL. Any thread.
 *
 * Edits are decided in the order in which they were made. So an edit that is rejected after the app
 * has read the list stands behind all edits of the list, and stays in the inbox. There are two
 * exceptions: a damaged edit is listed before the edits in front of it are decided, and a backend
 * that was restored decides edits again. Then an edit of a lower sequence that the list did not
 * have may be dismissed, too.
 *
 * Edits are dismissed in the order of the list, a few hundred in one transaction. Between these
 * transactions other threads and processes can write. When the call fails, and after a crash, a
 * first part of the edits may be dismissed, and `*dismissed` is not set; the next call dismisses
 * the rest. Errors: as of kedge_rejected_dismiss, but not KEDGE_NOT_FOUND. */
KEDGE_API kedge_status kedge_rejected_dismiss_through(kedge_db *db, int64_t sequence,
                                                      size_t *KEDGE_NULLABLE dismissed,
                                                      kedge_error *KEDGE_NULLABLE error);

/* Requests the versions of the project from the server, newest first: a JSON array of objects
 * {version, created, mutations: [{client, id, name, args, timestamp, user, outcome, code?,
 * message?}]}, with `created` and `timestamp` in milliseconds since 1970. `before`: only versions
 * below this one; 0: from the newest on. `limit`: the most versions, 1 to 100. The caller owns
 * `*versions` and must free it with kedge_document_free. Any thread.
 *
 * Blocks up to `timeout_ms` milliseconds. -1: as long as a request may take from the moment at
 * which the worker sends it; a pull that the worker applies comes before that. With the option
 * `caller_driven` the call may take longer than `timeout_ms`, because this thread then also does
 * the work of the loop, such as a large pull. When the database is switched offline meanwhile, the
 * call ends with KEDGE_NETWORK "offline".
 *
 * Errors: KEDGE_INVALID_ARGUMENT, also in a callback on the worker thread; KEDGE_NETWORK,
 * KEDGE_TIMEOUT, KEDGE_UNAUTHORIZED, KEDGE_FORBIDDEN, KEDGE_NOT_FOUND, KEDGE_PROTOCOL,
 * KEDGE_UNAVAILABLE, KEDGE_LIMIT_EXCEEDED, KEDGE_CANCELLED, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_history(kedge_db *db, int64_t before, int32_t limit,
                                     int32_t timeout_ms, kedge_document **versions,
                                     kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
