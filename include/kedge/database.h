/* Opening, editing and closing a database. A database is one folder with one project. At any time
 * it has one client id. */
#ifndef KEDGE_DATABASE_H
#define KEDGE_DATABASE_H

#include <kedge/allocator.h>
#include <kedge/log.h>
#include <kedge/mutator.h>

KEDGE_BEGIN_DECLS

/* An open database. Any thread may call any function with it, until kedge_close begins; Kedge
 * serializes calls from several threads. The folder may be open several times at once, in one
 * process or several. Each process must call kedge_open itself: a child process must not use a
 * database that was open at the fork(), and shares its locks until it calls exec() or ends
 * (docs/reference/c-api.md). Kedge leaves the process's signal handlers alone. Its threads get no
 * signals, but those of a fault of their own, as in a callback (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGTRAP): a handler of the app that reports crashes sees it. A program that a callback starts on
 * such a thread inherits that the others are blocked. */
typedef struct kedge_db kedge_db;

/* Gives the token for the header `Authorization: Bearer`. Kedge calls it on the worker thread
 * before the first request, after kedge_set_online(db, true), and again after the server responded
 * with 401, or said that the folder is another user's. Write the NUL-terminated token into `buffer`
 * and return KEDGE_OK; with any other status the database stays offline (KEDGE_STOPPED,
 * KEDGE_UNAUTHORIZED) until kedge_set_online() or the next edit, when Kedge calls the function
 * again. When the 401 was a captive portal's and not the server's own, Kedge goes on with the token
 * that it has. When the server refuses the new token, too, call kedge_set_online() once there is
 * another one. The function may block: meanwhile nothing is synced, and kedge_close waits for it.
 * With a status other than KEDGE_OK it may write `error: ` and a text for people, NUL-terminated:
 * kedge_sync_status.last_error and the functions that wait then quote the text. */
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
     * relative path starts at the folder that the process is in when it calls kedge_open.
     * Give each database a folder of its own: Kedge leaves other files in it alone, but cannot keep
     * other programs from its own. Nothing in it is encrypted, and in a folder that the app has
     * made the umask says who else may read the files. The absolute path of the folder may have 64
     * bytes less than SQLite allows: 448 on Unix. */
    const char *KEDGE_NULLABLE path;
    /* The server, for example "https://sync.example.com" or "http://127.0.0.1:7420"; a path
     * is kept as a prefix. NULL: a database that never syncs until reopened with one. */
    const char *KEDGE_NULLABLE url;
    /* A file of certificates (PEM): the server's must be signed by one of them, and no other
     * authority is trusted. NULL: the file that the environment variable SSL_CERT_FILE names, or
     * the system's authorities. It must be readable at kedge_open, and is read again by each new
     * connection. A relative path starts at the folder that the process is in when it calls
     * kedge_open. */
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
    /* How long, from its timestamp on and by this device's clock, an edit waits for a server that
     * lacks its mutator or has an older version of it. Meanwhile the edit and those after it stay
     * pending, and kedge_sync_status.last_error has the code "server-too-old". After that time the
     * server decides the edit without the mutator, and it comes into the inbox. 0: it waits until
     * the server is newer; -1: it does not wait. It holds for edits that were made before this
     * opening, too: one that waits for ever comes into the inbox after an opening with -1. */
    int64_t server_wait_ms;
    /* NULL: no token is sent (a server in open mode on loopback). `user` and `role` must be the
     * token's; otherwise a rule about them may pass here and reject the edit on the server. */
    kedge_token_function KEDGE_NULLABLE token;
    /* NULL: callbacks run on the worker thread. */
    kedge_dispatch_function KEDGE_NULLABLE dispatch;
    /* NULL: no log. `log_level`: the least important lines that are written; 0 is
     * KEDGE_LOG_ERROR. */
    kedge_log_function KEDGE_NULLABLE log;
    kedge_log_level log_level;
    void *KEDGE_NULLABLE userdata; /* for `token`, `dispatch` and `log` */
    void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE userdata);
    /* NULL: malloc, realloc, free. The allocator must outlive the database and all work that was
     * given to `dispatch`. */
    const kedge_allocator *KEDGE_NULLABLE allocator;
    /* True: there is no worker thread, and the app calls kedge_loop_run: see kedge/loop.h. */
    bool caller_driven;
    /* Mutators that the server does not have: client-only ones. Kedge sends what such a mutator has
     * read and written as a kedge.apply. When a value that it has read was changed meanwhile, the
     * edit is made again on the new state, after the edits that are pending then, at most
     * KEDGE_LIMIT_APPLY_ATTEMPTS times in all; its sequence stays the same. After that it is
     * rejected with the code "conflict". It is rejected at once when another copy of the folder may
     * have made it again. */
    const kedge_mutator *KEDGE_NULLABLE client_mutators;
    size_t client_mutator_count;
    /* The version of what this release of the app writes into items and args, such as "3" or "2.1":
     * 1 to 64 of A-Z a-z 0-9 _ . -, but not . or - as the first. Each push and each pull names
     * it to the server as `schemaVersion`. It is that of the release that sends, also for edits
     * that an older release made. NULL: none. */
    const char *KEDGE_NULLABLE schema_version;
} kedge_options;

