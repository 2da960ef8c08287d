/* The floor of a push: what the libraries alone take for its bytes, in one thread. */
#ifndef KEDGE_BENCH_PUSHES_FLOOR_H
#define KEDGE_BENCH_PUSHES_FLOOR_H

#include "common/bytes.h"

typedef struct bench_floor bench_floor;

/* Over a SQLite file of its own in `folder`. Ends the program when anything fails, like all that
 * follows. */
bench_floor *bench_floor_open(const char *folder);
/* zlib unpacks the body, cJSON parses it, SHA-256 runs over each args and each value, zlib packs
 * args, values, and what else the mutations have, and SQLite inserts the three in a transaction
 * that is synced. There is no HTTP, no state and no check of anything. */
void bench_floor_push(bench_floor *floor, kedge_bytes body, bool gzip);
/* Returns the CPU of all pushes in milliseconds. */
double bench_floor_close(bench_floor *floor);

#endif
