/* The records port on DynamoDB.
 *
 * One table: partition key `pk`, sort key `sk`, both strings; the sparse index `inverted` with the
 * partition key `inverted` and the sort key `pk`, all attributes projected. A record's other
 * attributes stand under their own names: text as S, binary as B, number as N. */
#ifndef KEDGE_BACKEND_AWS_DYNAMODB_H
#define KEDGE_BACKEND_AWS_DYNAMODB_H

#include "backend/aws/client.h"
#include "backend/ports/records.h"

/* `client` must outlive the port; `table` is copied. Does no request. */
kedge_status kedge_dynamodb_records_open(kedge_aws_client *client, const char *table,
                                         kedge_records *records, kedge_error *error);

/* What DynamoDB says it charged for the calls of a port: units of the table, and of its index. */
typedef struct kedge_dynamodb_usage {
    uint64_t reads;  /* requests that read */
    uint64_t writes; /* requests that write */
    double read_units;
    double write_units;
    double index_read_units;
    double index_write_units;
} kedge_dynamodb_usage;

/* From here on every request asks what it consumed, and the port counts. For tests and benches; no
 * call is running. */
void kedge_dynamodb_records_measure(const kedge_records *records);
void kedge_dynamodb_records_usage(const kedge_records *records, kedge_dynamodb_usage *usage);

/* Asks DynamoDB about the table. KEDGE_NOT_FOUND "aws-table-missing" (names region and table, and
 * how to make it), KEDGE_UNSUPPORTED "aws-table-schema" (names what is and what must be),
 * KEDGE_UNAVAILABLE while it is being made, and the failures of kedge_aws_call. */
kedge_status kedge_dynamodb_check(kedge_aws_client *client, const char *table, kedge_error *error);
/* Makes the table, on demand billing, and waits until it is active; one that is
 * there is checked. */
kedge_status kedge_dynamodb_create(kedge_aws_client *client, const char *table, kedge_error *error);

#endif
