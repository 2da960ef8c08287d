/* What the parts of the records port on DynamoDB share: requests as JSON, responses, refusals. */
#ifndef KEDGE_BACKEND_AWS_DYNAMODB_INTERNAL_H
#define KEDGE_BACKEND_AWS_DYNAMODB_INTERNAL_H

#include "backend/aws/dynamodb.h"
#include "backend/ports/records_support.h"
#include "common/json.h"

#include <kedge/limits.h>

#include <pthread.h>

/* How often a request is sent that DynamoDB refuses only for now (transactions that meet, keys of a
 * batch that it left out), beside the tries of kedge_aws_call. */
#define KEDGE_DYNAMODB_TRIES_MAX 8
/* DynamoDB's own bounds of what it answers at once. */
#define KEDGE_DYNAMODB_PAGE_BYTES_MAX  1048576
#define KEDGE_DYNAMODB_BATCH_BYTES_MAX 16777216
#define KEDGE_DYNAMODB_INDEX           "inverted"
#define KEDGE_DYNAMODB_CREATE_MS       120000 /* until a new table is there */

typedef struct kedge_dynamodb {
    kedge_aws_client *client;
    const kedge_allocator *allocator;
    char *table;
    pthread_mutex_t usage_lock;
    bool measured;
    kedge_dynamodb_usage usage;
} kedge_dynamodb;

/* ---- sending (dynamodb_send.c) ---- */

typedef struct kedge_dynamodb_request {
    const char *operation; /* "PutItem" */
    const char *action;    /* IAM names, static storage */
    kedge_bytes body;
    size_t response_bytes_max;
    bool writes;  /* an outcome that is unknown matters */
    bool streams; /* it goes to DynamoDB Streams */
} kedge_dynamodb_request;

/* The bytes of JSON that DynamoDB may need for `bytes` of records, of `count` of them. */
size_t kedge_dynamodb_response_max(size_t bytes, size_t count);

/* Sends until DynamoDB answers for good, frees what `response` held. KEDGE_OK: the body is a
 * checked JSON object. Other statuses are those of the port, `response` holds the last response; a
 * missing table is KEDGE_IO, since KEDGE_NOT_FOUND speaks of records. */
kedge_status kedge_dynamodb_send(kedge_aws_client *client, const char *table,
                                 const kedge_dynamodb_request *request,
                                 kedge_aws_response *response, kedge_error *error);

/* One request of the port, whose body ends with the member that asks for its consumption. Frees the
 * body. */
kedge_status kedge_dynamodb_run(kedge_dynamodb *self, kedge_dynamodb_request request,
                                kedge_json_writer *writer, kedge_aws_response *response,
                                kedge_error *error);

/* ---- the table (dynamodb_table.c) ---- */

/* One request about a table; frees the body. */
kedge_status kedge_dynamodb_table_run(kedge_aws_client *client, const char *table,
                                      const char *operation, const char *action, kedge_buffer *body,
                                      kedge_aws_response *response, kedge_error *error);
/* DescribeTable. KEDGE_NOT_FOUND "aws-table-missing". */
kedge_status kedge_dynamodb_describe(kedge_aws_client *client, const char *table,
                                     kedge_aws_response *response, kedge_error *error);

/* ---- refusals (dynamodb_refusal.c) ---- */

/* What a 4xx of DynamoDB means. */
typedef struct kedge_dynamodb_refusal {
    kedge_status status; /* of the port */
    const char *code;
    bool again; /* for now only: send it again */
} kedge_dynamodb_refusal;

kedge_dynamodb_refusal kedge_dynamodb_refusal_of(const kedge_aws_response *response);

/* ---- writing JSON (dynamodb_encode.c) ---- */

void kedge_dynamodb_write_text(kedge_json_writer *writer, kedge_bytes text); /* {"S":…} */
void kedge_dynamodb_write_key(kedge_json_writer *writer, const kedge_record_key *key);
void kedge_dynamodb_write_item(kedge_json_writer *writer, const kedge_record *record);
/* The members of one put, delete or check: TableName, Item or Key, and the condition's. */
void kedge_dynamodb_write_members(kedge_json_writer *writer, const char *table,
                                  const kedge_record_write *write);

/* ---- reading JSON (dynamodb_decode.c) ---- */

/* Adds one item of a response. KEDGE_CORRUPT: it holds what the port never wrote;
 * KEDGE_UNAVAILABLE: it is not an item at all. */
kedge_status kedge_dynamodb_read_item(kedge_bytes item, kedge_record_page *page,
                                      kedge_error *error);
kedge_status kedge_dynamodb_fail_response(const char *what, kedge_error *error);

/* ---- capacity (dynamodb_usage.c) ---- */

/* Writes the member that asks for consumed capacity, when it is measured. */
void kedge_dynamodb_write_usage(kedge_dynamodb *self, kedge_json_writer *writer);
/* Counts a response's. */
void kedge_dynamodb_count_usage(kedge_dynamodb *self, bool writes,
                                const kedge_aws_response *response);

/* ---- the port's calls ---- */

kedge_status kedge_dynamodb_query(void *self, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error);
kedge_status kedge_dynamodb_batch_get(void *self, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error);
kedge_status kedge_dynamodb_put_many(void *self, const kedge_record_write *writes, size_t count,
                                     kedge_error *error);
kedge_status kedge_dynamodb_transact(void *self, const kedge_record_write *writes, size_t count,
                                     kedge_error *error);

#endif
