/* Damage to the folder of a client, from outside: bytes, pages, files and values are changed in
 * folders that the real client left in every state of sync, and each edit that was acknowledged has
 * to be found again: on the server once, in the inbox, pending, counted, or behind a refusal.
 *
 *   pool.c    makes the states, each by a real client against a real server
 *   ledger.c  what was acknowledged, and what may be read
 *   kinds.c   damage to bytes, pages and files; values.c: to rows, through SQL
 *   round.c   one round: copy a state, damage it, let an app use it, judge
 *   app.c     the app in the damaged folder; judge.c: a sound copy, the history, the outcome
 *   main.c    the rounds, by seeds, and the table
 *
 * Processes share what they see in memory that is mapped before they are forked, so that nothing is
 * lost when one of them is killed. */
#ifndef KEDGE_TESTS_DAMAGE_H
#define KEDGE_TESTS_DAMAGE_H

#include "tests/support/files.h"
#include "tests/support/server_process.h"

#include <kedge/kedge.h>

#include <stdatomic.h>
#include <sys/types.h>

#define DAMAGE_ORGANIZATION "test"
#define DAMAGE_PROJECT      "damage"
#define DAMAGE_TOKENS_MAX   4096
#define DAMAGE_BIG_TOKENS   3000 /* from here on an edit has some 40,000 bytes */
#define DAMAGE_VALUE_BYTES  65536
#define DAMAGE_TRACE_BYTES  32768

/* ---- dice ---- */

typedef struct damage_dice {
    uint64_t state;
} damage_dice;
damage_dice damage_dice_make(uint64_t seed);
/* From 0 to below `below`, which is at least 1 and below 2^32. */
uint64_t damage_draw(damage_dice *dice, uint64_t below);

/* ---- the ledger ---- */

/* An edit is named by its token: it puts a value that the token determines into an item of its
 * own. Token 0 is none. */
typedef struct damage_edit {
    bool known;       /* was offered to the client, so its value may be read */
    bool ours;        /* acknowledged by the folder that is damaged */
    bool late;        /* acknowledged by it after the damage */
    bool rejected;    /* its mutator is unknown to the server */
    bool dismissed;   /* out of the inbox, by the app */
    bool shared;      /* stands in the item that others write, too */
    int64_t sequence; /* when ours */
} damage_edit;

typedef struct damage_ledger {
    long count;        /* tokens run from 1 to below it */
    long shared_shown; /* the token that the shared item has, as far as our folder knows; 0: none */
    damage_edit edits[DAMAGE_TOKENS_MAX];
} damage_ledger;

extern const kedge_mutator damage_mutators[1];

/* The value that the token puts; returns its size. `out` has DAMAGE_VALUE_BYTES. */
size_t damage_value(long token, char *out);
/* Makes the edit `token` with what the ledger says about it and notes that it was acknowledged. */
kedge_status damage_make_edit(kedge_db *db, damage_ledger *ledger, long token, kedge_error *error);
/* Is this, byte for byte, a value that was put there? Its token, or 0. */
long damage_token_of(const damage_ledger *ledger, const char *collection, const char *id,
                     const char *value, size_t value_size);
/* The token whose args these are, or 0. */
long damage_token_of_args(const damage_ledger *ledger, const char *args, size_t args_size);
/* The token of ours that got this sequence, or 0. */
long damage_token_of_sequence(const damage_ledger *ledger, int64_t sequence);

/* ---- what is seen ---- */

/* What stands in a folder at some moment. */
typedef struct damage_view {
    unsigned char shown[DAMAGE_TOKENS_MAX];
    long shared;
    bool disorder; /* a scan was out of order, or kedge_get and a query do not agree with it */
} damage_view;

typedef struct damage_seen {
    /* Outcomes, counted where they are seen. */
    int wrong, endless, lost, mute;
    /* What the client did about the damage. */
    bool opened, refused, healed, set_aside, told_by_read, rotated, repaired, overstated;
    bool nobody_knows; /* the repair says that it cannot tell what is missing */
    kedge_error refusal;
    /* What the app saw last. */
    bool finished, synced, waiting;
    int64_t unrecovered, pending;
    unsigned char listed[DAMAGE_TOKENS_MAX];  /* pending, by its args */
    unsigned char inboxed[DAMAGE_TOKENS_MAX]; /* rejected, by its sequence */
    damage_view view;
    /* What the server has. */
    bool judged;
    unsigned char applied[DAMAGE_TOKENS_MAX];
    damage_view server;
    size_t trace_size;
    char trace[DAMAGE_TRACE_BYTES];
} damage_seen;

