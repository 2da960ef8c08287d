/* Opening, editing and closing a database. A database is one folder with one project. At any time
 * it has one client id. The folder has two SQLite files: the outbox (outbox.db) keeps the edits
 * that this copy has made, and the cache (cache.db) keeps what reads show. The cache can be pulled
 * from the server again; the outbox cannot. */
#ifndef KEDGE_DATABASE_H
#define KEDGE_DATABASE_H

#include <kedge/allocator.h>
#include <kedge/log.h>
#include <kedge/mutator.h>

KEDGE_BEGIN_DECLS

/* An open database. Any thread may call any function with it, several at a time, until kedge_close
 * returns. The folder may be open several times at once, in one process or several. Each process
 * must call kedge_open itself: a child process must not use a database that was open at the fork().
 * Until the child calls exec() or ends, it holds the locks of that database, too
 * (docs/reference/c-api.md).
 *
 * Kedge installs no signal handlers. Its threads block all signals except those of a fault of their
 * own, such as one in a callback (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), so that the
 * app's handler for crash reports runs. A program that a callback starts on such a thread inherits
 * the blocked signals. */
typedef struct kedge_db kedge_db;

/* Gives the token for the header `Authorization: Bearer`: writes it into `buffer`, NUL-terminated,
 * and returns KEDGE_OK. A token has 1 to KEDGE_TOKEN_BYTES - 1 characters of ASCII, without spaces
 * and control characters. Kedge calls the function on the worker thread: before the first request,
 * after kedge_set_online(db, true), and after the server has responded with 401 or has said that
 * the folder is another user's. The function may block. Meanwhile nothing is synced, and
 * kedge_close waits for it.
 *
 * When there is no token, the function returns another status. Before that it may write `error: `
 * and a text for people into `buffer`, NUL-terminated; kedge_sync_status.last_error and the
 * functions that wait then quote the text. Sync stops (KEDGE_STOPPED, KEDGE_UNAUTHORIZED) until
 * kedge_set_online(db, true) or the next edit, when Kedge calls the function again. After a 401
 * that did not come from the server itself, such as a captive portal's, sync does not stop: Kedge
 * goes on with the token that it has.
 *
 * When the server refuses the new token as well, sync stops, and edits do not make it go on: call
 * kedge_set_online(db, true) once there is another token. */
typedef kedge_status (*kedge_token_function)(void *KEDGE_NULLABLE userdata, char *buffer,
                                             size_t buffer_size);

/* Must run `work(argument)` exactly once, on a thread of the app's choice, before or after the
 * function returns. An app uses it to receive callbacks on the thread of its user interface. */
typedef void (*kedge_dispatch_function)(void *KEDGE_NULLABLE userdata, void (*work)(void *argument),
                                        void *argument);

#define KEDGE_OPTIONS_VERSION 1
#define KEDGE_TOKEN_BYTES     16384 /* the size of the token function's buffer */

/* Start from KEDGE_OPTIONS_INIT (see kedge/base.h). Strings and arrays are copied by kedge_open,
 * except the mutators' names and userdata, which must live as long as the database. */
