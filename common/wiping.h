/* An allocator for secrets: it overwrites every block before it frees it, also when a block
 * grows. */
#ifndef KEDGE_COMMON_WIPING_H
#define KEDGE_COMMON_WIPING_H

#include <kedge/allocator.h>

/* The struct must not move, nor end before its blocks. Threads as those of `inner`. */
typedef struct kedge_wiping {
    kedge_allocator allocator; /* what to hand on; its context is this struct */
    const kedge_allocator *inner;
} kedge_wiping;

void kedge_wiping_init(kedge_wiping *wiping, const kedge_allocator *inner);

#endif
