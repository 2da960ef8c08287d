/* An SQLite VFS that knows which writes have reached the disk.
 *
 * It stands on the system's VFS, so that locks, shared memory and renames are real, and follows
 * every write of database, WAL and journal files: what a sync has made durable, and what came
 * after. A machine that dies leaves the durable bytes and whatever of the rest the dice say: all of
 * it (the process was killed), or each write kept, dropped or torn at a sector (power cut). Making,
 * renaming and deleting files counts as durable at once. Single-threaded. */
#ifndef KEDGE_TESTS_SIM_VFS_H
#define KEDGE_TESTS_SIM_VFS_H

#include "tests/sim/dice.h"

#define SIM_VFS_NAME       "kedge-sim"
#define SIM_VFS_PATH_BYTES 512
#define SIM_VFS_FILES      6 /* of a folder: each database, its WAL, its journal */
#define SIM_VFS_PAGE       4096

/* The files of a folder. */
typedef enum sim_disk_file {
    SIM_FILE_OUTBOX,
    SIM_FILE_OUTBOX_WAL,
    SIM_FILE_OUTBOX_JOURNAL,
    SIM_FILE_CACHE,
    SIM_FILE_CACHE_WAL,
    SIM_FILE_CACHE_JOURNAL
} sim_disk_file;

typedef struct sim_image sim_image;

/* One simulated machine: a folder and how its disk behaves. Owned by the caller; registered while
 * it lives. */
typedef struct sim_disk {
    char folder[SIM_VFS_PATH_BYTES];
    sim_dice dice;
    sim_image *images;
    bool dead;       /* every call fails; what survives was decided at the moment of death */
    bool suspended;  /* checkers look: no faults, no counting */
    bool power_cut;  /* how it dies */
    int64_t dies_in; /* calls; -1: not */
    bool full;
    uint32_t error_per_mille;
    uint64_t dropped; /* effects, to be collected by the owner */
    uint64_t torn;
    uint64_t failed_full;
    uint64_t failed_error;
    struct sim_disk *next;
} sim_disk;

/* Registers the VFS as the default one, so that SQLite's own randomness is seeded too. */
bool sim_vfs_register(void);
/* Starts SQLite's randomness over. */
void sim_vfs_seed(uint64_t seed);

void sim_disk_open(sim_disk *disk, const char *folder, sim_dice dice);
void sim_disk_close(sim_disk *disk); /* forgets; the files stay */
/* The machine dies now. */
void sim_disk_die(sim_disk *disk);
/* After death, with all handles closed: puts onto the disk what survived, and lives again. */
bool sim_disk_revive(sim_disk *disk);

/* The contents of a folder at a moment. */
typedef struct sim_folder {
    char *bytes[SIM_VFS_FILES];
    size_t size[SIM_VFS_FILES];
    bool there[SIM_VFS_FILES];
} sim_folder;

bool sim_folder_take(const sim_disk *disk, sim_folder *folder);
/* With all handles closed: the disk's folder becomes this, durably. */
bool sim_folder_put(sim_disk *disk, const sim_folder *folder);
void sim_folder_free(sim_folder *folder);

/* ---- files that lie: behind SQLite's back, and durable at once ---- */

void sim_disk_path(const sim_disk *disk, sim_disk_file file, char path[SIM_VFS_PATH_BYTES]);
/* `*bytes` is the caller's to free. False: there is no such file. */
bool sim_disk_read(const sim_disk *disk, sim_disk_file file, char **bytes, size_t *size);
bool sim_disk_write(sim_disk *disk, sim_disk_file file, const char *bytes, size_t size);
/* With all handles closed. */
bool sim_disk_remove(sim_disk *disk, sim_disk_file file);
/* With all handles closed: one database, its WAL and journal become those of the folder. */
bool sim_disk_put(sim_disk *disk, const sim_folder *folder, sim_disk_file database);
/* Ruins one page of cache.db so that SQLite can tell. False: there is none. */
bool sim_disk_ruin_cache(sim_disk *disk);

#endif
