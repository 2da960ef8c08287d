/* A database: one folder, one project, one living client id. Opening, editing, closing. */
#ifndef KEDGE_DATABASE_H
#define KEDGE_DATABASE_H

#include <kedge/allocator.h>
#include <kedge/mutator.h>

KEDGE_BEGIN_DECLS

/* An open database. Any thread may call any function with it; calls from several threads are
 * ordered by Kedge. The folder may be open in several processes at once; each opens it by itself,
 * since a database that was open at a fork() is of no use in the child. */
typedef struct kedge_db kedge_db;

/* Answers the token that goes into `Authorization: Bearer`. Called on the worker thread before the
 * first request and again after the server answered 401. Write the NUL-terminated token into
 * `buffer` and return KEDGE_OK; any other status keeps the database offline until
 * kedge_set_online() or the next edit asks again. */
typedef kedge_status (*kedge_token_function)(void *KEDGE_NULLABLE userdata, char *buffer,
                                             size_t buffer_size);

/* Runs `work(argument)` on a thread of the app's choice, once, later or at once: the way to get
 * callbacks on a user interface's own thread. */
typedef void (*kedge_dispatch_function)(void *KEDGE_NULLABLE userdata, void (*work)(void *argument),
                                        void *argument);

#define KEDGE_OPTIONS_VERSION 1
#define KEDGE_TOKEN_BYTES     16384 /* the size of the token function's buffer */

/* Start from KEDGE_OPTIONS_INIT. Strings and arrays are copied by kedge_open, except the mutators'
 * names and userdata, which must live as long as the database. */
typedef struct kedge_options {
    uint32_t version;
    /* The folder; made when absent (its parent must exist). Required. */
    const char *KEDGE_NULLABLE path;
    /* The server, for example "https://sync.example.com" or "http://127.0.0.1:7420"; a path
     * is kept as a prefix. NULL: a database that never syncs until reopened with one. */
    const char *KEDGE_NULLABLE url;
    /* The tenant and the unit of sync. Required, fixed at the folder's first open. */
    const char *KEDGE_NULLABLE organization;
    const char *KEDGE_NULLABLE project;
    /* The app's mutators; the built-in ones are always there. */
    const kedge_mutator *KEDGE_NULLABLE mutators;
    size_t mutator_count;
    /* Who the mutators see in their local run. NULL: "". The server decides by the token. */
    const char *KEDGE_NULLABLE user;
    const char *KEDGE_NULLABLE role;
    /* True: do not sync until kedge_set_online(db, true). */
    bool offline;
    /* NULL: no token is sent (a server in open mode on loopback). */
    kedge_token_function KEDGE_NULLABLE token;
    /* NULL: callbacks run on the worker thread. */
    kedge_dispatch_function KEDGE_NULLABLE dispatch;
    void *KEDGE_NULLABLE userdata; /* for `token` and `dispatch` */
    void (*KEDGE_NULLABLE userdata_free)(void *KEDGE_NULLABLE userdata);
    /* NULL: malloc, realloc, free. Must outlive the database, and work still at the dispatcher. */
    const kedge_allocator *KEDGE_NULLABLE allocator;
} kedge_options;

#define KEDGE_OPTIONS_INIT                                                                         \
    {                                                                                              \
        .version = KEDGE_OPTIONS_VERSION                                                           \
    }

/* Opens or creates a database. A cache that is damaged is set aside and fetched again. A damaged
 * outbox is KEDGE_CORRUPT, nothing is changed, and `error` says how many edits can be read:
 * kedge_repair, or the command `kedge repair`, saves them into a new folder. `*db` is owned by the
 * caller: kedge_close. When it fails, `userdata_free` has not been called.
 * Errors: KEDGE_INVALID_ARGUMENT, KEDGE_LIMIT_EXCEEDED (a name that is too long),
 * KEDGE_NOT_A_DATABASE, KEDGE_NEWER_DATABASE, KEDGE_CORRUPT, KEDGE_REGISTRY_MISMATCH, KEDGE_BUSY,
 * KEDGE_IO, KEDGE_DISK_FULL, KEDGE_NO_MEMORY, KEDGE_INTERNAL. */
KEDGE_API kedge_status kedge_open(const kedge_options *options, kedge_db **db,
                                  kedge_error *KEDGE_NULLABLE error) KEDGE_MUST_USE;

/* Closes: ends the worker thread and running requests, waits for running callbacks, frees. What is
 * pending stays on disk for the next open. Every document, scan, query, list and watch of the
 * database must have been freed, and no callback of it may be the caller. NULL is allowed. */
KEDGE_API void kedge_close(kedge_db *KEDGE_NULLABLE db);

/* Makes an edit: runs the mutator `name` on the local state, and keeps the mutation until the
 * server has decided it. When KEDGE_OK returns, the edit is on the disk (it survives power loss)
 * and is visible to every read, though the disk be full from then on. It is hidden again only while
 * it is withheld: see kedge_sync_status. The mutator does not see withheld edits either, so that an
 * edit that builds on one (a patch of an item whose creation is withheld) is rejected as if the
 * item were not there. `args` is JSON (I-JSON, RFC 7493) of at most 8 MiB. `*sequence` is the
 * edit's local name: 1, 2, 3…, unique in this folder, never reused, stable for ever; it may be
 * NULL. No network is touched. Errors: KEDGE_REJECTED when the mutator refused, and nothing was
 * kept; KEDGE_NOT_FOUND for an unknown mutator; KEDGE_INVALID_JSON, KEDGE_LIMIT_EXCEEDED,
 * KEDGE_DISK_FULL, KEDGE_IO; KEDGE_CORRUPT when outbox.db was damaged while it was open, as of
 * kedge_open: close the database and save what can be read. */
KEDGE_API kedge_status kedge_mutate(kedge_db *db, const char *name, const char *args,
                                    size_t args_size, int64_t *KEDGE_NULLABLE sequence,
                                    kedge_error *KEDGE_NULLABLE error);

/* Takes back an edit that has not left this machine: it is rewritten as a no-op, and its effect is
 * gone from every read. That is known to outbox.db alone: if an older one is put in its place
 * later, or its WAL is lost, the edit is pending again; it is withheld from reads as long as the
 * cache tells that the outbox is older, but it is sent. Errors: KEDGE_CONFLICT when it was already
 * sent or may have been, or is withheld, KEDGE_NOT_FOUND when it is not pending; KEDGE_DISK_FULL,
 * KEDGE_IO; KEDGE_CORRUPT as of kedge_mutate. */
KEDGE_API kedge_status kedge_cancel(kedge_db *db, int64_t sequence,
                                    kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
