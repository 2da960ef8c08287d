/* What the files of the store share. Nothing here is seen outside sdk/store.
 *
 * Writers of all threads and processes take turns: a mutex for the threads, the lock file for the
 * processes (write_lock.c). Everything that a writer needs to know (client id, counters, version)
 * is read from the files inside its turn; only the connections are kept between turns. */
#ifndef KEDGE_SDK_STORE_INTERNAL_H
#define KEDGE_SDK_STORE_INTERNAL_H

#include "mutate/transaction.h"
#include "sdk/store/cache_row.h"
#include "sdk/store/database.h"
#include "sdk/store/schema.h"
#include "sdk/store/store.h"
#include <pthread.h>
#include <stdatomic.h>

/* What one client may keep of confirmed mutations besides their number and age. */
#define KEDGE_STORE_TAIL_BYTES 67108864 /* 64 MiB */
/* After a commit a WAL that is larger than its file is moved into it, and any of more than so many
 * pages; but none of fewer than _MIN, since each move costs syncs. */
#define KEDGE_STORE_WAL_PAGES     1024 /* 4 MiB */
#define KEDGE_STORE_WAL_PAGES_MIN 256
#define KEDGE_STORE_PAGE_BYTES    4096 /* SQLite's own choice, which nobody changes */
/* In a folder that kedge_repair has not finished. */
#define KEDGE_STORE_REPAIR_FOLDER "repair.partial"
/* A WAL beyond this is also cut when nobody reads it. */
#define KEDGE_STORE_WAL_PAGES_CUT 16384 /* 64 MiB */
/* Readers at once; so many are kept open between uses. */
#define KEDGE_STORE_READERS_MAX  64
#define KEDGE_STORE_READERS_KEPT 4
/* How often a turn is done once more because something damaged was set aside. */
#define KEDGE_STORE_HEALS_MAX 4
/* Damaged caches that are kept until the resync is complete. */
#define KEDGE_STORE_DAMAGED_MAX 8
#define KEDGE_STORE_CHANGES_MAX 4096
/* Rows that one call of kedge_store_check_cache looks at: about a millisecond. */
#define KEDGE_STORE_CHECK_ROWS 2000
/* SQLite's instructions for one row of a query, which nothing else could end: some ten seconds. */
#define KEDGE_STORE_QUERY_STEPS  1000000000
#define KEDGE_STORE_QUERY_STRIDE 100000
/* A pull asks for the outcomes of so many ids above the highest: what may be made and pushed while
 * the pull is under way. */
#define KEDGE_STORE_IDS_AHEAD  1000
#define KEDGE_STORE_UID_SIZE   16
#define KEDGE_STORE_PATH_BYTES 4096

typedef struct kedge_outbox_meta {
    char client[KEDGE_CLIENT_ID_SIZE];
    int64_t highest_id;
    int64_t last_sequence;
    int64_t sent_through;
    int64_t revision; /* raised by each commit that changes what is to be predicted */
    int64_t unrecovered;
    int64_t trimmed_through; /* of the living client: highest id that left the tail */
    int64_t tail_bytes;
    int64_t settled_version; /* at which a mutation of this folder was covered last */
    char settled_lineage[33];
    /* The cache is of another past: does the backend still know that lineage? 0: it is not asked.
     * Otherwise the revision that the outbox took when it was found older than the cache: it counts
     * as older until the cache reflects that one; or 1, when the cache may be an older one. */
    int64_t ask_settled;
    int64_t pending_rows; /* of `pending`, and the sum of their checksums */
    int64_t pending_sum;
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
    bool withheld;           /* not predicted: the canonical state may have it already */
    int64_t checksum;        /* as it stands in the row */
} kedge_pending;

typedef struct kedge_store_reader {
    kedge_store_db cache;
    kedge_store_db outbox;
    bool shadowed; /* the shadow lies in front of `item`, and a transaction is open */
    struct kedge_store_reader *next;
} kedge_store_reader;

