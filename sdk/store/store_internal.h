/* Shared by the files of the store, and private to sdk/store.
 *
 * Writers take turns: a mutex for the threads, the lock file for the processes (turn.c). What a
 * writer needs (ids, counters, version) is read inside its turn; only connections are kept. */
#ifndef KEDGE_SDK_STORE_INTERNAL_H
#define KEDGE_SDK_STORE_INTERNAL_H

#include "mutate/transaction.h"
#include "sdk/store/cache_row.h"
#include "sdk/store/database.h"
#include "sdk/store/rebase.h"
#include "sdk/store/schema.h"
#include "sdk/store/store.h"
#include "sdk/store/undo_log.h"
#include <pthread.h>
#include <stdatomic.h>

/* The limit in bytes of a client's confirmed mutations, besides those of number and age. */
#define KEDGE_STORE_TAIL_BYTES 67108864 /* 64 MiB */
/* After a commit a WAL is moved into its file when it is larger than the file, or has more than so
 * many pages. A WAL of fewer than _MIN pages is not moved, since each move costs syncs. */
#define KEDGE_STORE_WAL_PAGES     1024 /* 4 MiB */
#define KEDGE_STORE_WAL_PAGES_MIN 256
#define KEDGE_STORE_PAGE_BYTES    4096 /* SQLite's default */
/* Exists in a folder that kedge_repair has not finished. */
#define KEDGE_STORE_REPAIR_FOLDER "repair.partial"
/* An outbox is written anew, without its unused pages, when at least _MIN of its pages and at least
 * three in four are unused, and at most _MAX pages (32 MiB) are used. The used pages are held in
 * memory meanwhile. */
#define KEDGE_STORE_SHRINK_PAGES_MIN 1024
#define KEDGE_STORE_SHRINK_PAGES_MAX 8192
/* A larger WAL is also truncated when no reader needs it. */
#define KEDGE_STORE_WAL_PAGES_CUT 16384 /* 64 MiB */
/* How many readers are kept open between uses. */
#define KEDGE_STORE_READERS_KEPT 4
/* How often a write turn is repeated because something damaged was set aside. */
#define KEDGE_STORE_HEALS_MAX 4
/* Damaged caches that are kept until the resync is complete. */
#define KEDGE_STORE_DAMAGED_MAX   8
#define KEDGE_STORE_CHANGES_MAX   4096
#define KEDGE_STORE_CHANGES_BYTES 67108864 /* 64 MiB, of one commit */
/* Of the commits that other processes are told of: how many are kept, and of which size. */
#define KEDGE_STORE_LOG_ROWS  256
#define KEDGE_STORE_LOG_BYTES 262144 /* 256 KiB */
/* Rows of the inbox that are dismissed in one turn. */
#define KEDGE_STORE_DISMISS_ROWS 250
/* Rows that one call of kedge_store_check_cache looks at: about a millisecond. */
#define KEDGE_STORE_CHECK_ROWS   2000
#define KEDGE_STORE_QUERY_STEPS  1000000000 /* for one row of a query: some ten seconds */
#define KEDGE_STORE_QUERY_STRIDE 100000
/* A pull asks for the outcomes of this many ids above the highest one, for mutations that are made
 * and pushed during the pull. */
#define KEDGE_STORE_IDS_AHEAD 1000
#define KEDGE_STORE_UID_SIZE  16
#define KEDGE_ASK_SETTLED     1

typedef struct kedge_outbox_meta {
    char client[KEDGE_CLIENT_ID_SIZE];
    int64_t highest_id;
    int64_t last_sequence;
    int64_t sent_through;
    int64_t revision; /* raised by each commit that changes what is to be predicted */
    int64_t unrecovered;
    int64_t trimmed_through; /* of the living client: highest id that left the tail */
    int64_t tail_bytes;
    int64_t settled_version; /* the version at which a mutation of this folder was covered last */
    char settled_lineage[33];
    /* 0: the cache is of the settled lineage, and nothing is asked. KEDGE_ASK_SETTLED: the next
     * pull asks whether the backend still knows the settled lineage, and the cache may be older
     * than the outbox. Any higher number: it asks, too, and the outbox is older than the cache. The
     * number is the revision that the outbox took when that was found, and the outbox counts as
     * older until the cache reflects that revision. */
    int64_t ask_settled;
    int64_t pending_rows; /* of `pending`, and the sum of their checksums */
    int64_t pending_sum;
    int64_t rejected_rows; /* of `rejected`; `totals` may be as old as that table */
    char organization[KEDGE_LIMIT_NAME_BYTES + 1];
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
} kedge_outbox_meta;

