/* The rows of kedge-bench-log about snapshots of log projects. */
#ifndef KEDGE_BENCH_LOG_SNAPSHOT_H
#define KEDGE_BENCH_LOG_SNAPSHOT_H

#include "bench/stage.h"

/* `blobs` are those of the stage. */
void bench_log_snapshots(bench_stage *stage, kedge_blobs blobs, bool json);

#endif