void damage_note(damage_seen *seen, const char *format, ...) KEDGE_PRINTF(2, 3);
/* Notes and counts. */
void damage_wrong(damage_seen *seen, const char *format, ...) KEDGE_PRINTF(2, 3);
void damage_endless(damage_seen *seen, const char *format, ...) KEDGE_PRINTF(2, 3);

/* ---- files and processes ---- */

__attribute__((noreturn)) void damage_fail(const char *format, ...) KEDGE_PRINTF(1, 2);
int64_t damage_size(const char *path); /* 0 when there is none */
/* Moves the WALs of both files into them, as a checkpoint of everything does. */
void damage_checkpoint(const char *folder);
/* A number for the contents of a file and its WAL. */
uint64_t damage_fingerprint(const char *folder, const char *file);
/* Memory of zeros that is shared with the children. */
void *damage_share(size_t size);
void damage_unshare(void *memory, size_t size);

kedge_options damage_options(const char *folder, const char *url);

/* ---- the pool ---- */

#define DAMAGE_STATES_MAX 24

/* Below `path`: client/ (what gets damaged), older/ (the same folder at an earlier moment),
 * server/. */
typedef struct damage_state {
    const char *name;
    char path[FILES_PATH_BYTES];
    damage_ledger *ledger;
} damage_state;

typedef struct damage_pool {
    size_t count;
    damage_state states[DAMAGE_STATES_MAX];
} damage_pool;
void damage_pool_make(damage_pool *pool, const char *root, const char *server_program);

/* ---- kinds of damage ---- */

/* The folder that is damaged, and an older copy of it. */
typedef struct damage_target {
    const char *folder;
    const char *older;
    uint64_t turn; /* which column is next, for damage by SQL */
    damage_dice *dice;
    char what[256]; /* what was done, for the trace */
    char place[96]; /* the column, when damage by SQL */
} damage_target;

typedef struct damage_kind {
    const char *name;
    const char *file;
    bool (*apply)(damage_target *target, const char *file); /* false: cannot be done here */
    /* The outbox becomes an older one that looks sound: only the cache can tell. */
    bool rolls_back;
    int slots; /* how often it comes in a period */
} damage_kind;

extern const damage_kind damage_kinds[];
extern const size_t damage_kind_count;
/* Every kind has had its slots after so many seeds. */
uint64_t damage_period(void);
/* The kind of a seed, and how many slots of that kind came before. */
size_t damage_kind_of(uint64_t seed, uint64_t *turn);

bool damage_change_value(damage_target *target, const char *file);
bool damage_remove_row(damage_target *target, const char *file);

#define DAMAGE_COLUMNS_MAX 160
/* The columns of both files of this folder, as "outbox.db pending.args"; returns how many. */
size_t damage_list_columns(const char *folder, char names[DAMAGE_COLUMNS_MAX][96]);

/* ---- a round ---- */

typedef struct damage_result {
    atomic_bool done;
    uint64_t seed;
    size_t kind;
    size_t state;
    bool applied; /* the damage took effect */
    char place[96];
    damage_seen seen;
} damage_result;

typedef struct damage_setting {
    const char *server_program;
    const char *root;
    bool keep; /* the round's folder stays */
    damage_pool pool;
} damage_setting;

void damage_round(const damage_setting *setting, uint64_t seed, damage_result *result);

/* Uses the folder as an app does: opens, reads, edits, syncs, closes, and all again. */
void damage_app(const char *folder, const char *url, bool cache_damaged, damage_ledger *ledger,
                damage_seen *seen);
/* Keeps the folder open for a while, until it shows what the server has: some damage to a cache is
 * found in the background. */
void damage_app_waits(const char *folder, const char *url, damage_ledger *ledger,
                      damage_seen *seen);
/* Reads all that the folder shows; false when reads keep failing. */
bool damage_read_all(kedge_db *db, const damage_ledger *ledger, damage_seen *seen,
                     damage_view *view);
/* Reads the server's state and history through a new, sound copy. */
void damage_read_server(const char *folder, const char *url, const damage_ledger *ledger,
                        damage_seen *seen);
/* A copy that says it is done shows what the server has; NULL when it does,
 * otherwise a difference. */
const char *damage_difference(const damage_seen *seen);
/* What became of each edit. */
void damage_judge(const damage_ledger *ledger, damage_seen *seen);

/* kedge_repair. `missing` as in its report: -1 when nobody can know. */
kedge_status damage_repair(const char *folder, const char *new_folder, int64_t *missing,
                           kedge_error *error);

#endif
