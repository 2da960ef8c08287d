/* Records in a table of their own on a real DynamoDB; blobs in a bucket of their own on a real S3
 * (KEDGE_TEST_S3), or in memory. A table is emptied and used again, when there is little in it. A
 * program with these stores does not start without its engines. */
#include "tests/backend/stores.h"

#include "backend/memory/memory_ports.h"
#include "tests/support/dynamodb_table.h"
#include "tests/support/engines.h"
#include "tests/support/s3_bucket.h"

#include <stdlib.h>

#define STORES_MAX 4

typedef struct stores {
    dynamodb_table table; /* empty, when it is made and nobody uses it */
    s3_bucket bucket;
    void *records; /* NULL: free */
} stores;

static stores places[STORES_MAX];

static stores *place_of(const void *records)
{
    for (size_t i = 0; i < STORES_MAX; i++) {
        if (places[i].records == records) return &places[i];
    }
    abort(); /* more worlds at once than there are places for */
}

/* ---- records ---- */

/* Its clock is the real one, which signatures need, and not the test's. */
static kedge_status open_records(stores *self, kedge_records *records, kedge_error *error)
{
    kedge_status status = self->table.made ? KEDGE_OK : dynamodb_table_make(&self->table, error);
    if (status != KEDGE_OK) return status;
    status = kedge_dynamodb_records_open(self->table.client, self->table.name, records, error);
    if (status != KEDGE_OK) dynamodb_table_end(&self->table);
    return status;
}

static void close_records(stores *self, kedge_records *records)
{
    records->vtable->close(records->self);
    if (!dynamodb_table_empty(&self->table)) dynamodb_table_end(&self->table);
}

static void end_tables(void)
{
    for (size_t i = 0; i < STORES_MAX; i++)
        dynamodb_table_end(&places[i].table);
}

/* ---- blobs ---- */

#ifdef KEDGE_TEST_S3
static kedge_status open_blobs(stores *self, const kedge_environment *environment,
                               kedge_blobs *blobs, kedge_error *error)
{
    (void)environment;
    kedge_status status = s3_bucket_make(&self->bucket, error);
    if (status != KEDGE_OK) return status;
    status = kedge_s3_blobs_open(&self->bucket.options, blobs, error);
    if (status != KEDGE_OK) s3_bucket_end(&self->bucket);
    return status;
}

static void close_blobs(stores *self, kedge_blobs *blobs)
{
    blobs->vtable->close(blobs->self);
    s3_bucket_end(&self->bucket);
}
#else
static kedge_status open_blobs(stores *self, const kedge_environment *environment,
                               kedge_blobs *blobs, kedge_error *error)
{
    (void)self;
    return kedge_memory_blobs_open(environment, blobs, error);
}

static void close_blobs(stores *self, kedge_blobs *blobs)
{
    (void)self;
    blobs->vtable->close(blobs->self);
}
#endif

/* ---- both ---- */

__attribute__((constructor)) static void want_engines(void)
{
    int missing = engines_missing("AWS_ENDPOINT_URL_DYNAMODB");
#ifdef KEDGE_TEST_S3
    if (missing == 0) missing = engines_missing("AWS_ENDPOINT_URL_S3");
#endif
    if (missing != 0) exit(missing);
    if (atexit(end_tables) != 0) abort();
}

kedge_status stores_open(const kedge_environment *environment, kedge_records *records,
                         kedge_blobs *blobs, kedge_error *error)
{
    stores *self = place_of(NULL);
    kedge_status status = open_records(self, records, error);
    if (status != KEDGE_OK) return status;
    status = open_blobs(self, environment, blobs, error);
    if (status == KEDGE_OK)
        self->records = records->self;
    else
        close_records(self, records);
    return status;
}

void stores_close(kedge_records *records, kedge_blobs *blobs)
{
    stores *self = place_of(records->self);
    close_blobs(self, blobs);
    close_records(self, records);
    self->records = NULL;
}
