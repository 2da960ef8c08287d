/* A table of a test's own in a real DynamoDB. */
#include "tests/support/dynamodb_table.h"

#include "backend/ports/records.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ITEMS_MAX   25 /* what DynamoDB takes */
#define EMPTY_BATCHES_MAX 6

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

/* A request whose response is JSON; NULL when it failed. Takes `body`. */
static cJSON *ask(dynamodb_table *table, const char *operation, cJSON *body)
{
    cJSON *answer = NULL;
    kedge_aws_response response = {0};
    char *text = cJSON_PrintUnformatted(body);
    if (text != NULL && dynamodb_table_run(table, operation, text, &response, NULL) == KEDGE_OK)
        answer = cJSON_ParseWithLength(response.body.data, response.body.size);
    kedge_aws_response_free(&response);
    cJSON_free(text);
    cJSON_Delete(body);
    return answer;
}

/* The keys of the first items in the table. */
static cJSON *scan_keys(dynamodb_table *table)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "TableName", table->name);
    cJSON_AddBoolToObject(body, "ConsistentRead", true);
    cJSON_AddStringToObject(body, "ProjectionExpression",
                            KEDGE_RECORDS_PARTITION "," KEDGE_RECORDS_SORT);
    cJSON_AddNumberToObject(body, "Limit", BATCH_ITEMS_MAX);
    return ask(table, "Scan", body);
}

/* Takes the keys. */
static cJSON *remove_items(dynamodb_table *table, cJSON *keys)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *tables = cJSON_AddObjectToObject(body, "RequestItems");
    cJSON *requests = cJSON_AddArrayToObject(tables, table->name);
    while (cJSON_GetArraySize(keys) > 0) {
        cJSON *request = cJSON_CreateObject();
        cJSON_AddItemToArray(requests, request);
        cJSON *removal = cJSON_AddObjectToObject(request, "DeleteRequest");
        cJSON_AddItemToObject(removal, "Key", cJSON_DetachItemFromArray(keys, 0));
    }
    return ask(table, "BatchWriteItem", body);
}

/* One batch of it. How many there were; -1: that failed. */
static int remove_some(dynamodb_table *table)
{
    cJSON *scanned = scan_keys(table);
    cJSON *keys = cJSON_GetObjectItemCaseSensitive(scanned, "Items");
    int count = keys == NULL ? -1 : cJSON_GetArraySize(keys);
    if (count > 0) {
        cJSON *removed = remove_items(table, keys);
        const cJSON *left = cJSON_GetObjectItemCaseSensitive(removed, "UnprocessedItems");
        if (left == NULL || left->child != NULL) count = -1;
        cJSON_Delete(removed);
    }
    cJSON_Delete(scanned);
    return count;
}

bool dynamodb_table_empty(dynamodb_table *table)
{
    int removed = 1;
    for (int i = 0; removed > 0 && i < EMPTY_BATCHES_MAX; i++)
        removed = remove_some(table);
    return removed == 0;
}
