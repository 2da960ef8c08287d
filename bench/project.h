/* A project of items of about 150 bytes, pulled into a store. */
#ifndef KEDGE_BENCH_PROJECT_H
#define KEDGE_BENCH_PROJECT_H

#include "sdk/store/store.h"

/* With the mutators that Kedge has by itself. */
kedge_store *bench_open_store(const char *folder, kedge_registry **registry);
/* About 150 bytes of canonical JSON. */
void bench_write_value(kedge_buffer *out, int number, int version);
/* A pull response from version `version - 1` to `version` that puts the items first, first + step,
 * … of the collection `notes`. */
void bench_write_response(kedge_buffer *out, int version, int first, int count, int step);
/* Decodes and applies; the time in milliseconds. */
double bench_apply(kedge_store *store, kedge_bytes body);

#endif
