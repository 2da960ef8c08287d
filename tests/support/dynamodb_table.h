/* A table of a test's own in the DynamoDB that AWS_ENDPOINT_URL_DYNAMODB names. */
#ifndef KEDGE_TESTS_SUPPORT_DYNAMODB_TABLE_H
#define KEDGE_TESTS_SUPPORT_DYNAMODB_TABLE_H

#include "backend/aws/dynamodb.h"

typedef struct dynamodb_table {
    kedge_environment environment;
    kedge_aws_credentials_provider *credentials;
    kedge_aws_client *client;
    char name[64];
    bool made;
} dynamodb_table;

/* Makes a client, and a table under a random name, with the system's clock and randomness: the
 * signature and the tokens of transactions want the real ones. The struct must not move. */
kedge_status dynamodb_table_make(dynamodb_table *table, kedge_error *error);
/* Deletes the table and frees the client. Ports over it are closed. */
void dynamodb_table_end(dynamodb_table *table);

/* Removes what is in it, which costs much less than another table when it is little. False: it is
 * more than some batches, or that failed; some may be left. */
bool dynamodb_table_empty(dynamodb_table *table);

/* One request that the port does not have. */
kedge_status dynamodb_table_run(dynamodb_table *table, const char *operation, const char *body,
                                kedge_aws_response *response, kedge_error *error);

#endif
