/* The requests that a backend makes of its records, kept and made once more: the floor of what an
 * engine can do. */
#ifndef KEDGE_BENCH_RECORDER_H
#define KEDGE_BENCH_RECORDER_H

#include "backend/ports/records.h"

/* What one thread asked for, in its order. */
typedef struct bench_log bench_log;

bench_log *bench_log_make(const kedge_allocator *allocator);
void bench_log_free(bench_log *log);
size_t bench_log_count(const bench_log *log);

/* `records` with a recorder in front: what a thread asks for goes into the log that it has set,
 * under other partitions, so that the same may be asked once more. One at a time in a process. */
kedge_records bench_recorder(kedge_records records);
void bench_record_to(bench_log *log); /* of this thread; NULL: nowhere */

/* Makes the requests of the log again; how many did not answer as before. */
size_t bench_replay(const bench_log *log, kedge_records records);

#endif
