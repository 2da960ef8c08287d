/* Puts without conditions on DynamoDB, 25 at a time, at the price of single ones. What it names as
 * unprocessed is sent again after a pause. */
#include "backend/aws/backoff.h"
#include "backend/aws/dynamodb_internal.h"
#include "common/error.h"

static void write_puts(const kedge_record_write *writes, size_t count, kedge_buffer *puts)
{
    kedge_json_writer writer = kedge_json_write(puts);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < count; i++) {
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "PutRequest");
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "Item");
        kedge_dynamodb_write_item(&writer, &writes[i].record);
        kedge_json_end_object(&writer);
        kedge_json_end_object(&writer);
    }
    kedge_json_end_array(&writer);
}

/* `puts` become those that are left, or empty. */
static kedge_status keep_unprocessed(const kedge_dynamodb *self, kedge_bytes response,
                                     kedge_buffer *puts, kedge_error *error)
{
    kedge_bytes unprocessed, of_table;
    kedge_buffer_clear(puts);
    if (!kedge_json_member(response, "UnprocessedItems", &unprocessed)) return KEDGE_OK;
    if (!kedge_json_member(unprocessed, self->table, &of_table)) return KEDGE_OK;
    if (kedge_json_type_of(of_table) != KEDGE_JSON_ARRAY)
        return kedge_dynamodb_fail_response("its UnprocessedItems hold no list", error);
    kedge_buffer_append_bytes(puts, of_table);
    return kedge_buffer_status(puts, error);
}

static kedge_status put_once(kedge_dynamodb *self, size_t bytes, size_t count, kedge_buffer *puts,
                             kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "RequestItems");
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, self->table);
    kedge_json_raw(&writer, kedge_buffer_bytes(puts));
    kedge_json_end_object(&writer);
    /* What is unprocessed comes back whole. */
    kedge_dynamodb_request request = {.operation = "BatchWriteItem",
                                      .action = "dynamodb:BatchWriteItem",
                                      .response_bytes_max =
                                          kedge_dynamodb_response_max(bytes, count),
                                      .writes = true};
    kedge_status status = kedge_dynamodb_run(self, request, &writer, &response, error);
    if (status == KEDGE_OK)
        status = keep_unprocessed(self, kedge_buffer_bytes(&response.body), puts, error);
    kedge_aws_response_free(&response);
    return status;
}

kedge_status kedge_dynamodb_put_many(void *context, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    kedge_dynamodb *self = context;
    size_t bytes = 0;
    kedge_status status = kedge_records_put_many_check(writes, count, error);
    if (status != KEDGE_OK || count == 0) return status;
    for (size_t i = 0; i < count; i++)
        bytes += kedge_record_bytes(&writes[i].record);
    kedge_buffer puts = kedge_buffer_make(self->allocator);
    write_puts(writes, count, &puts);
    status = kedge_buffer_status(&puts, error);
    for (uint32_t tries = 0; status == KEDGE_OK && puts.size > 0; tries++) {
        if (tries > 0) kedge_aws_pause(kedge_aws_client_environment(self->client), tries);
        status = tries == KEDGE_DYNAMODB_TRIES_MAX
                     ? kedge_fail(error, KEDGE_BUSY, "aws-throttled",
                                  "DynamoDB left puts of a batch on the table %s unprocessed %d "
                                  "times",
                                  self->table, KEDGE_DYNAMODB_TRIES_MAX)
                     : put_once(self, bytes, count, &puts, error);
    }
    kedge_buffer_free(&puts);
    return status;
}