/* What reads show under which keys, while the cache cannot be written; and of which files. */
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
    int lock_file;
    int presence_file;
    pthread_mutex_t mutex; /* writers of this process; guards the two connections */
    bool mutex_made;
    bool locked; /* a turn is under way: of whoever holds the mutex */
    void (*refused)(void *context);
    void *refused_context;
    bool untold; /* a repair changed what readers see, and no change set has said so yet */
    kedge_store_db cache;
    kedge_store_db outbox;
    pthread_mutex_t readers_mutex; /* guards the two members below */
    bool readers_mutex_made;
    /* outbox.db is damaged beyond its rows: nothing is acknowledged or sent any more. */
    atomic_bool outbox_refused;
    pthread_mutex_t refusal_mutex; /* guards the two members below */
    bool refusal_mutex_made;
    kedge_error refusal;           /* why; KEDGE_OK: not yet known */
    kedge_store_position salvaged; /* what could be read then */
    /* The cache could not follow the outbox, or did not when somebody looked; and why. */
    atomic_bool stale;
    atomic_int stale_why; /* a kedge_status; KEDGE_OK: not known */
    kedge_shadow shadow;  /* of writers, in their turn */
    /* The server has said since the opening that it knows settled_lineage. */
    atomic_bool lineage_known;
    atomic_bool check_due;       /* the cache has not been checked in the background yet */
    kedge_cache_check *check;    /* under way: of the thread that calls for it; NULL: none */
    kedge_store_reader *readers; /* idle ones */
    uint32_t reader_count;       /* idle and in use */
};

/* ---- write_lock.c: whose turn it is ---- */
kedge_status kedge_store_locks_open(kedge_store *store, kedge_error *error);
/* Of lock files that are there already, in a folder that may be read-only, takes both locks; waits
 * for a writer. False when the folder is open. kedge_store_locks_close gives them back. */
bool kedge_store_locks_borrow(kedge_store *store);
void kedge_store_locks_close(kedge_store *store);
kedge_status kedge_store_lock(kedge_store *store, kedge_error *error);
void kedge_store_unlock(kedge_store *store);
/* Marks this store as present; `*alone` tells whether no other one is. Under the lock. */
kedge_status kedge_store_presence(kedge_store *store, bool *alone, kedge_error *error);

/* ---- wal.c ---- */
/* In a write transaction: sees to it that its commit needs no new blocks. */
kedge_status kedge_wal_reserve(kedge_store_db *db, kedge_error *error);
bool kedge_wal_is_large(const kedge_store_db *db);
/* In a turn, with no transaction open: gives back what the WALs take, as far as readers allow. */
void kedge_wal_make_room(kedge_store *store);

/* ---- phase.c ---- */
/* A point of no return was reached. */
void kedge_store_phase(kedge_store *store, const char *phase);

/* ---- turn.c: one writer's turn ---- */
typedef kedge_status (*kedge_store_work)(kedge_store *store, void *context, kedge_error *error);
/* Runs `work` in a turn. A cache that turns out to be damaged is set aside, and the work is done
 * once more on the new one; on a full disk, once more with what the WALs took. What `work` leaves
 * open is rolled back. Afterwards large WALs are moved. */
kedge_status kedge_store_take_turn(kedge_store *store, kedge_store_work work, void *context,
                                   kedge_error *error);
/* The same for work that fills a change set (NULL: nobody asks): what a repair changed on the way
 * is told with it. */
kedge_status kedge_store_take_telling_turn(kedge_store *store, kedge_store_work work, void *context,
                                           kedge_change_set *changes, kedge_error *error);

/* ---- open_outbox.c ---- */
/* Opens, creates, or brings an older layout up to date. */
kedge_status kedge_schema_open_outbox(kedge_store *store, bool *created, kedge_error *error);
/* Is it an outbox of ours, and of which layout? */
kedge_status kedge_schema_identify_outbox(kedge_store_db *db, const char *path, int64_t *layout,
                                          kedge_error *error);
/* Are its tables those of this layout, whatever its header says? */
bool kedge_schema_is_outbox(kedge_store_db *db);
/* Makes the tables in an empty file, with `meta` in both copies. */
kedge_status kedge_schema_make_outbox(kedge_store_db *db, const kedge_outbox_meta *meta,
                                      kedge_error *error);

/* ---- layout.c ---- */
/* The number of the present layout. */
int kedge_schema_newest(const kedge_schema *schema);
/* Is the file ours, or empty, and of no newer layout? */
kedge_status kedge_schema_identify(kedge_store_db *db, const char *path, const kedge_schema *schema,
                                   bool *empty, kedge_error *error);
