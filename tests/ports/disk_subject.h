/* A port that lives on a disk, as the tests of failing disks see it. */
#ifndef KEDGE_TESTS_PORTS_DISK_SUBJECT_H
#define KEDGE_TESTS_PORTS_DISK_SUBJECT_H

#include "tests/ports/world.h"
#include "tests/support/fault_vfs.h"

/* A disk with one database on it. */
typedef struct disk {
    world around;
    fault_vfs *vfs;
    char path[128];
    fault_kind kind; /* of the fault that it has, or had */
    uint64_t failed; /* calls of the port that said so */
} disk;

/* Asserts that the status is one that the contract has for such a fault, and counts failures. */
kedge_status disk_note(disk *self, kedge_status status);

typedef struct disk_subject {
    const char *name;
    /* Opens the port and works with it; anything may fail. Starts over with an empty memory of what
     * was done. */
    void (*run)(disk *self);
    /* Opens the port when it is not, and asserts that it has what was acknowledged, and nothing of
     * what failed; then that it still works. Nothing fails. */
    void (*check)(disk *self);
    void (*close)(disk *self); /* when it is open */
} disk_subject;

extern const disk_subject disk_records, disk_large_records, disk_crowd, disk_queue;

#endif