typedef struct kedge_options {
    uint32_t version;
    uint32_t size;
    /* The folder; made when absent (its parent must exist), for this user alone (0700). Required. A
     * relative path starts at the folder that the process is in when it calls kedge_open. The
     * absolute path has at most 448 bytes on Unix, which is 64 less than SQLite allows for a file.
     * Give each database a folder of its own. Kedge does not touch other files in the folder, but
     * it cannot keep other programs from changing the files of Kedge. Nothing in the folder is
     * encrypted. In a folder that the app has made, the umask decides who else may read the
     * files. */
    const char *KEDGE_NULLABLE path;
    /* The server, for example "https://sync.example.com" or "http://127.0.0.1:7420". A path in the
     * URL is put in front of the path of each request. NULL: the database does not sync until it is
     * opened with a URL. */
    const char *KEDGE_NULLABLE url;
    /* A file of certificates (PEM): the server's certificate must be signed by one of them, and no
     * other authority is trusted. The file must be readable at kedge_open, and each new connection
     * reads it again. A relative path starts at the folder that the process is in when it calls
     * kedge_open. NULL: the file that the environment variable SSL_CERT_FILE names, or the system's
     * authorities. */
    const char *KEDGE_NULLABLE ca_file;
    /* The tenant, and the project that is synced. Both are required and cannot change after the
     * folder's first open. */
    const char *KEDGE_NULLABLE organization;
    const char *KEDGE_NULLABLE project;
    /* The app's mutators; the built-in ones are always there. */
    const kedge_mutator *KEDGE_NULLABLE mutators;
    size_t mutator_count;
    /* The user and role that mutators see when they run locally. NULL: "". On the server they come
     * from the token; without `token` a server in open mode takes the user from here, at most 255
     * bytes of UTF-8, and knows no role: mutators see "" there. */
    const char *KEDGE_NULLABLE user;
    const char *KEDGE_NULLABLE role;
    /* True: do not sync until kedge_set_online(db, true). */
    bool offline;
    /* True: a database that has never synced asks the server to create the project first, which
     * the token must allow; a project that is there stays as it is. When the server refuses,
     * kedge_sync_status.last_error says why. False, or refused: the client waits for the project,
     * with the error "project-not-found", and syncs once it is there. */
    bool create_project;
    /* How many milliseconds an edit waits for a server that lacks its mutator or has an older
     * version of it. The time begins with the edit's timestamp, and runs by this device's clock.
     * Meanwhile the edit and those after it stay pending, and kedge_sync_status.last_error has the
     * code "server-too-old". After that time the server decides the edit without the mutator, and
     * the edit comes into the inbox. 0: an edit waits until the server is newer. -1: it does not
     * wait. The option of this opening also holds for edits that were made before it. So an opening
     * with -1 brings an edit into the inbox that would have waited for ever. */
    int64_t server_wait_ms;
    /* NULL: no token is sent (a server in open mode on loopback). `user` and `role` must be those
     * of the token. Otherwise a mutator that checks them may accept an edit here and reject it on
     * the server. */
    kedge_token_function KEDGE_NULLABLE token;
    /* NULL: callbacks run on the worker thread. */
    kedge_dispatch_function KEDGE_NULLABLE dispatch;
    /* NULL: no log. `log_level`: the least important lines that are written; 0 is
     * KEDGE_LOG_ERROR. */
    kedge_log_function KEDGE_NULLABLE log;
    kedge_log_level log_level;
    void *KEDGE_NULLABLE userdata; /* for `token`, `dispatch` and `log` */
    /* NULL: none. kedge_close calls it once, with `userdata`, as the last thing that it does. */
    void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE userdata);
    /* NULL: malloc, realloc, free. The allocator must outlive the database and all work that was
     * given to `dispatch`. */
    const kedge_allocator *KEDGE_NULLABLE allocator;
    /* True: there is no worker thread, and the app calls kedge_loop_run: see kedge/loop.h. */
    bool caller_driven;
    /* Mutators that the server does not have: client-only ones. Kedge sends what such a mutator has
     * read and written, as a kedge.apply. When somebody else has changed a value that it has read,
     * the edit conflicts. Kedge then makes the edit again on the new state, after the edits that
     * are pending then, under the same sequence. An edit that has conflicted
     * KEDGE_LIMIT_APPLY_ATTEMPTS times is rejected with the code "conflict". It is rejected at its
     * first conflict when another copy of the folder may have made it again. */
    const kedge_mutator *KEDGE_NULLABLE client_mutators;
    size_t client_mutator_count;
    /* The version of what this release of the app writes into items and args, such as "3" or "2.1":
     * 1 to 64 of A-Z a-z 0-9 _ . -, but not . or - as the first. Each push and each pull names the
     * version to the server as `schemaVersion`: that of the release which sends, also for edits
     * that an older release has made. NULL: none. */
    const char *KEDGE_NULLABLE schema_version;
} kedge_options;