kedge_status kedge_schema_read_layout(kedge_store_db *db, int64_t *layout, kedge_error *error);
/* In the caller's transaction: all tables, in an empty file. */
kedge_status kedge_schema_make_tables(kedge_store_db *db, const kedge_schema *schema,
                                      kedge_error *error);
/* One of them. */
kedge_status kedge_schema_make_table(kedge_store_db *db, const kedge_schema *schema,
                                     const char *name, kedge_error *error);
/* What names the file as ours, and its layout as the present one. */
kedge_status kedge_schema_make_identity(kedge_store_db *db, const kedge_schema *schema,
                                        kedge_error *error);
/* Brings a file of an older layout up to the present one, in one transaction. KEDGE_INTERNAL when
 * it is not of that layout, or no way leads on from there. */
kedge_status kedge_schema_bring_up(kedge_store_db *db, const kedge_schema *schema, int64_t layout,
                                   kedge_error *error);

/* ---- open_cache.c ---- */
bool kedge_schema_has_content(const char *path);
kedge_status kedge_schema_check_outbox_missing(kedge_store *store, kedge_error *error);
/* `fresh`: the outbox was made just now, so that an empty cache is no loss. */
kedge_status kedge_schema_open_cache(kedge_store *store, bool fresh, kedge_error *error);

/* ---- damage.c ---- */
/* Closes the cache and renames its files. */
kedge_status kedge_store_rename_damaged(kedge_store *store, kedge_error *error);
/* The resync is complete. */
void kedge_store_forget_damaged(kedge_store *store);

/* ---- refusal.c: an outbox that is damaged beyond its rows ---- */
/* KEDGE_CORRUPT with the count of what can be read, from the disk and not from anybody's pages. */
kedge_status kedge_store_report_outbox(const kedge_store *store, kedge_error *error);
/* Why the outbox is refused; `salvaged` (may be NULL): what can be read of it. */
kedge_error kedge_store_refusal(kedge_store *store, kedge_store_position *salvaged);
/* From now on nothing is acknowledged or sent any more. Says why; the first call counts. */
kedge_status kedge_store_refuse(kedge_store *store, kedge_error *error);
/* KEDGE_OK while the outbox is not refused; otherwise what kedge_store_refuse answers. */
kedge_status kedge_store_check_refused(kedge_store *store, kedge_error *error);

/* ---- outbox_meta.c, inside the caller's transaction ---- */
/* KEDGE_CORRUPT when neither copy proves itself. */
kedge_status kedge_outbox_meta_read(kedge_store_db *db, kedge_outbox_meta *meta,
                                    kedge_error *error);
/* Both copies. */
kedge_status kedge_outbox_meta_write(kedge_store_db *db, const kedge_outbox_meta *meta,
                                     kedge_error *error);
kedge_status kedge_outbox_meta_make(kedge_store_db *db, const kedge_outbox_meta *meta,
                                    kedge_error *error);
/* Writes a damaged copy again from the other one. */
kedge_status kedge_outbox_meta_heal(kedge_store_db *db, kedge_error *error);

/* ---- outbox_heal.c ---- */
/* SQLite's own check of the whole file, its indexes included. */
kedge_status kedge_outbox_check_file(kedge_store_db *db, kedge_error *error);
/* In a turn, in a transaction of its own: every row that does not prove itself, and every one that
 * is missing, is set aside, so that those behind it go on. Writes nothing when all is sound. */
kedge_status kedge_outbox_heal(kedge_store *store, kedge_error *error);

/* ---- outbox.c, outbox_settle.c: rows of the outbox, inside the caller's transaction ---- */
/* The rule of store.h; ?1 is the cache's client, ?2 its lmid, ?3 its version. */
#define KEDGE_PENDING_IS_COVERED                                                                   \
    "(coalesce(client = ?1 AND id <= ?2, 0) OR coalesce(covered_version <= ?3, 0))"
/* Walks `pending` in order of sequence, leaving out what the cache covers. */
kedge_status kedge_outbox_cursor_open(kedge_store_db *db, const kedge_cache_meta *cache,
                                      sqlite3_stmt **cursor, kedge_error *error);
kedge_status kedge_outbox_cursor_next(kedge_store_db *db, sqlite3_stmt *cursor, kedge_pending *row,
                                      kedge_error *error);
