/* The stream port on a real DynamoDB, with a fresh table for each test. */
#include "tests/ports/stream_table.h"

#include "backend/aws/dynamodb_stream.h"
#include "tests/support/dynamodb_table.h"

static dynamodb_table table;

static kedge_status open_dynamodb(world *around, stream_ports *ports, kedge_error *error)
{
    (void)around; /* its clock stands still, which no signature survives */
    kedge_status status = dynamodb_table_make(&table, error);
    if (status != KEDGE_OK) return status;
    status = kedge_dynamodb_stream_enable(table.client, table.name, error);
    if (status == KEDGE_OK)
        status = kedge_dynamodb_stream_open(table.client, table.name, &ports->stream, error);
    if (status == KEDGE_OK)
        status = kedge_dynamodb_records_open(table.client, table.name, &ports->records, error);
    if (status != KEDGE_OK) dynamodb_table_end(&table);
    return status;
}

static void close_dynamodb(stream_ports *ports)
{
    ports->stream.vtable->close(ports->stream.self);
    ports->records.vtable->close(ports->records.self);
    dynamodb_table_end(&table);
}

const char *const stream_engine = "AWS_ENDPOINT_URL_DYNAMODB";

/* DynamoDB Local numbers the changes of all tables together. While others write, it refuses starts
 * of shards that it lists, with "TrimmedDataAccessException"; the service does not. */
const stream_implementation stream_implementations[] = {
    {"stream: DynamoDB", open_dynamodb, close_dynamodb, NULL, NULL, true},
    {0},
};
