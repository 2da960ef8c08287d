/* Reading one shard of a DynamoDB stream: an iterator, then its records. */
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream_internal.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* ---- the iterators that are kept ---- */

static bool stands_there(const kedge_dynamodb_iterator *kept, const char *shard,
                         kedge_bytes position, bool newest)
{
    return strcmp(kept->shard, shard) == 0 && kept->newest == newest &&
           kedge_bytes_equal_text(position, kept->position);
}

/* Moves the iterator out, so that it is used once. */
static bool take_iterator(kedge_dynamodb_stream *self, const kedge_stream_query *query,
                          char text[KEDGE_DYNAMODB_ITERATOR_SIZE])
{
    bool found = false;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < KEDGE_DYNAMODB_ITERATORS_MAX && !found; i++) {
        kedge_dynamodb_iterator *kept = &self->iterators[i];
        found = stands_there(kept, query->shard, query->position, query->newest);
        if (!found) continue;
        memcpy(text, kept->text, sizeof kept->text);
        kept->shard[0] = '\0';
    }
    pthread_mutex_unlock(&self->mutex);
    return found;
}

static void keep_iterator(kedge_dynamodb_stream *self, const kedge_stream_query *query,
                          const char *position, const char *text)
{
    bool newest = query->newest && position[0] == '\0';
    pthread_mutex_lock(&self->mutex);
    kedge_dynamodb_iterator *kept = &self->iterators[self->place++ % KEDGE_DYNAMODB_ITERATORS_MAX];
    snprintf(kept->shard, sizeof kept->shard, "%s", query->shard);
    snprintf(kept->position, sizeof kept->position, "%s", position);
    snprintf(kept->text, sizeof kept->text, "%s", text);
    kept->newest = newest;
    pthread_mutex_unlock(&self->mutex);
}

/* ---- a new iterator ---- */

/* What a position says, as the service's request wants it. */
typedef struct place {
    const char *type; /* ShardIteratorType */
    kedge_bytes sequence;
} place;

static bool read_position(const kedge_stream_query *query, place *found)
{
    kedge_bytes at = KEDGE_BYTES(KEDGE_DYNAMODB_POSITION_AT), sequence = query->position;
    *found = (place){.type = query->newest ? "LATEST" : "TRIM_HORIZON"};
    if (sequence.size == 0) return true;
    bool before = kedge_bytes_start_with(sequence, at);
    if (before) sequence = (kedge_bytes){sequence.data + at.size, sequence.size - at.size};
    *found = (place){before ? "AT_SEQUENCE_NUMBER" : "AFTER_SEQUENCE_NUMBER", sequence};
    for (size_t i = 0; i < sequence.size; i++) {
        if (sequence.data[i] < '0' || sequence.data[i] > '9') return false;
    }
    return sequence.size > 0;
}

static kedge_status ask_for_iterator(kedge_dynamodb_stream *self, const kedge_stream_query *query,
                                     char text[KEDGE_DYNAMODB_ITERATOR_SIZE], kedge_error *error)
{
    place wanted;
    kedge_aws_response response = {0};
    if (!read_position(query, &wanted))
        return kedge_stream_invalid_position(query->position, error);
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "StreamArn");
    kedge_json_chars(&writer, self->arn);
    kedge_json_key(&writer, "ShardId");
    kedge_json_chars(&writer, query->shard);
    kedge_json_key(&writer, "ShardIteratorType");
    kedge_json_chars(&writer, wanted.type);
    if (wanted.sequence.size > 0) {
        kedge_json_key(&writer, "SequenceNumber");
        kedge_json_text(&writer, wanted.sequence);
    }
    kedge_status status =
        kedge_dynamodb_stream_run(self, "GetShardIterator", "dynamodb:GetShardIterator", &writer,
                                  query->shard, query->position, &response, error);
    if (status == KEDGE_OK &&
        !kedge_json_member_chars(kedge_buffer_bytes(&response.body), "ShardIterator", text,
                                 KEDGE_DYNAMODB_ITERATOR_SIZE))
        status = kedge_dynamodb_fail_response("it has no ShardIterator", error);
    kedge_aws_response_free(&response);
    return status;
}

/* ---- the records ---- */

/* `text` comes in as the iterator to read with, and goes out as the next one; "": the shard is
 * closed, and was read to its end. */
static kedge_status ask_for_records(kedge_dynamodb_stream *self, const kedge_stream_query *query,
                                    char text[KEDGE_DYNAMODB_ITERATOR_SIZE],
                                    kedge_stream_page *page, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "ShardIterator");
    kedge_json_chars(&writer, text);
    kedge_json_key(&writer, "Limit");
    kedge_json_integer(&writer, query->limit);
    kedge_status status =
        kedge_dynamodb_stream_run(self, "GetRecords", "dynamodb:GetRecords", &writer, query->shard,
                                  query->position, &response, error);
    kedge_bytes answered = kedge_buffer_bytes(&response.body), next;
    if (status == KEDGE_OK) status = kedge_dynamodb_stream_records(answered, query, page, error);
    text[0] = '\0';
    if (status == KEDGE_OK && kedge_json_member(answered, "NextShardIterator", &next) &&
        kedge_json_type_of(next) != KEDGE_JSON_NULL &&
        !kedge_json_to_chars(next, text, KEDGE_DYNAMODB_ITERATOR_SIZE))
        status = kedge_dynamodb_fail_response("its NextShardIterator is no iterator", error);
    kedge_aws_response_free(&response);
    return status;
}

kedge_status kedge_dynamodb_stream_read(void *context, const kedge_stream_query *query,
                                        kedge_stream_batch *batch, kedge_error *error)
{
    kedge_dynamodb_stream *self = context;
    char text[KEDGE_DYNAMODB_ITERATOR_SIZE];
    kedge_stream_page page = {.records = {.allocator = self->allocator}};
    kedge_status status = kedge_stream_query_check(query, error);
    if (status != KEDGE_OK) return status;
    bool kept = take_iterator(self, query, text);
    kedge_error cause = {0};
    for (uint32_t tries = 0; tries < KEDGE_DYNAMODB_ITERATOR_TRIES; tries++) {
        status = kept ? KEDGE_OK : ask_for_iterator(self, query, text, &cause);
        if (status == KEDGE_OK) status = ask_for_records(self, query, text, &page, &cause);
        if (status != KEDGE_CONFLICT) break;
        kept = false;
    }
    /* Only an iterator that expires again and again ends as a conflict. */
    if (status == KEDGE_CONFLICT) status = cause.status = KEDGE_UNAVAILABLE;
    if (status != KEDGE_OK && error != NULL) *error = cause;
    if (status == KEDGE_OK && text[0] != '\0') {
        char position[KEDGE_STREAM_POSITION_BYTES_MAX + 1] = "";
        memcpy(position, query->position.data == NULL ? "" : query->position.data,
               query->position.size);
        keep_iterator(self, query, page.next[0] == '\0' ? position : page.next, text);
    }
    if (status == KEDGE_OK)
        status = kedge_stream_page_finish(&page, query, text[0] == '\0', batch, error);
    kedge_stream_page_free(&page);
    return status;
}