kedge_status kedge_outbox_find(kedge_store_db *db, int64_t sequence, kedge_pending *row,
                               kedge_error *error);
bool kedge_outbox_covers(const kedge_cache_meta *cache, const kedge_pending *row);
bool kedge_outbox_row_sent(const kedge_outbox_meta *meta, const kedge_pending *row);
/* Walks all of `pending`, and tells of each row whether it proves itself. */
kedge_status kedge_outbox_cursor_open_all(kedge_store_db *db, sqlite3_stmt **cursor,
                                          kedge_error *error);
kedge_status kedge_outbox_cursor_next_any(kedge_store_db *db, sqlite3_stmt *cursor,
                                          kedge_pending *row, bool *sound, kedge_error *error);
/* KEDGE_CORRUPT for a row that does not prove itself; the turn heals the outbox then. */
kedge_status kedge_outbox_fail_row(kedge_store_db *db, const char *table, int64_t key,
                                   kedge_error *error);
/* Counts the row in `meta`, which the caller writes. */
kedge_status kedge_outbox_insert(kedge_store_db *db, const kedge_pending *row,
                                 kedge_outbox_meta *meta, kedge_error *error);
/* Gives a pending row that was checked and changed its new checksum; or all rows theirs. */
kedge_status kedge_outbox_seal(kedge_store_db *db, int64_t sequence, kedge_error *error);
kedge_status kedge_outbox_seal_all(kedge_store_db *db, kedge_error *error);
/* Counts `pending` anew into `meta`, which the caller writes. */
kedge_status kedge_outbox_count_pending(kedge_store_db *db, kedge_outbox_meta *meta,
                                        kedge_error *error);
/* Copies the row into the inbox; does nothing when it is there already, in whatever state. */
kedge_status kedge_outbox_reject(kedge_store_db *db, int64_t sequence,
                                 const kedge_wire_outcome *outcome, int64_t now_ms,
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
/* The id of the lowest mutation of the living client that the cache does not cover; the next id
 * when there is none. */
kedge_status kedge_outbox_lowest(kedge_store_db *db, const kedge_outbox_meta *meta,
                                 const kedge_cache_meta *cache, int64_t *id, kedge_error *error);

/* ---- trimmed.c, inside the caller's transaction ---- */
/* Earlier clients of which mutations have left the tail, and up to which id. */
kedge_status kedge_trimmed_read(kedge_store_db *db, kedge_wire_client_marks *marks,
                                kedge_error *error);
/* Adds to `*unrecovered` how many mutations of a client with lmid < id <= through are known neither
 * to the backend, which has decided `lmid`, nor to this outbox. */
kedge_status kedge_trimmed_count(kedge_store_db *db, const char *client, int64_t lmid,
                                 int64_t through, int64_t *unrecovered, kedge_error *error);
/* The same for the earlier clients that `decided` names, by their lmids at the backend (NULL: it
 * knows none of them); what is counted once is not counted again. */
kedge_status kedge_trimmed_count_earlier(kedge_store_db *db, const kedge_wire_client_marks *decided,
                                         int64_t *unrecovered, kedge_error *error);
/* The tail of an earlier client was trimmed up to this id. */
kedge_status kedge_trimmed_keep(kedge_store_db *db, const char *client, int64_t through,
                                kedge_error *error);

/* ---- cache.c: rows of the cache, inside the caller's transaction ---- */
kedge_status kedge_cache_meta_read(kedge_store_db *db, kedge_cache_meta *meta, kedge_error *error);
kedge_status kedge_cache_meta_write(kedge_store_db *db, const kedge_cache_meta *meta,
                                    kedge_error *error);
/* Whatever reads a row checks it: KEDGE_CORRUPT when it is not what was written. Whatever writes
 * rows keeps a total of them up to date, which is to be written with `meta` or the staging row in
 * the same transaction. */
/* KEDGE_NOT_FOUND when absent. `value` is borrowed until the next call for an item. */
kedge_status kedge_cache_item(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_bytes *value, kedge_error *error);
/* `*changed` false: it was so before. */
kedge_status kedge_cache_put(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                             kedge_bytes id, kedge_bytes value, bool *changed, kedge_error *error);
kedge_status kedge_cache_delete(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                                kedge_bytes id, bool *changed, kedge_error *error);
kedge_status kedge_cache_clear(kedge_store_db *db, kedge_row_total *items, kedge_error *error);
/* The same in `staged_item`. */
kedge_status kedge_cache_put_staged(kedge_store_db *db, kedge_row_total *items,
                                    kedge_bytes collection, kedge_bytes id, kedge_bytes value,
                                    kedge_error *error);
/* KEDGE_NOT_FOUND when `base` says nothing of the key. */
kedge_status kedge_cache_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_cache_row *row, kedge_error *error);
/* `value` NULL: absent. `_keep` leaves a row that is there. */
kedge_status kedge_cache_put_base(kedge_store_db *db, kedge_row_total *bases,
                                  kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                  kedge_error *error);
