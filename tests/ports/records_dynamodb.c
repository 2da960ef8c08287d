/* The records port on a real DynamoDB, with a fresh table for each test. */
#include "tests/ports/records_fixture.h"

#include "tests/support/dynamodb_table.h"

static dynamodb_table table;

static kedge_status open_dynamodb(world *around, kedge_records *records, kedge_error *error)
{
    (void)around; /* its clock stands still, which no signature survives */
    kedge_status status = dynamodb_table_make(&table, error);
    if (status != KEDGE_OK) return status;
    status = kedge_dynamodb_records_open(table.client, table.name, records, error);
    if (status != KEDGE_OK) dynamodb_table_end(&table);
    return status;
}

static void close_dynamodb(kedge_records *records)
{
    records->vtable->close(records->self);
    dynamodb_table_end(&table);
}

const char *const records_engine = "AWS_ENDPOINT_URL_DYNAMODB";

const implementation records_implementations[] = {
    {"records: DynamoDB", open_dynamodb, close_dynamodb},
    {0},
};