typedef struct kedge_cache_meta {
    char client[KEDGE_CLIENT_ID_SIZE]; /* whose lmid it is */
    char lineage[33];
    int64_t version;
    int64_t lmid;
    int64_t revision; /* of the outbox, as reflected in `item` */
    int64_t reflected_sequence;
    bool resyncing;
    kedge_row_total items; /* what `item` should hold */
    kedge_row_total bases; /* what `base` should hold */
} kedge_cache_meta;

/* The pages of a snapshot that came so far. `version` -1: none. */
typedef struct kedge_staging {
    int64_t version;
    char lineage[33];
    int64_t lmid; /* of `client`, at that version */
    char client[KEDGE_CLIENT_ID_SIZE];
    bool lost;     /* the snapshot is of another lineage: kedge_store_rotate_lost puts it in */
    bool complete; /* only when lost; otherwise the last page puts it in */
    kedge_row_total items;    /* what `staged_item` should hold */
    kedge_row_total outcomes; /* what `staged_outcome` should hold */
} kedge_staging;

/* The values of the column `withheld`. */
typedef enum kedge_withheld {
    KEDGE_WITHHELD_NOT = 0,
    KEDGE_WITHHELD_YES = 1,
    /* And an entry that the cache has passed may have decided it: of a log project only a replay
     * can tell how (doubt.c). */
    KEDGE_WITHHELD_PASSED = 2
} kedge_withheld;

/* One row of `pending`. The bytes are borrowed until the statement's next step. */
typedef struct kedge_pending {
    int64_t sequence;
    kedge_bytes client;
    int64_t id;
    kedge_bytes uid;
    kedge_bytes digest;
    kedge_bytes name;
    kedge_bytes args;
    int64_t timestamp_ms;
    kedge_bytes origin_client; /* empty: none */
    int64_t origin_id;
    int64_t covered_version; /* 0: none */
    /* Not predicted, because the canonical state may have it already. In the table it is one of
     * kedge_withheld. */
    bool withheld;
    int64_t checksum; /* as it stands in the row */
} kedge_pending;

typedef struct kedge_store_reader {
    kedge_store_db cache;
    kedge_store_db outbox;
    bool shadowed; /* the shadow is in front of `item`, and a transaction is open */
    struct kedge_store_reader *next;
} kedge_store_reader;

/* The values that reads show while the cache cannot be written, and the state of the files for
 * which they were made. */
typedef struct kedge_shadow {
    kedge_overlay *rows; /* NULL: none */
    char outbox_client[KEDGE_CLIENT_ID_SIZE];
    int64_t outbox_revision;
    char cache_client[KEDGE_CLIENT_ID_SIZE];
    char lineage[33];
    int64_t version;
    int64_t lmid;
    int64_t cache_revision;
} kedge_shadow;

typedef struct kedge_cache_check kedge_cache_check;

