/* Power cuts at every write of a client: the real library makes edits and syncs with a real
 * kedge-server, on a disk that records what is written and what is synced. Afterwards the folder is
 * put together as a power cut at each of these points could have left it, is opened, and every edit
 * that had been acknowledged by then has to be there.
 *
 *   recorder.c  the VFS that records
 *   disk.c      a disk that the record is played on, and what a cut leaves of it
 *   scenario.c  what the client does while it is recorded
 *   check.c     opens what a cut left, offline, and some of it with the server as it was
 *   main.c      scenarios by seeds, and the table */
#ifndef KEDGE_TESTS_POWERCUT_H
#define KEDGE_TESTS_POWERCUT_H

#include "tests/sim/dice.h"
#include "tests/support/files.h"

#include <kedge/kedge.h>

#define POWERCUT_ORGANIZATION "test"
#define POWERCUT_PROJECT      "powercut"
#define POWERCUT_TOKENS_MAX   256
#define POWERCUT_PHASES_MAX   8
#define POWERCUT_FILES        6 /* each database, its WAL, its journal */

/* ---- the record ---- */

extern const char *const powercut_files[POWERCUT_FILES];

typedef enum powercut_call {
    POWERCUT_CREATE,
    POWERCUT_WRITE,
    POWERCUT_TRUNCATE,
    POWERCUT_SYNC,
    POWERCUT_DELETE
} powercut_call;

typedef struct powercut_operation {
    powercut_call call;
    int file;
    size_t offset; /* POWERCUT_TRUNCATE: the new size */
    size_t size;
    unsigned char *bytes;
    bool folder_synced; /* POWERCUT_SYNC, POWERCUT_DELETE: the folder's entries, too */
} powercut_operation;

typedef struct powercut_record {
    powercut_operation *operations;
    size_t count;
    size_t capacity;
} powercut_record;

/* Makes the recording VFS SQLite's default. Once, before SQLite is used. From then on no sync
 * reaches the real disk. */
void powercut_recorder_install(void);
/* Records the files of `folder`, which has none yet, until powercut_recorder_stop. Every thread may
 * write; the order of the record is the order of the writes. */
void powercut_recorder_start(const char *folder, powercut_record *record);
/* How many operations there are so far. */
size_t powercut_recorder_position(void);
void powercut_recorder_stop(void);
void powercut_record_free(powercut_record *record);

/* ---- the disk ---- */

typedef struct powercut_disk powercut_disk;

/* How a cut ends what was not synced. */
typedef enum powercut_way {
    POWERCUT_KILLED, /* all of it is kept: only the process died */
    POWERCUT_BARE,   /* nothing of it is kept */
    POWERCUT_TORN,   /* each write is kept, dropped, or torn at sectors, as the dice say */
    POWERCUT_WAYS
} powercut_way;

typedef struct powercut_losses {
    long dropped; /* writes, truncations, entries of the folder */
    long torn;
} powercut_losses;

powercut_disk *powercut_disk_make(void);
void powercut_disk_free(powercut_disk *disk);
void powercut_disk_play(powercut_disk *disk, const powercut_operation *operation);
/* Writes into the empty folder what a cut now would leave. */
void powercut_disk_cut(const powercut_disk *disk, powercut_way way, sim_dice *dice,
                       const char *folder, powercut_losses *losses);

/* ---- the scenario ---- */

typedef struct powercut_phase {
    const char *name;
    size_t begin; /* operations: from this one on, below `end` */
    size_t end;
    bool syncs;
    char server[FILES_PATH_BYTES]; /* a copy of the server's data: before a phase of edits, after a
                                      sync */
} powercut_phase;

typedef struct powercut_run {
    powercut_record record;
    long tokens;                              /* edits 1 to tokens */
    size_t acknowledged[POWERCUT_TOKENS_MAX]; /* the position at which each was */
    /* Of edits that were cancelled: between which positions. 0: it was not. */
    size_t cancel_begun[POWERCUT_TOKENS_MAX];
    size_t cancelled[POWERCUT_TOKENS_MAX];
    long resubmitted[POWERCUT_TOKENS_MAX]; /* how often each was, out of the inbox */
    size_t phase_count;
    powercut_phase phases[POWERCUT_PHASES_MAX];
} powercut_run;

extern const kedge_mutator powercut_mutators[1];

kedge_options powercut_options(const char *folder, const char *url);
/* The edits of these tokens name a mutator that the server does not have: it rejects them. */
bool powercut_is_rejected(long token);
/* Some edits are so large that they need several pages. `sequence` may be NULL. */
kedge_status powercut_edit(kedge_db *db, long token, int64_t *sequence, kedge_error *error);
/* The token that stands in the args of an edit; 0: none. */
long powercut_token_of(const char *args, size_t args_size);

/* Plays the scenario of the seed below `root` and records it. */
void powercut_run_make(powercut_run *run, uint64_t seed, const char *server_program,
                       const char *root);
void powercut_run_free(powercut_run *run);

/* ---- the check ---- */

typedef struct powercut_counts {
    long cuts[POWERCUT_WAYS];
    long with_server;
    powercut_losses losses;
    long acknowledged; /* edits looked for */
    long lost;
    long doubled;
    long cancelled; /* edits that must not be there */
    long revived;   /* … and are */
    long refused;   /* folders that do not open */
    long wrong;     /* anything else */
} powercut_counts;

/* Opens the folder that a cut after `position` left, reads, edits. False: something was wrong, and
 * was printed. */
bool powercut_check(const powercut_run *run, size_t position, const char *folder,
                    powercut_counts *counts);
/* Opens it online, with a server on a copy of the phase's data in `server_folder`. */
bool powercut_check_with_server(const powercut_run *run, size_t position,
                                const powercut_phase *phase, const char *folder,
                                const char *server_program, const char *server_folder,
                                powercut_counts *counts);

/* Ends the program with exit code 3 and a sentence. */
__attribute__((noreturn)) void powercut_fail(const char *format, ...) KEDGE_PRINTF(1, 2);
void *powercut_allocate(void *block, size_t size);

#endif
