/* Batches on DynamoDB, which answers at most 16 MB at once and may leave out more: what it names as
 * unprocessed is asked for again, at once when something came, else after a pause. */
#include "backend/aws/backoff.h"
#include "backend/aws/dynamodb_internal.h"
#include "common/error.h"

typedef struct batch {
    kedge_dynamodb *self;
    const kedge_record_key *keys;
    size_t count;
    bool consistent;
    bool seen[KEDGE_BATCH_GET_KEYS_MAX];
    kedge_record_page page;
    kedge_buffer wanted; /* keys, a JSON array; empty: all came */
} batch;

static void write_wanted(batch *work)
{
    kedge_json_writer writer = kedge_json_write(&work->wanted);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < work->count; i++)
        kedge_dynamodb_write_key(&writer, &work->keys[i]);
    kedge_json_end_array(&writer);
}

/* The key was asked for, and its record did not come before. */
static bool expected(batch *work, const kedge_record_key *key)
{
    for (size_t i = 0; i < work->count; i++) {
        if (work->seen[i] || !kedge_bytes_equal(work->keys[i].sort, key->sort) ||
            !kedge_bytes_equal(work->keys[i].partition, key->partition))
            continue;
        work->seen[i] = true;
        return true;
    }
    return false;
}

static kedge_status read_items(batch *work, kedge_bytes response, kedge_error *error)
{
    kedge_bytes responses, items, item;
    if (!kedge_json_member(response, "Responses", &responses) ||
        kedge_json_type_of(responses) != KEDGE_JSON_OBJECT)
        return kedge_dynamodb_fail_response("it has no Responses", error);
    if (!kedge_json_member(responses, work->self->table, &items)) return KEDGE_OK;
    kedge_json_iterator list = kedge_json_iterate(items);
    while (kedge_json_next_element(&list, &item)) {
        kedge_status status = kedge_dynamodb_read_item(item, &work->page, error);
        if (status != KEDGE_OK) return status;
        if (!expected(work, &work->page.records[work->page.count - 1].key))
            return kedge_dynamodb_fail_response("it holds another record", error);
    }
    return list.failed ? kedge_dynamodb_fail_response("it has no list of items", error) : KEDGE_OK;
}

static kedge_status keep_unprocessed(batch *work, kedge_bytes response, kedge_error *error)
{
    kedge_bytes unprocessed, of_table, keys;
    kedge_buffer_clear(&work->wanted);
    if (!kedge_json_member(response, "UnprocessedKeys", &unprocessed)) return KEDGE_OK;
    if (!kedge_json_member(unprocessed, work->self->table, &of_table)) return KEDGE_OK;
    if (!kedge_json_member(of_table, "Keys", &keys) || kedge_json_type_of(keys) != KEDGE_JSON_ARRAY)
        return kedge_dynamodb_fail_response("its UnprocessedKeys hold no keys", error);
    kedge_buffer_append_bytes(&work->wanted, keys);
    return kedge_buffer_status(&work->wanted, error);
}

static void write_request(batch *work, kedge_json_writer *writer)
{
    kedge_json_key(writer, "RequestItems");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, work->self->table);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "ConsistentRead");
    kedge_json_boolean(writer, work->consistent);
    kedge_json_key(writer, "Keys");
    kedge_json_raw(writer, kedge_buffer_bytes(&work->wanted));
    kedge_json_end_object(writer);
    kedge_json_end_object(writer);
}

static kedge_status ask(batch *work, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(work->self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    write_request(work, &writer);
    kedge_dynamodb_request request = {.operation = "BatchGetItem",
                                      .action = "dynamodb:BatchGetItem",
                                      .response_bytes_max = kedge_dynamodb_response_max(
                                          KEDGE_DYNAMODB_BATCH_BYTES_MAX, work->count)};
    kedge_status status = kedge_dynamodb_run(work->self, request, &writer, &response, error);
    kedge_bytes answered = kedge_buffer_bytes(&response.body);
    if (status == KEDGE_OK) status = read_items(work, answered, error);
    if (status == KEDGE_OK) status = keep_unprocessed(work, answered, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status ask_until_all(batch *work, kedge_error *error)
{
    for (uint32_t tries = 0; tries < KEDGE_DYNAMODB_TRIES_MAX;) {
        size_t before = work->page.count;
        kedge_status status = ask(work, error);
        if (status != KEDGE_OK || work->wanted.size == 0) return status;
        if (work->page.count > before)
            tries = 0;
        else
            kedge_aws_pause(kedge_aws_client_environment(work->self->client), ++tries);
    }
    return kedge_fail(error, KEDGE_BUSY, "aws-throttled",
                      "DynamoDB left keys of a batch on the table %s unprocessed %d times",
                      work->self->table, KEDGE_DYNAMODB_TRIES_MAX);
}

kedge_status kedge_dynamodb_batch_get(void *context, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error)
{
    kedge_dynamodb *self = context;
    kedge_status status = kedge_records_batch_check(keys, count, error);
    if (status != KEDGE_OK) return status;
    batch work = {.self = self,
                  .keys = keys,
                  .count = count,
                  .consistent = consistent,
                  .page = {.allocator = self->allocator},
                  .wanted = kedge_buffer_make(self->allocator)};
    write_wanted(&work);
    status = kedge_buffer_status(&work.wanted, error);
    if (status == KEDGE_OK && count > 0) status = ask_until_all(&work, error);
    if (status == KEDGE_OK) kedge_record_page_finish(&work.page, false, set);
    kedge_record_page_free(&work.page);
    kedge_buffer_free(&work.wanted);
    return status;
}
