/* The state of sync: pending and rejected edits, the connection, and functions that wait. A
 * database syncs by itself; an app calls these functions to show the state or to wait for it. */
#ifndef KEDGE_SYNC_H
#define KEDGE_SYNC_H

#include <kedge/limits.h>
#include <kedge/read.h>

KEDGE_BEGIN_DECLS

#define KEDGE_CLIENT_ID_SIZE (KEDGE_LIMIT_CLIENT_ID_BYTES + 1)

typedef enum kedge_connection {
    KEDGE_OFFLINE = 0, /* by option, kedge_set_online(db, false), or without a url */
    /* Another process has the database open and does the syncing. `last_error` is that of the other
     * one. */
    KEDGE_FOLLOWER = 1,
    KEDGE_CONNECTING = 2, /* no response yet, or waiting to retry */
    /* The last request had a response; pending edits may wait for a newer server all the same: see
     * `last_error`. A server that goes away is noticed when the event stream breaks, or has been
     * silent for 40 seconds: then a request follows, and fails. */
    KEDGE_ONLINE = 3,
    /* see `last_error`. The server refused and Kedge does not retry by itself: call
     * kedge_set_online. With the code "other-user" (KEDGE_FORBIDDEN) the folder was synced as
     * another user: open another folder, or call it when that user has logged in. Or outbox.db is
     * damaged (status KEDGE_CORRUPT): call kedge_repair. */
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
    /* pending edits that reads do not show, because the pulled state may contain them already
     * (after a restore of the backend, or of one file of the folder). It ends when the server
     * has told their outcomes: the app need only be online, or call kedge_sync. They cannot be
     * cancelled. */
    int64_t withheld;
    /* edits lost by a restore of the backend because this client no longer kept them, and
     * acknowledged edits that a damaged or older outbox.db lacks. The number never falls: an app
     * that has shown it to its user should store the number shown. What reads showed before a
     * restore, and the restored backend lacked, is in the file lost.db of the folder: the command
     * `kedge lost` tells what of it is still missing. */
    int64_t unrecovered;
    char client[KEDGE_CLIENT_ID_SIZE]; /* the present client id, NUL-terminated */
    /* the error of the last request; status KEDGE_OK when it succeeded. While online also
     * "server-too-old": pending edits wait for a newer server, as the message says; all else goes
     * on. "items-damaged": the server has lost items and left them out; the message names the first
     * ones. "client-id-unstable": check whether two copies of the folder are in use. Whatever the
     * connection is: "disk-full" or "cache-not-written" as long as the cache cannot be written:
     * reads show all edits, further edits are refused, and nothing is pulled, so that the
     * connection becomes KEDGE_CONNECTING. "outbox-damaged": see kedge_get_sync_status. */
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
 * network. It may wait for a writer, such as a pull that is applied: see kedge_mutate. A user
 * interface should keep what kedge_watch_sync_status gave last. When outbox.db is found damaged,
 * the database stops: it acknowledges and sends no more edits, and every function that needs the
 * outbox returns KEDGE_CORRUPT with the code "outbox-damaged" and the same message.
 * kedge_get_sync_status still returns KEDGE_OK: `connection` is KEDGE_STOPPED, `last_error` is that
 * error, `pending` includes edits that can no longer be read, and the other members have what can
 * be read (`client` may be ""). Watches are called once when this happens. Items can still be read.
 * Errors: KEDGE_IO, KEDGE_BUSY, KEDGE_NO_MEMORY, KEDGE_LIMIT_EXCEEDED. */
KEDGE_API kedge_status kedge_get_sync_status(kedge_db *db, kedge_sync_status *status,
                                             kedge_error *KEDGE_NULLABLE error);

/* A watch of the status, or of the inbox. Its callback runs through the dispatcher, or on the
 * worker thread when there is none, never inside a call of the app and never twice at a time. It
 * may call any function, except that kedge_close refuses, and that on the worker thread the
 * functions that wait for the server (kedge_sync, kedge_wait, kedge_history) do. A watch of the
 * status reads it on the thread of the callback, and may wait there as kedge_get_sync_status
 * does. */
typedef struct kedge_sync_watch kedge_sync_watch;

/* `status` is borrowed during the callback. */
typedef void (*kedge_sync_status_function)(void *KEDGE_NULLABLE userdata,
                                           const kedge_sync_status *status);

/* Calls `callback` with the present status, and then whenever it has changed: the connection, a
 * request for a token that failed, what is pending, rejected or withheld, the pulled version, the
 * last error. Several quick changes may give one call; the last of them always gives one. The
 * caller owns `*watch` and must free it with kedge_sync_watch_free before it closes the
 * database. */
KEDGE_API kedge_status kedge_watch_sync_status(
    kedge_db *db, kedge_sync_status_function callback, void *KEDGE_NULLABLE userdata,
    void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE), kedge_sync_watch **watch,
    kedge_error *KEDGE_NULLABLE error);

/* Ends the watch: waits for a running callback, then calls `userdata_free`. Inside the watch's own
 * callback it does not wait, and `userdata_free` is called after the callback. The callback does
 * not run again. NULL is allowed. */
