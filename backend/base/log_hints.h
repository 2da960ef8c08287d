/* Which segment of a log was the newest when it was last seen: a cached hint.
 *
 * An append that starts from it saves the read of the Segment table. A hint that is wrong costs
 * two reads: the segment's last entry is then an End Segment, which makes the append start anew. In
 * the memory of this process; a log that is forgotten is read again. Any thread. */
#ifndef KEDGE_BACKEND_BASE_LOG_HINTS_H
#define KEDGE_BACKEND_BASE_LOG_HINTS_H

#include "common/bytes.h"

#include <pthread.h>

#define KEDGE_LOG_HINTS         1024 /* so many places; of two logs in one, the later stays */
#define KEDGE_LOG_HINT_ID_BYTES 16

typedef struct kedge_log_hint {
    uint8_t id[KEDGE_LOG_HINT_ID_BYTES]; /* of the log; zeros: free */
    int64_t segment;
    int64_t first; /* the number of the segment's entry 0 */
} kedge_log_hint;

typedef struct kedge_log_hints {
    pthread_mutex_t lock;
    kedge_log_hint *places;
    const kedge_allocator *allocator;
} kedge_log_hints;

kedge_status kedge_log_hints_open(kedge_log_hints *hints, const kedge_allocator *allocator,
                                  kedge_error *error);
void kedge_log_hints_close(kedge_log_hints *hints);

/* Fills the rest of `hint` for hint->id; false: nothing is known. */
bool kedge_log_hint_find(kedge_log_hints *hints, kedge_log_hint *hint);
void kedge_log_hint_put(kedge_log_hints *hints, const kedge_log_hint *hint);

#endif