struct kedge_store {
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    const kedge_registry *registry;
    kedge_store_db outbox;
    kedge_store_db cache;
    int64_t server_wait_ms;
    char *path;
    char *cache_path;
    char *outbox_path;
    char *organization;
    char *project;
    char *user;
    char *role;
    char *vfs; /* NULL: the default */
    kedge_buffer registry_text;
    kedge_store_phase_function phase;
    void *phase_context;
    void (*set_aside)(void *context);
    void *set_aside_context;
    int64_t query_steps; /* KEDGE_STORE_QUERY_STEPS; tests set less */
    int lock_file;
    int presence_file;
    pthread_mutex_t mutex; /* writers of this process; guards the two connections */
    bool mutex_made;
    atomic_uintptr_t holder; /* the thread that has a turn, and may run mutators; 0: none */
    pthread_mutex_t queue;   /* held by a thread while it waits for `mutex` */
    bool queue_made, locked; /* `locked`: a write turn is running; guarded by the mutex */
    void (*refused)(void *context);
    void *refused_context;
    kedge_store_observer observer;
    /* Of writers, in their turn (change_log.c). */
    bool in_company;      /* another process has the folder open */
    int64_t log_writer;   /* this store, in the rows that it writes; random */
    int64_t log_told;     /* the number up to which the observer was told */
    unsigned log_version; /* of the cache, at the end of the last turn that followed its log */
    bool log_followed;    /* in this turn: no commit of others is still to be told */
    int64_t log_last;     /* the number of the last row, as far as it is known */
    bool untold; /* a repair changed what readers see, and no change set has reported it yet */
    pthread_mutex_t readers_mutex; /* readers, reader_count, opening and renaming the cache */
    bool readers_mutex_made;
    /* outbox.db has damage that cannot be healed: no edit is acknowledged or sent any more. */
    atomic_bool outbox_refused;
    pthread_mutex_t refusal_mutex; /* guards the two members below */
    bool refusal_mutex_made;
    kedge_error refusal;           /* why; KEDGE_OK: not yet known */
    kedge_store_position salvaged; /* what could be read then */
    /* Whether the cache lacks commits of the outbox, and why. */
    atomic_bool stale;
    atomic_int stale_why; /* a kedge_status; KEDGE_OK: not known */
    kedge_shadow shadow;  /* of writers, in their turn */
    /* The server has confirmed since the store was opened that it knows settled_lineage. */
    atomic_bool lineage_known;
    /* Of writers, in their turn: what each pending mutation read and wrote (replay.c). */
    kedge_footprints footprints;
    kedge_cache_meta footprints_of; /* the cache for which they hold */
    int64_t footprints_log;         /* the last row of its change log */
    bool footprints_known;          /* they are of footprints_of */
    bool footprints_sound;          /* they will be of the cache once it is committed */
    int64_t untraceable_rows;       /* so many were too many for retrace.c; 0: not known */
    /* Of writers, in their turn: what the last edit has committed to both files, which it then
     * marked. */
    kedge_outbox_meta edited_outbox;
    kedge_cache_meta edited_cache;
    kedge_undo_log undo;    /* of writers, in their turn */
    bool conflicts_due;     /* of writers, in their turn: there is work for kedge_store_remake */
    int64_t conflicts_seen; /* and the commits of other processes up to which it was looked for */
    int divergences; /* of writers, in their turn: hashes in a row that the state did not have */
    atomic_bool pulls_stopped;   /* by kedge_store_stop_pulls */
    atomic_bool check_due;       /* the cache has not been checked in the background yet */
    kedge_cache_check *check;    /* under way: of the thread that calls for it; NULL: none */
    kedge_store_reader *readers; /* idle ones */
    uint32_t reader_count;       /* idle and in use */
};

/* A point of no return was reached, where crash tests end the process. */
static inline void kedge_store_phase(kedge_store *store, const char *phase)
{
    if (store->phase) store->phase(store->phase_context, phase);
}

/* ---- turn.c: the lock files ---- */
kedge_status kedge_store_locks_open(kedge_store *store, kedge_error *error);
/* Of lock files that are there already, in a folder that may be read-only, takes both locks; waits
 * for a writer. False when the folder is open. kedge_store_locks_close gives them back. */
bool kedge_store_locks_borrow(kedge_store *store);
void kedge_store_locks_close(kedge_store *store);
/* Unlocks and closes one file, unless it is -1, which it is afterwards. Closing alone would leave
 * the lock to a child that was forked meanwhile. */
void kedge_store_lock_close(int *file);
/* The mutex alone. Fails with "called-back" in a mutator, whose thread has it. */
kedge_status kedge_store_hold(kedge_store *store, kedge_error *error);
void kedge_store_release(kedge_store *store);
/* The mutex and the lock file. */
kedge_status kedge_store_lock(kedge_store *store, kedge_error *error);
void kedge_store_unlock(kedge_store *store);
void kedge_store_give_way(kedge_store *store); /* whoever waits for a turn gets the next one */
/* KEDGE_IO when the outbox that was opened is not the one at its path: a commit to a file that was
 * renamed or deleted would be lost, and what is at the path now may be another database. */
kedge_status kedge_store_check_outbox_there(const kedge_store *store, kedge_error *error);
/* Marks this store as present; `*alone` tells whether no other one is. Under the lock. */
kedge_status kedge_store_presence(kedge_store *store, bool *alone, kedge_error *error);

