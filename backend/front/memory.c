/* See memory.h.
 *
 * Bodies, responses and states come and go by the megabyte. From LARGE_BLOCK on a block goes back
 * to the system when it is freed. Of smaller ones the C library keeps what is free, in an arena of
 * each thread: when one worker after the other writes the checkpoint of a large project, each arena
 * keeps the memory of a whole state. */
#include "backend/front/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#define LARGE_BLOCK 262144

void kedge_memory_begin(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

/* 0 when the system does not tell. */
static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What is resident beyond what is in use. What was given back counts as free still, so it is not
 * the free memory that is asked for. */
static size_t unused_bytes(void)
{
    size_t resident = resident_bytes();
    struct mallinfo2 of = mallinfo2();
    size_t used = of.uordblks + of.hblkhd;
    return resident > used ? resident - used : 0;
}

void kedge_memory_give_back(void)
{
    static size_t kept; /* after the last time: it cannot be given back */
    size_t unused = unused_bytes();
    if (unused < kept) kept = unused;
    if (unused - kept < KEDGE_MEMORY_FREE_BYTES) return;
    (void)malloc_trim(0);
    kept = unused_bytes();
}
