/* An sqlite3_vfs that fails where it is told to, over the system's own.
 *
 * The files are real ones; what a power cut would do to them is kept beside: every write since a
 * file's last sync, with the bytes that it replaced. A sync only forgets these, so that a run costs
 * no disk time. The same seed and the same calls give the same faults.
 *
 *   kill -9     fault_vfs_crash, close the connections (everything fails, nothing is written),
 *               fault_vfs_revive
 *   power cut   fault_vfs_crash, close, fault_vfs_power_cut: each 512-byte sector that was not
 * synced is as it was or as it was to be, by the seed; then it is revived
 *
 * One object serves one client, with a VFS name of its own. Several threads may use it. */
#ifndef KEDGE_TESTS_SUPPORT_FAULT_VFS_H
#define KEDGE_TESTS_SUPPORT_FAULT_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fault_vfs fault_vfs;

typedef enum fault_kind {
    FAULT_IO, /* the call fails with SQLITE_IOERR, without effect */
    /* A write fails with SQLITE_FULL, the growing of the shared memory with SQLITE_IOERR_SHMSIZE;
     * counts these only. */
    FAULT_FULL,
    FAULT_TORN_WRITE /* a write puts a part and fails; counts writes only */
} fault_kind;

typedef struct fault_counts {
    uint64_t calls; /* that can fail: opens, reads, writes, truncations, syncs, sizes, deletions */
    uint64_t writes;
    uint64_t failed;  /* by FAULT_IO, and after a crash */
    uint64_t full;    /* by FAULT_FULL or a full disk */
    uint64_t torn;    /* by FAULT_TORN_WRITE */
    uint64_t dropped; /* sectors that a power cut took back */
} fault_counts;

/* Registers the VFS under `name` (copied). NULL: no memory, or SQLite refused. */
fault_vfs *fault_vfs_new(const char *name, uint64_t seed);
void fault_vfs_free(fault_vfs *vfs); /* all connections must be closed */

/* Fails call number `nth` (from 1, counted from now), and with `sticky` all later ones; 0: none. */
void fault_vfs_arm(fault_vfs *vfs, fault_kind kind, uint64_t nth, bool sticky);
/* Calls of the kind that was armed, since then. */
uint64_t fault_vfs_armed_calls(const fault_vfs *vfs);
/* No file grows any more. */
void fault_vfs_set_full(fault_vfs *vfs, bool full);
/* The files may grow by so many bytes in all, and by those that they give back; -1: by any number.
 * The shared memory is not counted: what is cut off when it is opened is taken again. */
void fault_vfs_set_room(fault_vfs *vfs, int64_t bytes);

/* No write is done any more, to whatever place: each finds the disk full. */
void fault_vfs_refuse_writes(fault_vfs *vfs, bool refuse);

/* Calls `asleep` after each sleep of a connection that waits for a lock; NULL: nothing. The thread
 * that waits calls it. */
void fault_vfs_on_sleep(fault_vfs *vfs, void (*asleep)(void *context), void *context);

void fault_vfs_crash(fault_vfs *vfs);
void fault_vfs_power_cut(fault_vfs *vfs);
void fault_vfs_revive(fault_vfs *vfs);

fault_counts fault_vfs_counts(const fault_vfs *vfs);

#endif