/* ---- wal.c ---- */
/* Call in a write transaction. Reserves space, so that the commit needs no new blocks. */
kedge_status kedge_wal_reserve(kedge_store_db *db, kedge_error *error);
/* Writes the transaction to the WAL but for the commit, and reserves what is then known to be
 * needed. */
kedge_status kedge_wal_prepare(kedge_store_db *db, kedge_error *error);
/* Commits a transaction of any size. KEDGE_DISK_FULL, and nothing is committed: the WAL could not
 * be moved into its file afterwards. */
kedge_status kedge_wal_commit(kedge_store_db *db, kedge_error *error);
bool kedge_wal_is_large(const kedge_store_db *db);
/* The WAL's file, and how many of its frames SQLite reads; NULL: nothing stands after them. */
sqlite3_file *kedge_wal_rest(const kedge_store_db *db, int64_t *frames);
/* Moves the WAL into the file as far as readers let it, without waiting for them; `cut`: and
 * empties it. Returns SQLite's code. */
int kedge_wal_move(kedge_store_db *db, bool cut);
/* Call in a write turn, after a transaction that has filled the disk and was rolled back: what it
 * has written stays in the WAL, which is as large as the free space was. Frees it at once. */
void kedge_wal_cut(kedge_store_db *db);
/* Call in a write turn with no transaction open. Frees the space of the WALs that no reader needs,
 * and waits for readers a moment, also for those of other threads and processes. */
void kedge_wal_make_room(kedge_store *store);

/* ---- shrink.c ---- */
/* Call in a write turn with no transaction open. Makes the outbox's file smaller when most of it is
 * unused; cheap otherwise. A failure, for example of a full disk, leaves the file as it was. */
void kedge_outbox_shrink(kedge_store *store);

/* ---- turn.c: one writer's turn ---- */
typedef kedge_status (*kedge_store_work)(kedge_store *store, void *context, kedge_error *error);
/* Runs `work` in a write turn. When the cache turns out to be damaged, sets it aside and runs the
 * work again on the new one; when the disk is full, frees the space of the WALs and runs it again.
 * Rolls back transactions that `work` leaves open. Afterwards moves large WALs into their files. */
kedge_status kedge_store_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                   kedge_error *error);
/* The same for work that fills a change set (may be NULL): the set also gets what a repair changed
 * before. */
kedge_status kedge_store_take_telling_turn(kedge_store *store, kedge_store_work work, void *context,
                                           kedge_change_set *changes, kedge_error *error);

/* ---- open_outbox.c ---- */
/* Opens, creates, or brings an older layout up to date. */
kedge_status kedge_schema_open_outbox(kedge_store *store, bool *created, kedge_error *error);
/* Whether the file is an outbox of Kedge, and its layout. */
kedge_status kedge_schema_identify_outbox(kedge_store_db *db, const char *path, int64_t *layout,
                                          kedge_error *error);
/* Whether the tables are those of the present layout, whatever the header says. */
bool kedge_schema_is_outbox(kedge_store_db *db);
/* Makes the tables in an empty file, with `meta` in both copies. */
kedge_status kedge_schema_make_outbox(kedge_store_db *db, const kedge_outbox_meta *meta,
                                      kedge_error *error);

/* ---- layout.c ---- */
/* The number of the present layout. */
int kedge_schema_newest(const kedge_schema *schema);
/* Checks that the file is Kedge's or empty, and not of a newer layout. */
kedge_status kedge_schema_identify(kedge_store_db *db, const char *path, const kedge_schema *schema,
                                   bool *empty, kedge_error *error);
kedge_status kedge_schema_read_layout(kedge_store_db *db, int64_t *layout, kedge_error *error);
/* Creates all tables in an empty file. Call in a transaction. */
kedge_status kedge_schema_make_tables(kedge_store_db *db, const kedge_schema *schema,
                                      kedge_error *error);
/* Creates one of the tables. */
kedge_status kedge_schema_make_table(kedge_store_db *db, const kedge_schema *schema,
                                     const char *name, kedge_error *error);
/* Writes the application id and the present layout into the header. */
kedge_status kedge_schema_make_identity(kedge_store_db *db, const kedge_schema *schema,
                                        kedge_error *error);