KEDGE_API void kedge_sync_watch_free(kedge_sync_watch *KEDGE_NULLABLE watch);

/* Switches the database offline or online, without waiting for a connection. Once it is switched
 * offline, no edit is sent that was made after the call, and no response is taken in that comes
 * after the call. A request that was sent before may still be decided by the server, and a
 * response that came before may still be applied. Other processes that have the database open go
 * on, with the edits of this one, too. The setting is not stored: the next kedge_open starts from
 * its options. Without a `url` it returns KEDGE_OK, too, and the database stays offline. With
 * `online` true, also when it is online already, the process that syncs asks the token function
 * again before its next request: call it there when somebody has logged in or out.
 *
 * After a failure Kedge tries again by itself, after random waits that grow to a minute at most.
 * During such a wait one edit is pushed at once; further ones do not shorten it. When the server
 * was out of reach, and a pull, a push or the event stream reaches it again, the others follow at
 * once. This call with `online` true ends the waits, and so does kedge_sync: call one when the
 * system says that there is a network again, and for a button "try now". */
KEDGE_API kedge_status kedge_set_online(kedge_db *db, bool online,
                                        kedge_error *KEDGE_NULLABLE error);

/* Pushes all edits that are pending at the call and then pulls. When it returns KEDGE_OK, the
 * server has decided every edit made before the call, and reads show a version that the server had
 * after the call. A client-only edit that has conflicted is made again, and the call goes on, with
 * what is pending then, until that edit is decided. When it cannot be made again now, the call
 * returns why, for example KEDGE_DISK_FULL, and Kedge tries again in the background. Returns
 * KEDGE_TIMEOUT after `timeout_ms` (-1: no timeout), also when the server is down: then the message
 * names the cause. Returns at once:
 *
 *   KEDGE_NETWORK      when offline
 *   KEDGE_NOT_FOUND    "project-not-found": the server has no such project yet
 *   KEDGE_CONFLICT     "server-too-old": an edit waits for a newer server (kedge_options);
 *                      the pull may still run
 *   KEDGE_UNAVAILABLE  "client-id-unstable": the server refused several new client ids in a row,
 *                      and the client waits before it tries another
 *
 * After any of these no edit is lost, and sync continues in the background. When sync has stopped
 * (KEDGE_STOPPED), it returns the error of kedge_sync_status.last_error: KEDGE_UNAUTHORIZED,
 * KEDGE_FORBIDDEN and the like, or KEDGE_CORRUPT when outbox.db is damaged. Returns
 * KEDGE_INVALID_ARGUMENT in a callback on the worker thread, as all functions that wait do, and
 * KEDGE_CANCELLED when another thread closes the database. */
KEDGE_API kedge_status kedge_sync(kedge_db *db, int32_t timeout_ms,
                                  kedge_error *KEDGE_NULLABLE error);

typedef enum kedge_outcome {
    KEDGE_OUTCOME_PENDING = 0,
    KEDGE_OUTCOME_APPLIED = 1, /* contained in the pulled version */
    /* In the inbox, or dismissed from it. A damaged edit has this outcome, too, although the server
     * may have applied it. */
    KEDGE_OUTCOME_REJECTED = 2
} kedge_outcome;

/* Waits until the edit has been decided and pulled, also while the database is offline or stopped
 * (kedge_sync returns at once then, with the cause). Returns KEDGE_TIMEOUT after `timeout_ms` (-1:
 * no timeout); KEDGE_NOT_FOUND when no edit has this sequence; KEDGE_CORRUPT when outbox.db is
 * damaged (see kedge_get_sync_status); KEDGE_INVALID_ARGUMENT when it would have to wait in a
 * callback on the worker thread; KEDGE_CANCELLED when another thread closes the database. An
 * outcome is final unless the backend is restored from an older backup. Then the edit is pending
 * again and the server decides it again, unless it was a rejection that was dismissed or
 * resubmitted. An edit that is counted in kedge_sync_status.unrecovered has the outcome applied,
 * since it is not known which edits these are. */
KEDGE_API kedge_status kedge_wait(kedge_db *db, int64_t sequence, int32_t timeout_ms,
                                  kedge_outcome *KEDGE_NULLABLE outcome,
                                  kedge_error *KEDGE_NULLABLE error);

/* One mutation of a list. Start from KEDGE_MUTATION_INIT (see kedge/base.h). All strings are
 * NUL-terminated and borrowed until the next call on the list. `code` and `message` are "" for a
 * pending mutation. An edit that was damaged on the disk is in the list of rejected edits with the
 * code "damaged": `name` ("" when illegible) and `args` are what could be read, and may differ from
 * the original. A mutation "kedge.noop", which has no effect, may take its id. It is listed and
 * counted as pending until the server has it, and so is a cancelled edit: an app that shows pending
 * edits should leave out mutations with this name. */
