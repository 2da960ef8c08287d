/* Transactions on DynamoDB. A token, fresh for each call of the port, makes the tries of
 * one call one transaction: DynamoDB answers a repeated one with the outcome of the
 * first, for 10 minutes. */
#include "backend/aws/dynamodb_internal.h"

static const char *const verbs[] = {[KEDGE_WRITE_PUT] = "Put",
                                    [KEDGE_WRITE_DELETE] = "Delete",
                                    [KEDGE_WRITE_CHECK] = "ConditionCheck"};

/* IAM has no name for a transaction, but for what is done in it. */
static const char *action_of(const kedge_record_write *writes, size_t count)
{
    static const char *const names[8] = {
        [1 << KEDGE_WRITE_PUT] = "dynamodb:PutItem",
        [1 << KEDGE_WRITE_DELETE] = "dynamodb:DeleteItem",
        [1 << KEDGE_WRITE_CHECK] = "dynamodb:ConditionCheckItem",
        [1 << KEDGE_WRITE_PUT | 1 << KEDGE_WRITE_DELETE] = "dynamodb:PutItem dynamodb:DeleteItem",
        [1 << KEDGE_WRITE_PUT | 1 << KEDGE_WRITE_CHECK] =
            "dynamodb:PutItem dynamodb:ConditionCheckItem",
        [1 << KEDGE_WRITE_DELETE | 1 << KEDGE_WRITE_CHECK] =
            "dynamodb:DeleteItem dynamodb:ConditionCheckItem",
        [7] = "dynamodb:PutItem dynamodb:DeleteItem dynamodb:ConditionCheckItem"};
    unsigned kinds = 0;
    for (size_t i = 0; i < count; i++)
        kinds |= 1u << writes[i].kind;
    return names[kinds];
}

static void write_items(const kedge_dynamodb *self, kedge_json_writer *writer,
                        const kedge_record_write *writes, size_t count)
{
    kedge_json_key(writer, "TransactItems");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        kedge_json_begin_object(writer);
        kedge_json_key(writer, verbs[writes[i].kind]);
        kedge_json_begin_object(writer);
        kedge_dynamodb_write_members(writer, self->table, &writes[i]);
        kedge_json_end_object(writer);
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
}

kedge_status kedge_dynamodb_transact(void *context, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    kedge_dynamodb *self = context;
    kedge_aws_response response = {0};
    char token[33];
    kedge_random_hex(kedge_aws_client_environment(self->client), 16, token);
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "ClientRequestToken");
    kedge_json_chars(&writer, token);
    write_items(self, &writer, writes, count);
    kedge_dynamodb_request request = {.operation = "TransactWriteItems",
                                      .action = action_of(writes, count),
                                      .response_bytes_max = kedge_dynamodb_response_max(0, count),
                                      .writes = true};
    kedge_status status = kedge_dynamodb_run(self, request, &writer, &response, error);
    kedge_aws_response_free(&response);
    return status;
}