/* Upgrades a file of an older layout to the present one, in one transaction. Returns KEDGE_INTERNAL
 * when the file is not of that layout, or the layout cannot be upgraded. */
kedge_status kedge_schema_bring_up(kedge_store_db *db, const kedge_schema *schema, int64_t layout,
                                   kedge_error *error);

/* ---- open_cache.c ---- */
bool kedge_schema_has_content(const char *path);
kedge_status kedge_schema_check_outbox_missing(kedge_store *store, kedge_error *error);
/* `fresh`: the outbox was created just now. */
kedge_status kedge_schema_open_cache(kedge_store *store, bool fresh, kedge_error *error);

/* ---- open_cache.c: a damaged cache ---- */
/* Closes the cache and renames its files. */
kedge_status kedge_store_rename_damaged(kedge_store *store, kedge_error *error);
/* The resync is complete. */
void kedge_store_forget_damaged(kedge_store *store);

/* ---- refusal.c: an outbox that is damaged beyond its rows ---- */
/* Returns KEDGE_CORRUPT with the number of readable edits, read from the disk and not from the
 * memory of a connection. */
kedge_status kedge_store_report_outbox(const kedge_store *store, kedge_error *error);
/* Gives the error of a refused outbox, and in `salvaged` (may be NULL) what can be read of it. */
kedge_error kedge_store_refusal(kedge_store *store, kedge_store_position *salvaged);
/* Refuses the outbox: from now on no edit is acknowledged or sent. Returns the error; the first
 * call decides it. */
kedge_status kedge_store_refuse(kedge_store *store, kedge_error *error);
/* Returns KEDGE_OK while the outbox is not refused, otherwise the error of kedge_store_refuse. */
static inline kedge_status kedge_store_check_refused(kedge_store *store, kedge_error *error)
{
    return atomic_load(&store->outbox_refused) ? kedge_store_refuse(store, error) : KEDGE_OK;
}

/* ---- outbox.c: the meta row, inside the caller's transaction ---- */
/* Reads the newest sound copy, also of layout 3 to 5. Gives the number of sound copies. */
kedge_status kedge_outbox_meta_copies(kedge_store_db *db, kedge_outbox_meta *meta, int *sound,
                                      kedge_error *error);
/* Returns KEDGE_CORRUPT when neither copy is sound. */
kedge_status kedge_outbox_meta_read(kedge_store_db *db, kedge_outbox_meta *meta,
                                    kedge_error *error);
/* Writes both copies. */
kedge_status kedge_outbox_meta_write(kedge_store_db *db, const kedge_outbox_meta *meta,
                                     kedge_error *error);
kedge_status kedge_outbox_meta_make(kedge_store_db *db, const kedge_outbox_meta *meta,
                                    kedge_error *error);
/* Writes a damaged copy again from the sound one. */
kedge_status kedge_outbox_meta_heal(kedge_store_db *db, kedge_error *error);

/* ---- outbox.c, outbox_settle.c: the rows of `pending`, inside the caller's transaction ---- */
/* Opens a cursor over `pending` in order of sequence, without the rows that the cache covers; or
 * over those after a sequence. */
kedge_status kedge_outbox_cursor_open(kedge_store_db *db, const kedge_cache_meta *cache,
                                      sqlite3_stmt **cursor, kedge_error *error);
kedge_status kedge_outbox_cursor_open_behind(kedge_store_db *db, const kedge_cache_meta *cache,
                                             int64_t sequence, sqlite3_stmt **cursor,
                                             kedge_error *error);
kedge_status kedge_outbox_cursor_next(kedge_store_db *db, sqlite3_stmt *cursor, kedge_pending *row,
                                      kedge_error *error);
kedge_status kedge_outbox_find(kedge_store_db *db, int64_t sequence, kedge_pending *row,
                               kedge_error *error);
bool kedge_outbox_covers(const kedge_cache_meta *cache, const kedge_pending *row);
bool kedge_outbox_row_sent(const kedge_outbox_meta *meta, const kedge_pending *row);
/* Opens a cursor over all of `pending`, which also tells whether each row is sound. */
kedge_status kedge_outbox_cursor_open_all(kedge_store_db *db, sqlite3_stmt **cursor,
                                          kedge_error *error);