typedef struct kedge_mutation {
    uint32_t size;
    int64_t sequence;
    int64_t timestamp_ms;
    /* pending: it may have been sent, and kedge_cancel fails. It is true from the moment at which
     * its first push begins, also when the server cannot be reached or refuses that push, as one
     * with another user's token. Rejected: always true; for a damaged edit, `message` says whether
     * it was sent. */
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
 * inbox. A client-only edit that was made again has the sequence of its first attempt, and stands
 * where the newest one does. The caller owns `*list` and must free it with
 * kedge_mutation_list_close before it closes the database. */
KEDGE_API kedge_status kedge_pending_open(kedge_db *db, kedge_mutation_list **list,
                                          kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_open(kedge_db *db, kedge_mutation_list **list,
                                           kedge_error *KEDGE_NULLABLE error);
/* Fills `mutation` with the next edit. Returns KEDGE_DONE when there are no more. */
KEDGE_API kedge_status kedge_mutation_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                                kedge_error *KEDGE_NULLABLE error);
KEDGE_API void kedge_mutation_list_close(kedge_mutation_list *KEDGE_NULLABLE list);

/* `mutation` and its texts are borrowed during the callback. */
typedef void (*kedge_rejected_function)(void *KEDGE_NULLABLE userdata,
                                        const kedge_mutation *mutation);

/* Calls `callback` once for each edit in the inbox: for those that are there now, and then for each
 * that comes, whichever process of the folder has pulled it. An edit that is dismissed before its
 * callback could run gives no call. A new watch, for example after kedge_open, begins again with
 * all edits that are in the inbox: an app that announces them should remember which it has
 * announced. Otherwise as kedge_watch_sync_status. */
KEDGE_API kedge_status
kedge_watch_rejected(kedge_db *db, kedge_rejected_function callback, void *KEDGE_NULLABLE userdata,
                     void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE),
                     kedge_sync_watch **watch, kedge_error *KEDGE_NULLABLE error);

/* Remove a rejected edit from the inbox of this folder. kedge_rejected_resubmit also makes the same
 * edit again, with a new sequence and with the time of the call as its timestamp: it runs the
 * mutator locally and fails as kedge_mutate does, and then the edit stays in the inbox. Both are
 * durable when they return, and may wait as kedge_mutate does. A damaged edit cannot be resubmitted
 * (KEDGE_CONFLICT, "mutation-damaged"): sync, look whether the server has its changes, make the
 * edit again if not, and dismiss the damaged one. Return KEDGE_NOT_FOUND when the edit is not in
 * the inbox; KEDGE_CORRUPT as for kedge_mutate. */
KEDGE_API kedge_status kedge_rejected_dismiss(kedge_db *db, int64_t sequence,
                                              kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_resubmit(kedge_db *db, int64_t sequence,
                                               int64_t *KEDGE_NULLABLE new_sequence,
                                               kedge_error *KEDGE_NULLABLE error);

/* Removes from the inbox all edits that kedge_rejected_open lists up to the one of this sequence,
 * that one included, as kedge_rejected_dismiss removes each; when none has this sequence, those
 * with a lower one; INT64_MAX: all that are there at the call. `*dismissed` gets how many were
 * removed, 0 included.
 *
 * Edits are decided in the order in which they were made. So one that is rejected after the list
 * was read stands after it, and stays in the inbox. There are two exceptions: a damaged edit is
 * listed before the edits in front of it are decided, and a backend that was restored decides edits
 * again. Then an edit of a lower sequence may be removed that the list did not have.
 *
 * Edits are removed in the order of the list, and made durable by the few hundred. Between these
 * transactions other threads and processes can write. When it fails, and after a crash, a first
 * part of them may be removed, and `*dismissed` is not set; the next call removes the rest. Errors
 * as for kedge_rejected_dismiss, but not KEDGE_NOT_FOUND. */
KEDGE_API kedge_status kedge_rejected_dismiss_through(kedge_db *db, int64_t sequence,
                                                      size_t *KEDGE_NULLABLE dismissed,
                                                      kedge_error *KEDGE_NULLABLE error);

/* Requests the versions of the project from the server, newest first: a JSON array of objects
 * {version, created, mutations: [{client, id, name, args, timestamp, user, outcome, code?,
 * message?}]}. `before`: only versions below this one; 0: from the newest on. At most `limit`
 * versions (1 to 100). Blocks up to `timeout_ms` (-1: as long as a request may take once the worker
 * has sent it, which it does after a pull that it applies). With the option `caller_driven`, what
 * the loop does on this thread, such as a large pull, may take longer than that. It ends with
 * KEDGE_NETWORK "offline" when the database is switched offline meanwhile. The caller owns
 * `*versions` and must free it with kedge_document_free. Errors: KEDGE_INVALID_ARGUMENT, also in a
 * callback on the worker thread; KEDGE_NETWORK, KEDGE_TIMEOUT, KEDGE_UNAUTHORIZED, KEDGE_FORBIDDEN,
 * KEDGE_NOT_FOUND, KEDGE_PROTOCOL, KEDGE_UNAVAILABLE, KEDGE_LIMIT_EXCEEDED, KEDGE_CANCELLED,
 * KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_history(kedge_db *db, int64_t before, int32_t limit,
                                     int32_t timeout_ms, kedge_document **versions,
                                     kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