#define KEDGE_OPTIONS_INIT                                                                         \
    {                                                                                              \
        KEDGE_OPTIONS_VERSION, sizeof(kedge_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, \
            NULL, false, false, 0, NULL, NULL, NULL, KEDGE_LOG_ERROR, NULL, NULL, NULL, false,     \
            NULL, 0, NULL                                                                          \
    }

/* Opens or creates a database. A cache that is damaged is set aside and fetched again. Returns
 * KEDGE_CORRUPT when the outbox is damaged: nothing is changed, and `error` says how many edits can
 * be read. kedge_repair, or the command `kedge repair`, saves them into a new folder. The caller
 * owns `*db` and must free it with kedge_close. When kedge_open fails, it does not call
 * `userdata_free`. It waits until other processes that have the folder open have finished what they
 * write: see kedge_mutate. When the mutators are not those of the last opening, by their names and
 * versions, all pending mutations run again before it returns: with tens of thousands of them that
 * takes seconds.
 * Errors: KEDGE_INVALID_ARGUMENT, KEDGE_UNSUPPORTED (an option that is not known),
 * KEDGE_LIMIT_EXCEEDED (a name that is too long),
 * KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE, KEDGE_CORRUPT, KEDGE_REGISTRY_MISMATCH, KEDGE_BUSY,
 * KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY, KEDGE_INTERNAL. */
KEDGE_API kedge_status kedge_open(const kedge_options *options, kedge_db **db,
                                  kedge_error *KEDGE_NULLABLE error) KEDGE_MUST_USE;

/* Closes a database: cancels its requests, waits for running callbacks, ends the worker thread and
 * frees `db`. Pending edits stay on disk for the next open. Every document, scan, query, list and
 * watch of the database must be freed before. It waits for the calls that other threads have begun,
 * and ends kedge_sync, kedge_wait and kedge_history with KEDGE_CANCELLED. A call that begins
 * meanwhile returns KEDGE_CANCELLED ("closing"), except in a callback. No call may begin once it
 * has returned: the pointer is then invalid. So end the threads that read and edit first. NULL is
 * allowed. Returns KEDGE_INVALID_ARGUMENT, and closes nothing, in a callback of the database and in
 * a mutator, which would wait for itself: close on a thread of the app. It cannot fail
 * otherwise. */
KEDGE_API kedge_status kedge_close(kedge_db *KEDGE_NULLABLE db);

/* Makes an edit: runs the mutator `name` on the local state, and keeps the mutation until the
 * server has decided it. When it returns KEDGE_OK, the edit is on the disk (it survives power loss)
 * and every read shows it, even when the disk is full from then on. Reads do not show it while it
 * is withheld: see kedge_sync_status. Mutators do not see withheld edits either, so an edit that
 * builds on one (a patch of an item whose creation is withheld) is rejected as if the item did not
 * exist. `args` is JSON (I-JSON, RFC 7493) of at most 8 MiB. `*sequence` is the edit's number in
 * this folder: 1, 2, 3…; it never changes and is never reused. `sequence` may be NULL. No network
 * is touched.
 *
 * Everything that writes to the folder takes turns: threads, other processes that have it open, and
 * pulls that are applied. kedge_mutate waits for its turn and for the disk. A pull has the turn for
 * as long as the pending edits that it affects run again. With tens of thousands of them that takes
 * seconds. A process that is suspended in its turn keeps it until it goes on. So a thread that must
 * not wait, such as that of a user interface, leaves edits to another thread. kedge_open,
 * kedge_close, kedge_cancel and the functions that edit in other headers wait in the same way;
 * reads do not (kedge/read.h). docs/reference/c-api.md lists what waits.
 *
 * Errors: KEDGE_REJECTED when the mutator refused the edit, which is not kept; KEDGE_NOT_FOUND for
 * an unknown mutator; KEDGE_INVALID_JSON, KEDGE_LIMIT_EXCEEDED, KEDGE_DISK_FULL, KEDGE_IO;
 * KEDGE_CORRUPT when outbox.db was damaged while it was open: close the database and call
 * kedge_repair. After KEDGE_IO no read shows the edit, but it may be on the disk: it may be pending
 * when the folder is opened again before another edit was made. */
KEDGE_API kedge_status kedge_mutate(kedge_db *db, const char *name, const char *args,
                                    size_t args_size, int64_t *KEDGE_NULLABLE sequence,
                                    kedge_error *KEDGE_NULLABLE error);

/* Cancels an edit that has not been sent: rewrites it as a no-op, so that reads no longer show its
 * effect. Only outbox.db records the cancellation. If that file is later replaced by an older one,
 * or its WAL is lost, the edit is pending again: Kedge sends it, and withholds it from reads as
 * long as the cache shows that the outbox is older. Errors: KEDGE_CONFLICT when the edit was or may
 * have been sent, or is withheld: an edit counts as sent once its first push has begun, also when
 * that push fails or the server refuses it; KEDGE_NOT_FOUND when it is not pending;
 * KEDGE_DISK_FULL, KEDGE_IO; KEDGE_CORRUPT as for kedge_mutate. The pending mutations that have
 * read what it wrote run again in its turn. After kedge_open, a pull or cancel of another process,
 * or many or very large edits of it, all run once before it. With tens of thousands of them that
 * takes seconds. kedge_undo (kedge/undo.h) makes one more edit, and takes as long as any. */
KEDGE_API kedge_status kedge_cancel(kedge_db *db, int64_t sequence,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