kedge_status kedge_outbox_cursor_next_any(kedge_store_db *db, sqlite3_stmt *cursor,
                                          kedge_pending *row, bool *sound, kedge_error *error);
/* Returns KEDGE_CORRUPT for a damaged row; the write turn then heals the outbox. */
kedge_status kedge_outbox_fail_row(kedge_store_db *db, const char *table, int64_t key,
                                   kedge_error *error);
/* Counts the row in `meta`; the caller must write `meta`. */
kedge_status kedge_outbox_insert(kedge_store_db *db, const kedge_pending *row,
                                 kedge_outbox_meta *meta, kedge_error *error);
/* Writes the checksum of a pending row that was checked and then changed; or of all rows. */
kedge_status kedge_outbox_seal(kedge_store_db *db, int64_t sequence, kedge_error *error);
/* Makes an intact row that was not sent another mutation, with the same uid. */
kedge_status kedge_outbox_rewrite(kedge_store_db *db, const kedge_pending *row, kedge_bytes name,
                                  kedge_bytes args, kedge_outbox_meta *meta, kedge_error *error);
kedge_status kedge_outbox_seal_all(kedge_store_db *db, kedge_error *error);
/* Counts `pending` again into `meta`; the caller must write `meta`. */
kedge_status kedge_outbox_count_pending(kedge_store_db *db, kedge_outbox_meta *meta,
                                        kedge_error *error);
/* Copies the row into the inbox. Does nothing when it is there as dismissed, resubmitted or
 * damaged. `again`: a client-only edit may be made again. */
kedge_status kedge_outbox_reject(kedge_store *store, int64_t sequence,
                                 const kedge_wire_outcome *outcome, bool again, kedge_error *error);
/* Of a pending row that is decided otherwise: deletes the rejection that a pull has noted which did
 * not come to its end, from a version that the server has lost since. */
kedge_status kedge_outbox_forget_rejection(kedge_store_db *db, int64_t sequence,
                                           kedge_error *error);
void kedge_outbox_digest(kedge_bytes name, kedge_bytes args, kedge_bytes uid,
                         uint8_t digest[KEDGE_DIGEST_SIZE]);
/* Deletes what the cache covers, extends the tail by the applied ones, and writes `meta`. With
 * `trim` the tail is cut to its bounds. */
kedge_status kedge_outbox_settle(kedge_store_db *db, const kedge_cache_meta *cache,
                                 kedge_outbox_meta *meta, int64_t now_ms, bool trim,
                                 kedge_error *error);
kedge_status kedge_outbox_has_covered(kedge_store_db *db, const kedge_cache_meta *cache, bool *any,
                                      kedge_error *error);
/* Gives the lowest id of the living client that the cache does not cover, or the next id when there
 * is none. */
kedge_status kedge_outbox_lowest(kedge_store_db *db, const kedge_outbox_meta *meta,
                                 const kedge_cache_meta *cache, int64_t *id, kedge_error *error);

/* ---- totals.c, inside the caller's transaction ---- */
/* Counts `rejected` again into `meta`, whenever rows come or go; the caller must write `meta`. */
kedge_status kedge_outbox_count_rejected(kedge_store_db *db, kedge_outbox_meta *meta,
                                         kedge_error *error);
/* Lists the earlier clients whose mutations were trimmed from the tail, and up to which id. */
kedge_status kedge_trimmed_read(kedge_store_db *db, kedge_wire_client_marks *marks,
                                kedge_error *error);
/* Adds to `*unrecovered` how many mutations of a client with lmid < id <= through are known neither
 * to the backend, which has decided `lmid`, nor to this outbox. */
kedge_status kedge_trimmed_count(kedge_store_db *db, const char *client, int64_t lmid,
                                 int64_t through, int64_t *unrecovered, kedge_error *error);
/* The same for the earlier clients that `decided` names, by their lmids at the backend; what is
 * counted once is not counted again. */
kedge_status kedge_trimmed_count_earlier(kedge_store_db *db, const kedge_wire_client_marks *decided,
                                         int64_t *unrecovered, kedge_error *error);
/* The tail of an earlier client was trimmed up to this id. */
kedge_status kedge_trimmed_keep(kedge_store_db *db, const char *client, int64_t through,
                                kedge_error *error);

