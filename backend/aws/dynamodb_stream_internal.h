/* What the parts of the stream port on DynamoDB share. */
#ifndef KEDGE_BACKEND_AWS_DYNAMODB_STREAM_INTERNAL_H
#define KEDGE_BACKEND_AWS_DYNAMODB_STREAM_INTERNAL_H

#include "backend/aws/dynamodb_stream.h"
#include "backend/ports/stream_support.h"

#include <pthread.h>

#define KEDGE_DYNAMODB_ARN_SIZE            1025
#define KEDGE_DYNAMODB_POSITION_AT         "at-"
#define KEDGE_DYNAMODB_ITERATOR_SIZE       2049
#define KEDGE_DYNAMODB_ITERATORS_MAX       64 /* kept; the oldest one gives way */
#define KEDGE_DYNAMODB_ITERATOR_TRIES      3  /* of a read whose iterator has expired */
#define KEDGE_DYNAMODB_STREAM_RECORD_BYTES 1048576

/* An iterator that stands where the next read of this shard goes on. */
typedef struct kedge_dynamodb_iterator {
    char shard[KEDGE_STREAM_SHARD_BYTES_MAX + 1]; /* "": the place is free */
    char position[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    bool newest;
    char text[KEDGE_DYNAMODB_ITERATOR_SIZE];
} kedge_dynamodb_iterator;

typedef struct kedge_dynamodb_stream {
    kedge_aws_client *client;
    const kedge_allocator *allocator;
    char *table; /* for messages */
    char arn[KEDGE_DYNAMODB_ARN_SIZE];
    pthread_mutex_t mutex;
    size_t place; /* of the next iterator that is kept */
    kedge_dynamodb_iterator iterators[KEDGE_DYNAMODB_ITERATORS_MAX];
} kedge_dynamodb_stream;

/* The stream that is on, as kedge_dynamodb_stream_open tells. */
kedge_status kedge_dynamodb_stream_find(kedge_aws_client *client, const char *table,
                                        char arn[KEDGE_DYNAMODB_ARN_SIZE], kedge_error *error);

/* One request to DynamoDB Streams; ends the object and frees the body. A shard that is no more, and
 * data that is trimmed, are KEDGE_NOT_FOUND; an iterator that has expired is KEDGE_CONFLICT. */
kedge_status kedge_dynamodb_stream_run(kedge_dynamodb_stream *self, const char *operation,
                                       const char *action, kedge_json_writer *writer,
                                       const char *shard, kedge_bytes position,
                                       kedge_aws_response *response, kedge_error *error);

/* Adds the changes of a response's Records. */
kedge_status kedge_dynamodb_stream_records(kedge_bytes response, const kedge_stream_query *query,
                                           kedge_stream_page *page, kedge_error *error);

kedge_status kedge_dynamodb_stream_shards(void *self, kedge_bytes after, uint32_t limit,
                                          kedge_stream_shards *shards, kedge_error *error);
kedge_status kedge_dynamodb_stream_read(void *self, const kedge_stream_query *query,
                                        kedge_stream_batch *batch, kedge_error *error);

#endif
