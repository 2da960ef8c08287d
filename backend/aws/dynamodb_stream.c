/* The stream port on DynamoDB: opening, and the list of shards. */
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream_internal.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* ---- shards ---- */

/* The fields of one shard; false: it is none. */
typedef struct shard_fields {
    char id[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char parent[KEDGE_STREAM_SHARD_BYTES_MAX + 1];
    char start[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    bool closed;
} shard_fields;

static bool read_shard(kedge_bytes shard, shard_fields *fields)
{
    kedge_bytes range, ending;
    char first[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    memset(fields, 0, sizeof *fields);
    if (!kedge_json_member_chars(shard, "ShardId", fields->id, sizeof fields->id) ||
        !kedge_json_member(shard, "SequenceNumberRange", &range) ||
        !kedge_json_member_chars(range, "StartingSequenceNumber", first, sizeof first))
        return false;
    kedge_json_member_chars(shard, "ParentShardId", fields->parent, sizeof fields->parent);
    fields->closed = kedge_json_member(range, "EndingSequenceNumber", &ending);
    int size =
        snprintf(fields->start, sizeof fields->start, KEDGE_DYNAMODB_POSITION_AT "%s", first);
    return fields->id[0] != '\0' && size > 0 && (size_t)size < sizeof fields->start;
}

static kedge_status read_shards(kedge_bytes response, uint32_t limit, kedge_shard_page *page,
                                bool *more, kedge_error *error)
{
    kedge_bytes description, list, shard, last;
    if (!kedge_json_member(response, "StreamDescription", &description) ||
        !kedge_json_member(description, "Shards", &list))
        return kedge_dynamodb_fail_response("it has no Shards", error);
    kedge_json_iterator each = kedge_json_iterate(list);
    while (kedge_json_next_element(&each, &shard)) {
        shard_fields fields;
        if (page->count == limit)
            return kedge_dynamodb_fail_response("it has more shards than were asked for", error);
        if (!read_shard(shard, &fields))
            return kedge_dynamodb_fail_response("it has a shard without id and range", error);
        kedge_stream_shard shown = {fields.id, fields.parent, fields.start, fields.closed};
        kedge_status status = kedge_shard_page_add(page, &shown, error);
        if (status != KEDGE_OK) return status;
    }
    if (each.failed) return kedge_dynamodb_fail_response("it has no list of shards", error);
    *more = page->count > 0 && kedge_json_member(description, "LastEvaluatedShardId", &last) &&
            kedge_json_type_of(last) == KEDGE_JSON_STRING;
    return KEDGE_OK;
}

kedge_status kedge_dynamodb_stream_shards(void *context, kedge_bytes after, uint32_t limit,
                                          kedge_stream_shards *shards, kedge_error *error)
{
    kedge_dynamodb_stream *self = context;
    kedge_shard_page page = {.allocator = self->allocator};
    kedge_aws_response response = {0};
    bool more = false;
    kedge_status status = kedge_stream_shards_check(after, limit, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "StreamArn");
    kedge_json_chars(&writer, self->arn);
    kedge_json_key(&writer, "Limit");
    kedge_json_integer(&writer, limit);
    if (after.size > 0) {
        kedge_json_key(&writer, "ExclusiveStartShardId");
        kedge_json_text(&writer, after);
    }
    status = kedge_dynamodb_stream_run(self, "DescribeStream", "dynamodb:DescribeStream", &writer,
                                       NULL, (kedge_bytes){0}, &response, error);
    if (status == KEDGE_OK)
        status = read_shards(kedge_buffer_bytes(&response.body), limit, &page, &more, error);
    if (status == KEDGE_OK) status = kedge_shard_page_finish(&page, more, shards, error);
    kedge_shard_page_free(&page);
    kedge_aws_response_free(&response);
    return status;
}

/* ---- opening ---- */

static void stream_close(void *context)
{
    kedge_dynamodb_stream *self = context;
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->allocator, self->table);
    kedge_release(self->allocator, self);
}

static const kedge_stream_vtable vtable = {.shards = kedge_dynamodb_stream_shards,
                                           .read = kedge_dynamodb_stream_read,
                                           .close = stream_close};

kedge_status kedge_dynamodb_stream_open(kedge_aws_client *client, const char *table,
                                        kedge_stream *stream, kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(client)->allocator;
    kedge_dynamodb_stream *self = kedge_allocate(allocator, sizeof *self);
    char *table_copy = kedge_copy_text(allocator, kedge_bytes_of(table));
    kedge_status status = KEDGE_OK;
    if (self == NULL || table_copy == NULL) status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK) status = kedge_dynamodb_stream_find(client, table, self->arn, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, table_copy);
        kedge_release(allocator, self);
        return status;
    }
    self->client = client;
    self->allocator = allocator;
    self->table = table_copy;
    pthread_mutex_init(&self->mutex, NULL);
    *stream = (kedge_stream){&vtable, self};
    return KEDGE_OK;
}
