/* Sync: what is pending, what was rejected, how the connection stands, and waiting for it. A
 * database syncs by itself; an app needs these to show it and to wait for it. */
#ifndef KEDGE_SYNC_H
#define KEDGE_SYNC_H

#include <kedge/limits.h>
#include <kedge/read.h>

KEDGE_BEGIN_DECLS

#define KEDGE_CLIENT_ID_SIZE (KEDGE_LIMIT_CLIENT_ID_BYTES + 1)

typedef enum kedge_connection {
    KEDGE_OFFLINE = 0,    /* by option, kedge_set_online(db, false), or without a url */
    KEDGE_FOLLOWER = 1,   /* another process has the database open and does the syncing */
    KEDGE_CONNECTING = 2, /* no answer yet, or waiting to retry */
    KEDGE_ONLINE = 3,     /* the last request was answered */
    KEDGE_STOPPED = 4 /* see `last_error`. The server refused for good: kedge_set_online retries. Or
                         outbox.db is damaged (status KEDGE_CORRUPT): kedge_repair */
} kedge_connection;

typedef struct kedge_sync_status {
    kedge_connection connection;
    bool resyncing;      /* the cache is fetched anew; reads show what there is */
    int64_t version;     /* the canonical version that was pulled last; 0: none */
    int64_t pending;     /* edits that the server has not decided yet */
    int64_t rejected;    /* edits in the inbox of rejected ones, damaged ones included */
    int64_t withheld;    /* of those pending: reads do not show them until the server has said what
                            became of them, since the pulled state may have them already (after a
                            restore of the backend, or of one file of the folder). The app need only
                            be online, or call kedge_sync. They cannot be cancelled */
    int64_t unrecovered; /* edits lost by a restore of the backend, older than the tail kept; and
                            acknowledged ones that a damaged or older outbox.db lacks. It only
                            rises: an app that has told its user keeps the number that it told */
    char client[KEDGE_CLIENT_ID_SIZE]; /* the living client id, NUL-terminated */
    kedge_error last_error; /* the last failed request; status KEDGE_OK when none since. While
                               online also "items-damaged": the server has lost items and left them
                               out; the message names the first ones. "client-id-unstable": nothing
                               to do, but check whether two copies of the folder are in use.
                               "disk-full" for as long as the cache cannot be written: reads show
                               all edits, further ones are refused, and nothing is pulled.
                               "outbox-damaged": see kedge_get_status */
} kedge_sync_status;

/* A consistent picture of the moment, from the disk and the worker; touches no network. Once
 * outbox.db was found damaged the database has stopped: nothing is acknowledged or sent any more,
 * and every call that needs the outbox answers KEDGE_CORRUPT with the code "outbox-damaged", in the
 * same words. The status is KEDGE_OK all the same: `connection` is KEDGE_STOPPED, `last_error` is
 * that error, `pending` counts edits that can no longer be read, too, and the rest is what can be
 * read (`client` may be ""). Watches are told once when that happens. Reads of items go on. Errors:
 * KEDGE_IO, KEDGE_BUSY, KEDGE_NO_MEMORY, KEDGE_LIMIT_EXCEEDED. */
KEDGE_API kedge_status kedge_get_status(kedge_db *db, kedge_sync_status *status,
                                        kedge_error *KEDGE_NULLABLE error);

/* Goes offline or online at once; returns without waiting. Not kept across opens. */
KEDGE_API kedge_status kedge_set_online(kedge_db *db, bool online,
                                        kedge_error *KEDGE_NULLABLE error);

/* Pushes all that was pending at the call and then pulls once: when KEDGE_OK returns, every edit
 * made before the call has been decided, and the reads show the server's version at some moment
 * after the call. KEDGE_TIMEOUT after `timeout_ms` (-1: wait for ever). When offline: KEDGE_NETWORK
 * at once. When the server did not take several new client ids in a row: KEDGE_UNAVAILABLE with the
 * code client-id-unstable, at once, while the client waits before it asks for another. Nothing is
 * lost by any of these: sync goes on in the background. KEDGE_CORRUPT when outbox.db is damaged:
 * see kedge_get_status; nothing goes on. In a callback that runs on the worker thread:
 * KEDGE_INVALID_ARGUMENT, as for all functions that wait. */
KEDGE_API kedge_status kedge_sync(kedge_db *db, int32_t timeout_ms,
                                  kedge_error *KEDGE_NULLABLE error);