kedge_status kedge_cache_keep_base(kedge_store_db *db, kedge_row_total *bases,
                                   kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                   kedge_error *error);
kedge_status kedge_cache_delete_base(kedge_store_db *db, kedge_row_total *bases,
                                     kedge_bytes collection, kedge_bytes id, kedge_error *error);
/* Reads `item`: what is visible. */
kedge_state_reader kedge_cache_reader(kedge_store_db *db);
/* All of `base`, which should hold what `bases` says. */
kedge_status kedge_cache_load_base(kedge_store_db *db, const kedge_row_total *bases,
                                   kedge_overlay *base, kedge_error *error);

/* ---- cache_check.c ---- */
/* Ends the check that is under way. */
void kedge_cache_check_end(kedge_store *store);

/* ---- changes.c ---- */
void kedge_changes_add(kedge_change_set *changes, kedge_bytes collection, kedge_bytes id);
void kedge_changes_clear(kedge_change_set *changes);
void kedge_changes_all(kedge_change_set *changes);

/* ---- prediction_fit.c ---- */
bool kedge_prediction_fits(const kedge_outbox_meta *outbox, const kedge_cache_meta *cache);
/* Has the outbox lost commits that the cache reflects? It has until the cache is repaired. */
bool kedge_prediction_outbox_is_older(const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *cache);
/* What a cache covers that knows more than the outbox is decided, and nobody knows how: it counts
 * as pending until the repair has asked for it again. */
void kedge_prediction_doubt(const kedge_outbox_meta *outbox, kedge_cache_meta *cache);
/* Counts the edits that the outbox has lost, whose sequences are not given out again. It counts as
 * older afterwards, too. */
void kedge_prediction_count_lost(kedge_outbox_meta *outbox, const kedge_cache_meta *cache);

/* ---- prediction.c, prediction_write.c, prediction_repair.c ---- */
/* Inside a cache transaction: lays `patch` (NULL: nothing) over the canonical state, replays what
 * `next` does not cover, writes the rows that differ, and then `next` as the cache's meta with the
 * outbox's revision. `outbox` is what the outbox's open transaction, if any, is about to commit. */
kedge_status kedge_prediction_rebase(kedge_store *store, const kedge_wire_patch *patch,
                                     const kedge_outbox_meta *outbox, kedge_cache_meta *next,
                                     kedge_change_set *changes, kedge_error *error);
/* Runs one call on the visible state and keeps its changes in `overlay`. */
kedge_status kedge_prediction_run(kedge_store *store, const kedge_call *call,
                                  kedge_overlay *overlay, kedge_error *error);
/* Writes what kedge_prediction_run changed to `item`, and the way back to `base`; `next` is to be
 * written behind it. */
kedge_status kedge_prediction_write_run(kedge_store *store, const kedge_overlay *overlay,
                                        kedge_cache_meta *next, kedge_change_set *changes,
                                        kedge_error *error);
kedge_status kedge_prediction_write(kedge_store *store, const kedge_overlay *base,
                                    const kedge_overlay *delta, const kedge_overlay *prediction,
                                    kedge_cache_meta *next, kedge_change_set *changes,
                                    kedge_error *error);
/* In a cache transaction of its own, when the prediction does not fit. Without `changes` the next
 * change set tells that anything may have changed. */
kedge_status kedge_prediction_repair(kedge_store *store, bool force, kedge_change_set *changes,
                                     kedge_error *error);