/* ---- cache.c: rows of the cache, inside the caller's transaction ---- */
kedge_status kedge_cache_meta_read(kedge_store_db *db, kedge_cache_meta *meta, kedge_error *error);
kedge_status kedge_cache_meta_write(kedge_store_db *db, const kedge_cache_meta *meta,
                                    kedge_error *error);
kedge_status kedge_staging_read(kedge_store_db *db, kedge_staging *staging, kedge_error *error);
/* Whatever reads a row checks it: KEDGE_CORRUPT when it is not what was written. Whatever writes
 * rows keeps a total of them up to date, which is to be written with `meta` or the staging row in
 * the same transaction. */
/* Returns KEDGE_NOT_FOUND when there is no such item. `value` is borrowed until the next call for
 * an item. */
kedge_status kedge_cache_item(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_bytes *value, kedge_error *error);
/* `*changed` is false when the item had this value before. */
kedge_status kedge_cache_put(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                             kedge_bytes id, kedge_bytes value, bool *changed, kedge_error *error);
kedge_status kedge_cache_delete(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                                kedge_bytes id, bool *changed, kedge_error *error);
kedge_status kedge_cache_clear(kedge_store_db *db, kedge_row_total *items, kedge_error *error);
/* The same for `staged_item`. */
kedge_status kedge_cache_put_staged(kedge_store_db *db, kedge_row_total *items,
                                    kedge_bytes collection, kedge_bytes id, kedge_bytes value,
                                    kedge_error *error);
/* Returns KEDGE_NOT_FOUND when `base` does not have the key. */
kedge_status kedge_cache_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_cache_row *row, kedge_error *error);
/* `value` NULL: no such item. `replaces`: a row is there. `_keep` does not change such a row. */
kedge_status kedge_cache_put_base(kedge_store_db *db, kedge_row_total *bases,
                                  kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                  bool replaces, kedge_error *error);
kedge_status kedge_cache_keep_base(kedge_store_db *db, kedge_row_total *bases,
                                   kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                   kedge_error *error);
kedge_status kedge_cache_delete_base(kedge_store_db *db, kedge_row_total *bases,
                                     kedge_bytes collection, kedge_bytes id, kedge_error *error);
/* Reads `item`: what is visible. */
kedge_state_reader kedge_cache_reader(kedge_store_db *db);
/* Of the canonical state: the one without what is predicted. */
kedge_state_reader kedge_cache_canonical_reader(kedge_store_db *db);
/* Reads all of `base` and checks it against the total `bases`. */
kedge_status kedge_cache_load_base(kedge_store_db *db, const kedge_row_total *bases,
                                   kedge_overlay *base, kedge_error *error);

/* ---- cache_check.c ---- */
/* Ends the check that is under way. */
void kedge_cache_check_end(kedge_store *store);

/* ---- changes.c ---- */
/* `changes` may be NULL for all of these. */
void kedge_changes_are_pulled(kedge_change_set *changes);
void kedge_changes_clear(kedge_change_set *changes);
void kedge_changes_all(kedge_change_set *changes);
/* Puts the values before; false when memory runs out. */
bool kedge_changes_before(const kedge_change_set *changes, kedge_overlay *before);

/* ---- change_log.c ---- */
/* The cache was opened: what stands in its log already is not told. */
kedge_status kedge_change_log_begin(kedge_store *store, kedge_error *error);
/* Call in the transaction of a commit that changes what readers see, before it ends. `changes`
 * NULL: any key may have changed. */
kedge_status kedge_change_log_write(kedge_store *store, const kedge_change_set *changes,
                                    kedge_changed_by by, kedge_error *error);
/* Call in a turn. Tells the observer what others wrote since it was told last. */
kedge_status kedge_change_log_follow(kedge_store *store, kedge_error *error);
/* Gives what stood under each key before the `count` commits after the row of this number.
 * KEDGE_DONE: the log has others, or does not list them. */
kedge_status kedge_change_log_before(kedge_store *store, int64_t number, int64_t count,
                                     kedge_overlay *before, kedge_error *error);
/* Tells the observer that any key may have changed. */
void kedge_change_log_tell_all(kedge_store *store);
void kedge_change_log_end_turn(kedge_store *store);