typedef enum kedge_outcome {
    KEDGE_OUTCOME_PENDING = 0,
    KEDGE_OUTCOME_APPLIED = 1, /* covered by the version pulled */
    /* In the inbox, or dismissed from it. A damaged edit is answered so, too, although the server
     * may have applied it. */
    KEDGE_OUTCOME_REJECTED = 2
} kedge_outcome;

/* Waits until the edit has been decided and pulled. KEDGE_TIMEOUT after `timeout_ms`;
 * KEDGE_NOT_FOUND for a sequence that was never given out; KEDGE_CORRUPT when outbox.db is damaged
 * (see kedge_get_status); KEDGE_INVALID_ARGUMENT when it would have to wait in a callback on the
 * worker thread. An outcome stands until the backend is restored
 * from a backup that is older: then the edit is pending once more, and decided anew, unless a
 * rejection was dismissed or resubmitted. An edit that is counted in kedge_sync_status.unrecovered
 * is answered as applied: nobody knows which ones these are. */
KEDGE_API kedge_status kedge_wait(kedge_db *db, int64_t sequence, int32_t timeout_ms,
                                  kedge_outcome *KEDGE_NULLABLE outcome,
                                  kedge_error *KEDGE_NULLABLE error);

/* A mutation as lists show it. All strings are NUL-terminated and borrowed until the next call on
 * the list. `code` and `message` are "" for a pending one. An edit that the disk has damaged is in
 * the list of rejected ones with the code "damaged": `name` ("" when illegible) and `args` are what
 * could be read, and need not be what was meant. Its id may be held by a mutation "kedge.noop"
 * without any effect, which is listed and counted as pending until the server has it, like one that
 * was cancelled: an app that shows pending edits leaves out what has this name. */
typedef struct kedge_mutation {
    int64_t sequence;
    int64_t timestamp_ms;
    bool sent;     /* of a pending one: may have left this machine, and cancel is refused. Of a
                      rejected one always true; whether a damaged one had left, `message` says */
    bool withheld; /* see kedge_sync_status: no read shows it */
    const char *name;
    const char *args;
    size_t args_size;
    const char *code;
    const char *message;
} kedge_mutation;

typedef struct kedge_mutation_list kedge_mutation_list;

/* Snapshots, in order of sequence: the pending edits; the rejected ones that wait for the app. */
KEDGE_API kedge_status kedge_pending_open(kedge_db *db, kedge_mutation_list **list,
                                          kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_open(kedge_db *db, kedge_mutation_list **list,
                                           kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_mutation_list_next(kedge_mutation_list *list, kedge_mutation *mutation,
                                                kedge_error *KEDGE_NULLABLE error);
KEDGE_API void kedge_mutation_list_close(kedge_mutation_list *KEDGE_NULLABLE list);

/* Takes a rejected edit out of the inbox of this copy: for good, or by making it anew as an edit of
 * its own with a new sequence. Resubmitting runs the mutator locally and fails as kedge_mutate
 * does, and then the edit stays in the inbox. A damaged one cannot be resubmitted (KEDGE_CONFLICT,
 * "mutation-damaged"): sync, look whether the server has it, make it anew if not, and dismiss this
 * one. KEDGE_NOT_FOUND when it is not there; KEDGE_CORRUPT as of kedge_mutate. */
KEDGE_API kedge_status kedge_rejected_dismiss(kedge_db *db, int64_t sequence,
                                              kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_rejected_resubmit(kedge_db *db, int64_t sequence,
                                               int64_t *KEDGE_NULLABLE new_sequence,
                                               kedge_error *KEDGE_NULLABLE error);

/* The versions of the project, newest first, asked of the server: a JSON array of objects
 * {version, created, mutations: [{client, id, name, args, timestamp, user, outcome, code?,
 * message?}]}. `before` 0 starts at the newest, otherwise below that version; at most `limit` (1 to
 * 100). Blocks up to `timeout_ms` (-1: as long as a request may take). Free with
 * kedge_document_free. Errors: KEDGE_INVALID_ARGUMENT, also in a callback on the worker thread;
 * KEDGE_NETWORK, KEDGE_TIMEOUT, KEDGE_UNAUTHORIZED, KEDGE_FORBIDDEN, KEDGE_NOT_FOUND,
 * KEDGE_PROTOCOL, KEDGE_UNAVAILABLE, KEDGE_LIMIT_EXCEEDED, KEDGE_CANCELLED, KEDGE_NO_MEMORY. */
KEDGE_API kedge_status kedge_history(kedge_db *db, int64_t before, int32_t limit,
                                     int32_t timeout_ms, kedge_document **versions,
                                     kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