/* ---- mutate.c, inbox.c ---- */
/* Commits the outbox, then the cache: the end of each edit. */
kedge_status kedge_edit_commit(kedge_store *store, kedge_change_set *changes, kedge_error *error);
/* Name and args of a rejected mutation that the inbox shows. */
kedge_status kedge_inbox_find(kedge_store *store, int64_t sequence, kedge_buffer *name,
                              kedge_buffer *args, kedge_error *error);
/* In the outbox's transaction: the row is no longer shown, and its args are given up. */
kedge_status kedge_inbox_set_state(kedge_store *store, int64_t sequence, int state,
                                   kedge_error *error);

/* ---- pull.c, pull_steps.c ---- */
typedef struct kedge_pull_state {
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    kedge_staging staging;
} kedge_pull_state;

kedge_status kedge_pull_state_read(kedge_store *store, kedge_pull_state *state, kedge_error *error);
/* Do the outcomes fit our rows? `*rotate` when they are about somebody else's mutations. */
kedge_status kedge_pull_check_outcomes(kedge_store *store, const kedge_pull_state *state,
                                       int64_t lmid, const kedge_wire_outcomes *outcomes,
                                       bool *rotate, kedge_error *error);
/* Is every body there? */
kedge_status kedge_store_check_patch(const kedge_wire_patch *patch, kedge_error *error);
/* The outcome with the row's id and digest; NULL: none. */
const kedge_wire_outcome *kedge_pull_outcome_of(const kedge_wire_outcomes *outcomes,
                                                const kedge_pending *row);
/* Raises the revision in `state`, so that a cache that is written behind it tells of an outbox that
 * has lost the rejections since. */
kedge_status kedge_pull_keep_rejections(kedge_store *store, kedge_pull_state *state,
                                        const kedge_wire_outcomes *outcomes, kedge_error *error);
/* The backend was asked for the outbox's lineage, and knows it. A failure asks once more. */
void kedge_pull_note_settled(kedge_store *store, const kedge_outbox_meta *outbox);
/* Step 3. A failure is no failure of the pull: what is covered counts as covered. */
void kedge_pull_settle(kedge_store *store);
kedge_status kedge_pull_begin_durable(kedge_store *store, kedge_error *error);
void kedge_pull_end_durable(kedge_store *store);

/* ---- staging.c, snapshot.c ---- */
kedge_status kedge_staging_read(kedge_store_db *db, kedge_staging *staging, kedge_error *error);
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
/* The staged items become the canonical state: `item`, with an empty `base`, as `next` says. */
kedge_status kedge_staging_swap(kedge_store *store, const kedge_staging *staging,
                                kedge_cache_meta *next, kedge_error *error);
kedge_status kedge_staging_drop(kedge_store *store, kedge_error *error);

/* ---- reader.c ---- */
kedge_status kedge_reader_take(kedge_store *store, kedge_store_reader **reader, kedge_error *error);
void kedge_reader_give(kedge_store *store, kedge_store_reader *reader);
void kedge_readers_close(kedge_store *store);
/* Both files, the outbox first, so that the pair is never newer in the outbox. KEDGE_CORRUPT when
 * the outbox is refused. */
kedge_status kedge_reader_begin(kedge_store *store, kedge_store_reader *reader, kedge_error *error);
kedge_status kedge_reader_begin_cache(kedge_store_reader *reader, kedge_error *error);
void kedge_reader_end(kedge_store_reader *reader);
/* Sets aside what a reader found damaged; true when reading again makes sense. When the outbox is
 * refused, `error` says so. */
bool kedge_reader_heal(kedge_store *store, kedge_store_reader *reader, kedge_error *error);

/* ---- shadow.c ---- */
/* The cache could not be written behind the outbox. From now on reads look whether they have to
 * show more than it holds. */
void kedge_shadow_note(kedge_store *store, kedge_status why);
/* In a turn: the cache was written, and fits. */
void kedge_shadow_end(kedge_store *store);
void kedge_shadow_free(kedge_store *store);
/* kedge_reader_take for who reads what is visible: every acknowledged edit, written or not. */
kedge_status kedge_reader_take_shown(kedge_store *store, kedge_store_reader **reader,
                                     kedge_error *error);

/* ---- authorizer.c ---- */
int kedge_query_authorize(void *context, int action, const char *first, const char *second,
                          const char *database, const char *view);

#endif
