/* A table of a test's own in a real DynamoDB. */
#include "tests/support/dynamodb_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_status make_client(dynamodb_table *table, kedge_error *error)
{
    char region[64] = "us-east-1";
    const kedge_aws_credentials_options credentials = {.environment = &table->environment};
    kedge_status status =
        kedge_aws_credentials_provider_new(&credentials, &table->credentials, error);
    if (status != KEDGE_OK) return status;
    (void)kedge_aws_region_find(&credentials, region, NULL);
    const kedge_aws_client_options options = {
        .environment = &table->environment,
        .credentials = table->credentials,
        .region = region,
        .endpoints = {[KEDGE_AWS_DYNAMODB] = getenv("AWS_ENDPOINT_URL_DYNAMODB"),
                      /* DynamoDB Local is both. */
                      [KEDGE_AWS_STREAMS] = getenv("AWS_ENDPOINT_URL_DYNAMODB")}};
    return kedge_aws_client_new(&options, &table->client, error);
}

kedge_status dynamodb_table_make(dynamodb_table *table, kedge_error *error)
{
    char random[17];
    memset(table, 0, sizeof *table);
    table->environment = kedge_environment_system(NULL);
    kedge_random_hex(&table->environment, 8, random);
    snprintf(table->name, sizeof table->name, "kedge-test-%s", random);
    kedge_status status = make_client(table, error);
    if (status == KEDGE_OK) status = kedge_dynamodb_create(table->client, table->name, error);
    table->made = status == KEDGE_OK;
    if (status != KEDGE_OK) dynamodb_table_end(table);
    return status;
}

kedge_status dynamodb_table_run(dynamodb_table *table, const char *operation, const char *body,
                                kedge_aws_response *response, kedge_error *error)
{
    char target[64];
    snprintf(target, sizeof target, "DynamoDB_20120810.%s", operation);
    const kedge_http_header headers[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                         {"X-Amz-Target", target}};
    const kedge_aws_request request = {.service = KEDGE_AWS_DYNAMODB,
                                       .action = "dynamodb:test",
                                       .method = "POST",
                                       .path = KEDGE_BYTES("/"),
                                       .headers = headers,
                                       .header_count = 2,
                                       .body = kedge_bytes_of(body),
                                       .response_bytes_max = 1048576};
    return kedge_aws_call(table->client, &request, response, error);
}

void dynamodb_table_end(dynamodb_table *table)
{
    char body[128];
    kedge_aws_response response = {0};
    if (table->made) {
        snprintf(body, sizeof body, "{\"TableName\":\"%s\"}", table->name);
        dynamodb_table_run(table, "DeleteTable", body, &response, NULL);
        kedge_aws_response_free(&response);
    }
    kedge_aws_client_free(table->client);
    kedge_aws_credentials_provider_free(table->credentials);
    memset(table, 0, sizeof *table);
}