/* ---- inbox.c ---- */
/* Reads name and args of a rejected mutation that the inbox lists. */
kedge_status kedge_inbox_find(kedge_store *store, int64_t sequence, kedge_buffer *name,
                              kedge_buffer *args, kedge_error *error);
/* Call in the outbox's transaction. Sets the state of a row, which is then no longer listed, and
 * deletes its args. */
kedge_status kedge_inbox_set_state(kedge_store *store, int64_t sequence, int state,
                                   kedge_error *error);

/* ---- doubt.c: edits of a log project that passed entries may have decided ---- */
/* Whether an entry that the cache has passed may have decided an edit that the cache does not
 * cover. */
kedge_status kedge_doubt_any(kedge_store_db *db, const kedge_cache_meta *cache, bool *any,
                             kedge_error *error);
/* Checks all rows of `pending`: a damaged one must not get a new checksum. */
kedge_status kedge_doubt_check_rows(kedge_store_db *db, kedge_error *error);
/* The cache has been filled anew, with all edits in the outbox. After a failure it is filled once
 * more. */
void kedge_doubt_end(kedge_store *store);

/* ---- staging.c, snapshot.c ---- */
/* Sets the totals of `staging`. */
kedge_status kedge_staging_begin(kedge_store *store, kedge_staging *staging,
                                 const kedge_wire_outcomes *outcomes, kedge_error *error);
/* Raises the total of `staging`, which kedge_staging_after or kedge_staging_swap keeps. */
kedge_status kedge_staging_put(kedge_store *store, kedge_staging *staging,
                               const kedge_wire_patch *patch, kedge_error *error);
kedge_status kedge_staging_after(kedge_store *store, const kedge_staging *staging,
                                 kedge_bytes after, bool complete, kedge_error *error);
kedge_status kedge_staging_outcomes(kedge_store *store, const kedge_staging *staging,
                                    kedge_wire_outcomes *outcomes, kedge_error *error);
/* Makes the staged items the canonical state: `item`, with an empty `base` and the meta row
 * `next`. */
kedge_status kedge_staging_swap(kedge_store *store, const kedge_staging *staging,
                                kedge_cache_meta *next, kedge_error *error);
kedge_status kedge_staging_drop(kedge_store *store, kedge_error *error);

/* ---- reader.c ---- */
kedge_status kedge_reader_take(kedge_store *store, kedge_store_reader **reader, kedge_error *error);
void kedge_reader_give(kedge_store *store, kedge_store_reader *reader);
/* Call in a write turn, in which the cache cannot be replaced. Opens the cache again when it is not
 * the one that the reader has. */
kedge_status kedge_reader_renew(kedge_store *store, kedge_store_reader *reader, kedge_error *error);
void kedge_readers_close(kedge_store *store);
/* Reads both meta rows, the outbox's first, so that the outbox's is never the newer one. Returns
 * KEDGE_CORRUPT when the outbox is refused. */
kedge_status kedge_reader_begin(kedge_store *store, kedge_store_reader *reader, kedge_error *error);
kedge_status kedge_reader_begin_cache(kedge_store_reader *reader, kedge_error *error);
void kedge_reader_end(kedge_store_reader *reader);
/* Sets aside what a reader found damaged. Returns true when the caller should read again. When the
 * outbox is refused, `error` says so. */
bool kedge_reader_heal(kedge_store *store, kedge_store_reader *reader, kedge_error *error);

/* ---- shadow.c ---- */
/* Notes that the cache could not be written after the outbox. From now on reads check whether they
 * must show more than the cache holds. */
void kedge_shadow_note(kedge_store *store, kedge_status why);
/* Call in a write turn. Notes that the cache was written and fits the outbox. */
void kedge_shadow_end(kedge_store *store);
void kedge_shadow_free(kedge_store *store);
/* Like kedge_reader_take, for reads of the visible state: they show every acknowledged edit, even
 * one that the cache lacks. */
kedge_status kedge_reader_take_shown(kedge_store *store, kedge_store_reader **reader,
                                     kedge_error *error);

/* ---- authorizer.c: an authorizer of SQLite; `context` is a kedge_query_reads ---- */
int kedge_query_authorize(void *context, int action, const char *first, const char *second,
                          const char *database, const char *view);

#endif
