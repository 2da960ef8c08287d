/* The ports of the backend on AWS, opened and checked together. */
#ifndef KEDGE_BACKEND_AWS_H
#define KEDGE_BACKEND_AWS_H

#include "backend/aws/client.h"
#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"

typedef struct kedge_aws kedge_aws;

/* Endpoints come from AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL_SQS,
 * AWS_ENDPOINT_URL_DYNAMODB_STREAMS, else AWS_ENDPOINT_URL; without them they are AWS's own.
 * Buckets of another endpoint than AWS's are addressed by path. */
typedef struct kedge_aws_options {
    const kedge_environment *environment; /* must outlive it */
    const char *table;
    const char *bucket;
    const char *queue;     /* a name that ends in ".fifo", or a URL; NULL: no queue */
    const char *snapshots; /* the queue of snapshots, likewise */
    bool stream;           /* open the stream of the table's changes; `create` turns it on */
    const char *region;    /* NULL: from the environment or the profile */
    const char *profile;   /* NULL: from the environment */
    bool create;           /* make what is missing: for private stacks */
    void (*observe)(void *context, const kedge_aws_observation *observation);
    void *observe_context;
} kedge_aws_options;

/* Checks credentials, clock, table, bucket, queues and stream. The error says which of them is
 * wrong, why, and what to do. */
kedge_status kedge_aws_open(const kedge_aws_options *options, kedge_aws **aws, kedge_error *error);
void kedge_aws_close(kedge_aws *aws); /* NULL is allowed */

/* How far AWS's clock is ahead of this machine's. A server warns of it at its start. */
int64_t kedge_aws_skew_ms(const kedge_aws *aws);

/* The ports are borrowed until kedge_aws_close. */
kedge_records kedge_aws_records(const kedge_aws *aws);
kedge_blobs kedge_aws_blobs(const kedge_aws *aws);
/* The vtable is NULL when the options did not ask for the port. */
kedge_queue kedge_aws_queue(const kedge_aws *aws);
kedge_queue kedge_aws_snapshots(const kedge_aws *aws);
/* How often the queue of pushes delivers a message before it is a dead letter; 0: there is none. */
uint32_t kedge_aws_deliveries(const kedge_aws *aws);
kedge_stream kedge_aws_stream(const kedge_aws *aws);

#endif
