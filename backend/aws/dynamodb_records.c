/* The records port on DynamoDB: single records, and the port's making and ending. */
#include "backend/aws/dynamodb_internal.h"
#include "common/error.h"

#include <string.h>

/* ---- reading ---- */

static kedge_status read_one(const kedge_record_key *key, const kedge_aws_response *response,
                             kedge_record_page *page, kedge_error *error)
{
    kedge_bytes item;
    if (!kedge_json_member(kedge_buffer_bytes(&response->body), "Item", &item))
        return kedge_fail(error, KEDGE_NOT_FOUND, "record-not-found",
                          "there is no record under the sort key %.*s", (int)key->sort.size,
                          key->sort.data);
    kedge_status status = kedge_dynamodb_read_item(item, page, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_bytes_equal(page->records[0].key.sort, key->sort) ||
        !kedge_bytes_equal(page->records[0].key.partition, key->partition))
        return kedge_dynamodb_fail_response("it holds another record", error);
    return KEDGE_OK;
}

static kedge_status records_get(void *context, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    kedge_dynamodb *self = context;
    kedge_record_page page = {.allocator = self->allocator};
    kedge_aws_response response = {0};
    kedge_status status = kedge_record_key_check(key, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "TableName");
    kedge_json_chars(&writer, self->table);
    kedge_json_key(&writer, "Key");
    kedge_dynamodb_write_key(&writer, key);
    kedge_json_key(&writer, "ConsistentRead");
    kedge_json_boolean(&writer, consistent);
    kedge_dynamodb_request request = {.operation = "GetItem",
                                      .action = "dynamodb:GetItem",
                                      .response_bytes_max =
                                          kedge_dynamodb_response_max(KEDGE_RECORD_BYTES_MAX, 1)};
    status = kedge_dynamodb_run(self, request, &writer, &response, error);
    if (status == KEDGE_OK) status = read_one(key, &response, &page, error);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, false, set);
    kedge_record_page_free(&page);
    kedge_aws_response_free(&response);
    return status;
}

/* ---- writing ---- */

static kedge_status records_write(void *context, const kedge_record_write *write,
                                  kedge_error *error)
{
    kedge_dynamodb *self = context;
    kedge_aws_response response = {0};
    kedge_status status = kedge_record_write_check(write, error);
    if (status != KEDGE_OK) return status;
    bool put = write->kind == KEDGE_WRITE_PUT;
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_dynamodb_write_members(&writer, self->table, write);
    kedge_dynamodb_request request = {.operation = put ? "PutItem" : "DeleteItem",
                                      .action = put ? "dynamodb:PutItem" : "dynamodb:DeleteItem",
                                      .response_bytes_max = kedge_dynamodb_response_max(0, 0),
                                      .writes = true};
    status = kedge_dynamodb_run(self, request, &writer, &response, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status records_transact(void *context, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    kedge_status status = kedge_records_transact_check(writes, count, error);
    if (status != KEDGE_OK || count == 0) return status;
    /* One write is atomic by itself, at half the price. */
    if (count == 1 && writes[0].kind != KEDGE_WRITE_CHECK)
        return records_write(context, writes, error);
    return kedge_dynamodb_transact(context, writes, count, error);
}

/* ---- opening ---- */

static void records_close(void *context)
{
    kedge_dynamodb *self = context;
    pthread_mutex_destroy(&self->usage_lock);
    kedge_release(self->allocator, self->table);
    kedge_release(self->allocator, self);
}

static const kedge_records_vtable vtable = {.get = records_get,
                                            .batch_get = kedge_dynamodb_batch_get,
                                            .query = kedge_dynamodb_query,
                                            .write = records_write,
                                            .transact = records_transact,
                                            .put_many = kedge_dynamodb_put_many,
                                            .close = records_close};

kedge_status kedge_dynamodb_records_open(kedge_aws_client *client, const char *table,
                                         kedge_records *records, kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(client)->allocator;
    kedge_dynamodb *self = kedge_allocate(allocator, sizeof *self);
    char *table_copy = kedge_copy_text(allocator, kedge_bytes_of(table));
    if (self == NULL || table_copy == NULL) {
        kedge_release(allocator, table_copy);
        kedge_release(allocator, self);
        return kedge_fail_no_memory(error);
    }
    self->client = client;
    self->allocator = allocator;
    self->table = table_copy;
    pthread_mutex_init(&self->usage_lock, NULL);
    *records = (kedge_records){&vtable, self};
    return KEDGE_OK;
}