#define KEDGE_OPTIONS_INIT                                                                         \
    {                                                                                              \
        KEDGE_OPTIONS_VERSION, sizeof(kedge_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, \
            NULL, false, false, 0, NULL, NULL, NULL, KEDGE_LOG_ERROR, NULL, NULL, NULL, false,     \
            NULL, 0, NULL                                                                          \
    }

/* Opens a database, or creates one in a new folder. The caller owns `*db` and must free it with
 * kedge_close. When kedge_open fails, it does not call `userdata_free`. Any thread.
 *
 * A cache that is damaged is set aside and fetched again. When the outbox is damaged, kedge_open
 * returns KEDGE_CORRUPT and changes nothing; `error` says how many edits can be read. kedge_repair,
 * or the command `kedge repair`, saves them into a new folder.
 *
 * kedge_open waits until other processes that have the folder open have finished what they write:
 * see kedge_mutate. When the mutators are not those of the last opening, by their names and
 * versions, all pending mutations run again before kedge_open returns. With tens of thousands of
 * them that takes seconds.
 *
 * Errors: KEDGE_INVALID_ARGUMENT, KEDGE_UNSUPPORTED (an option that is not known),
 * KEDGE_LIMIT_EXCEEDED (a name that is too long), KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE,
 * KEDGE_CORRUPT, KEDGE_REGISTRY_MISMATCH, KEDGE_BUSY, KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY,
 * KEDGE_INTERNAL. */
KEDGE_API kedge_status kedge_open(const kedge_options *options, kedge_db **db,
                                  kedge_error *KEDGE_NULLABLE error) KEDGE_MUST_USE;

/* Closes a database: cancels its requests, waits for running callbacks, ends the worker thread and
 * frees `db`. NULL is allowed. Pending edits stay on the disk for the next kedge_open. The app must
 * free every document, scan, query, list, batch and watch of the database before.
 *
 * kedge_close waits for the calls that other threads have begun, and ends kedge_sync, kedge_wait
 * and kedge_history with KEDGE_CANCELLED. A call that begins while kedge_close runs returns
 * KEDGE_CANCELLED ("closing"), except in a callback. No call may begin once kedge_close has
 * returned, because `db` is invalid then. So end the threads that read and edit first.
 *
 * In a callback of the database and in a mutator kedge_close would wait for itself. There it
 * returns KEDGE_INVALID_ARGUMENT and closes nothing. It cannot fail otherwise. */
KEDGE_API kedge_status kedge_close(kedge_db *KEDGE_NULLABLE db);

/* Makes an edit: runs the mutator `name` on the local state, and keeps the mutation until the
 * server has decided it. When kedge_mutate returns KEDGE_OK, the edit is on the disk (it survives
 * power loss), and every read shows it, even when the disk is full from then on. `name` is
 * NUL-terminated. `args` is JSON (I-JSON, RFC 7493) of `args_size` bytes, at most 8 MiB; with
 * `args_size` 0 the args are `null`. Both are copied, and neither may be NULL. `*sequence` is the
 * edit's number in this folder: 1, 2, 3… The number never changes and is
 * never reused. `sequence` may be NULL. kedge_mutate does not use the network. Any thread.
 *
 * After a restore of the backend, or of a file of the folder, an edit may be withheld for some time
 * (see kedge_sync_status). Meanwhile neither reads nor mutators see it. So an edit that builds on a
 * withheld one, such as a patch of an item whose creation is withheld, is rejected as if the item
 * did not exist.
 *
 * Everything that writes to the folder takes turns: threads, other processes that have it open, and
 * pulls that are applied. kedge_mutate waits for its turn and for the disk. A pull has the turn for
 * as long as the pending edits that it affects run again. With tens of thousands of them that takes
 * seconds. A process that is suspended in its turn keeps the turn until it goes on. So a thread
 * that must not wait, such as that of a user interface, leaves edits to another thread. kedge_open,
 * kedge_close, kedge_cancel and the functions that edit in other headers wait in the same way;
 * reads do not (kedge/read.h). docs/reference/c-api.md lists what waits.
 *
 * Errors: KEDGE_REJECTED when the mutator refused the edit, which is then not kept;
 * KEDGE_NOT_FOUND for an unknown mutator; KEDGE_INVALID_ARGUMENT, KEDGE_INVALID_JSON,
 * KEDGE_LIMIT_EXCEEDED, KEDGE_NO_MEMORY, KEDGE_BUSY, KEDGE_DISK_FULL, KEDGE_IO; KEDGE_CORRUPT when
 * outbox.db was damaged while it was open: close the database and call kedge_repair. After KEDGE_IO
 * no read shows the edit, but it may be on the disk. Then it is pending when the folder is opened
 * again, unless another edit was made before. */
KEDGE_API kedge_status kedge_mutate(kedge_db *db, const char *name, const char *args,
                                    size_t args_size, int64_t *KEDGE_NULLABLE sequence,
                                    kedge_error *KEDGE_NULLABLE error);

/* Cancels an edit that has not been sent: rewrites it as a no-op, so that reads no longer show its
 * effect. Durable when it returns. Any thread. (An edit that was sent can be taken back by
 * kedge_undo, kedge/undo.h, which makes another edit.)
 *
 * Only outbox.db records the cancellation. If that file is later replaced by an older one, or its
 * WAL is lost, the edit is pending again: Kedge sends it, and withholds it from reads as long as
 * the cache shows that the outbox is older.
 *
 * The pending mutations that have read what the edit wrote run again in the turn of kedge_cancel.
 * In some cases Kedge does not know which ones these are, and runs all pending mutations once
 * before: in the first cancel or pull after kedge_open, and after another process has pulled, has
 * cancelled an edit, or has made many or very large edits. With tens of thousands of them that
 * takes seconds.
 *
 * Errors: KEDGE_CONFLICT when the edit was sent, may have been sent, or is withheld (an edit counts
 * as sent once its first push has begun, also when that push fails or the server refuses it);
 * KEDGE_NOT_FOUND when it is not pending; KEDGE_INVALID_ARGUMENT, KEDGE_NO_MEMORY, KEDGE_BUSY,
 * KEDGE_DISK_FULL, KEDGE_IO; KEDGE_CORRUPT as for kedge_mutate. */
KEDGE_API kedge_status kedge_cancel(kedge_db *db, int64_t sequence,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
