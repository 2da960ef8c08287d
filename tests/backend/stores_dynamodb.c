/* Records in a table of their own on a real DynamoDB, blobs in memory. A program with these stores
 * does not start without the engine. */
#include "tests/backend/stores.h"

#include "backend/memory/memory_ports.h"
#include "tests/support/dynamodb_table.h"
#include "tests/support/engines.h"

#include <stdlib.h>

#define TABLES_MAX 4

static struct {
    dynamodb_table table;
    void *records; /* NULL: free */
} tables[TABLES_MAX];

__attribute__((constructor)) static void want_engine(void)
{
    int missing = engines_missing("AWS_ENDPOINT_URL_DYNAMODB");
    if (missing != 0) exit(missing);
}

static size_t place_of(const void *records)
{
    for (size_t i = 0; i < TABLES_MAX; i++) {
        if (tables[i].records == records) return i;
    }
    abort(); /* more worlds at once than there are places for */
}

kedge_status stores_open(const kedge_environment *environment, kedge_records *records,
                         kedge_blobs *blobs, kedge_error *error)
{
    size_t at = place_of(NULL);
    dynamodb_table *table = &tables[at].table;
    kedge_status status = dynamodb_table_make(table, error);
    if (status != KEDGE_OK) return status;
    status = kedge_dynamodb_records_open(table->client, table->name, records, error);
    if (status == KEDGE_OK) {
        status = kedge_memory_blobs_open(environment, blobs, error);
        if (status != KEDGE_OK) records->vtable->close(records->self);
    }
    if (status != KEDGE_OK) {
        dynamodb_table_end(table);
        return status;
    }
    tables[at].records = records->self;
    return KEDGE_OK;
}

void stores_close(kedge_records *records, kedge_blobs *blobs)
{
    size_t at = place_of(records->self);
    blobs->vtable->close(blobs->self);
    records->vtable->close(records->self);
    dynamodb_table_end(&tables[at].table);
    tables[at].records = NULL;
}
