/* The records and blobs that the tests of the backend run on: in memory (stores_memory.c), or, in
 * programs of their own, on a real DynamoDB, alone or with a real S3 (stores_engines.c). */
#ifndef KEDGE_TESTS_BACKEND_STORES_H
#define KEDGE_TESTS_BACKEND_STORES_H

#include "backend/ports/blobs.h"
#include "backend/ports/records.h"
#include "common/environment.h"
#include "tests/support/sampling.h"

/* What stands behind the names of the tests. */
#ifdef KEDGE_TEST_S3
#define STORES_NAME "DynamoDB and S3"
#elif defined(KEDGE_TEST_DYNAMODB)
#define STORES_NAME "DynamoDB"
#else
#define STORES_NAME "memory"
#endif

/* How many seeds random tests take, and which of the port calls those that go through all of them:
 * requests to an engine cost a thousand times those to memory. There a sanitizer takes fewer. */
#ifdef KEDGE_TEST_DYNAMODB
#define STORES_SEEDS 1
#define STORES_STEP  4
#else
#define STORES_SEEDS 4
#define STORES_STEP  SAMPLING_FEWER
#endif

kedge_status stores_open(const kedge_environment *environment, kedge_records *records,
                         kedge_blobs *blobs, kedge_error *error);
void stores_close(kedge_records *records, kedge_blobs *blobs);

#endif
