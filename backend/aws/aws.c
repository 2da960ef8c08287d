/* Opening the ports on AWS: who asks, in which region, at which endpoints; then one request to each
 * store, so that a mistake shows at the start and by its name. */
#include "backend/aws/aws.h"

#include "backend/aws/dynamodb.h"
#include "backend/aws/dynamodb_stream.h"
#include "backend/aws/s3.h"
#include "backend/aws/sqs.h"
#include "common/error.h"
#include "common/hash.h"

#include <stdlib.h>

struct kedge_aws {
    const kedge_allocator *allocator;
    kedge_aws_credentials_provider *credentials;
    kedge_aws_client *client;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    kedge_queue snapshots;
    kedge_stream stream;
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static const char *endpoint(const char *name)
{
    const char *own = variable(name);
    return own == NULL ? variable("AWS_ENDPOINT_URL") : own;
}

/* DynamoDB Local serves the streams, too. */
static const char *streams_endpoint(void)
{
    const char *own = endpoint("AWS_ENDPOINT_URL_DYNAMODB_STREAMS");
    return own == NULL ? endpoint("AWS_ENDPOINT_URL_DYNAMODB") : own;
}

static kedge_status check_credentials(kedge_aws *aws, kedge_error *error)
{
    kedge_aws_credentials credentials;
    kedge_status status = kedge_aws_credentials_get(aws->credentials, &credentials, error);
    kedge_cleanse(&credentials, sizeof credentials);
    return status;
}

static kedge_status open_client(const kedge_aws_options *options, kedge_aws *aws,
                                kedge_error *error)
{
    char region[KEDGE_AWS_REGION_SIZE];
    const kedge_aws_credentials_options who = {.environment = options->environment,
                                               .profile = options->profile};
    const kedge_aws_client_options client = {
        .environment = options->environment,
        .credentials = aws->credentials,
        .region = options->region == NULL ? region : options->region,
        .endpoints = {[KEDGE_AWS_DYNAMODB] = endpoint("AWS_ENDPOINT_URL_DYNAMODB"),
                      [KEDGE_AWS_S3] = endpoint("AWS_ENDPOINT_URL_S3"),
                      [KEDGE_AWS_SQS] = endpoint("AWS_ENDPOINT_URL_SQS"),
                      [KEDGE_AWS_STREAMS] = streams_endpoint()},
        .observe = options->observe,
        .observe_context = options->observe_context,
    };
    kedge_status status =
        options->region == NULL ? kedge_aws_region_find(&who, region, error) : KEDGE_OK;
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-region-missing",
                          "no AWS region is named: give --region, set AWS_REGION, or write it into "
                          "the profile");
    }
    return status == KEDGE_OK ? kedge_aws_client_new(&client, &aws->client, error) : status;
}

/* ---- the stores ---- */

static kedge_status open_records(const kedge_aws_options *options, kedge_aws *aws,
                                 kedge_error *error)
{
    kedge_status status = options->create
                              ? kedge_dynamodb_create(aws->client, options->table, error)
                              : kedge_dynamodb_check(aws->client, options->table, error);
    if (status != KEDGE_OK) return status;
    return kedge_dynamodb_records_open(aws->client, options->table, &aws->records, error);
}

static kedge_status open_blobs(const kedge_aws_options *options, kedge_aws *aws, kedge_error *error)
{
    const kedge_s3_options s3 = {.client = aws->client,
                                 .bucket = options->bucket,
                                 .path_style = endpoint("AWS_ENDPOINT_URL_S3") != NULL};
    kedge_status status = options->create ? kedge_s3_create(&s3, error) : KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_s3_check(&s3, error);
    if (status == KEDGE_OK) status = kedge_s3_blobs_open(&s3, &aws->blobs, error);
    return status;
}

static kedge_status open_queue(const kedge_aws_options *options, const kedge_aws *aws,
                               const char *name, kedge_queue *queue, kedge_error *error)
{
    const kedge_sqs_options sqs = {.client = aws->client, .queue = name};
    if (name == NULL) return KEDGE_OK;
    kedge_status status =
        options->create ? kedge_sqs_create(&sqs, KEDGE_QUEUE_DELIVERIES, error) : KEDGE_OK;
    if (status == KEDGE_OK) status = kedge_sqs_queue_open(&sqs, queue, error);
    return status;
}

static kedge_status open_stream(const kedge_aws_options *options, kedge_aws *aws,
                                kedge_error *error)
{
    if (!options->stream) return KEDGE_OK;
    kedge_status status = options->create
                              ? kedge_dynamodb_stream_enable(aws->client, options->table, error)
                              : KEDGE_OK;
    if (status != KEDGE_OK) return status;
    return kedge_dynamodb_stream_open(aws->client, options->table, &aws->stream, error);
}

/* ---- opening and closing ---- */

kedge_status kedge_aws_open(const kedge_aws_options *options, kedge_aws **aws, kedge_error *error)
{
    const kedge_aws_credentials_options who = {.environment = options->environment,
                                               .profile = options->profile};
    kedge_aws *made = kedge_allocate(options->environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = options->environment->allocator;
    kedge_status status = kedge_aws_credentials_provider_new(&who, &made->credentials, error);
    if (status == KEDGE_OK) status = open_client(options, made, error);
    if (status == KEDGE_OK) status = check_credentials(made, error);
    if (status == KEDGE_OK) status = open_records(options, made, error);
    if (status == KEDGE_OK) status = open_blobs(options, made, error);
    if (status == KEDGE_OK) status = open_queue(options, made, options->queue, &made->queue, error);
    if (status == KEDGE_OK)
        status = open_queue(options, made, options->snapshots, &made->snapshots, error);
    if (status == KEDGE_OK) status = open_stream(options, made, error);
    if (status != KEDGE_OK) {
        kedge_aws_close(made);
        return status;
    }
    *aws = made;
    return KEDGE_OK;
}

void kedge_aws_close(kedge_aws *aws)
{
    if (aws == NULL) return;
    if (aws->stream.vtable != NULL) aws->stream.vtable->close(aws->stream.self);
    if (aws->snapshots.vtable != NULL) aws->snapshots.vtable->close(aws->snapshots.self);
    if (aws->queue.vtable != NULL) aws->queue.vtable->close(aws->queue.self);
    if (aws->blobs.vtable != NULL) aws->blobs.vtable->close(aws->blobs.self);
    if (aws->records.vtable != NULL) aws->records.vtable->close(aws->records.self);
    kedge_aws_client_free(aws->client);
    kedge_aws_credentials_provider_free(aws->credentials);
    kedge_release(aws->allocator, aws);
}

int64_t kedge_aws_skew_ms(const kedge_aws *aws)
{
    return kedge_aws_client_skew_ms(aws->client);
}

kedge_records kedge_aws_records(const kedge_aws *aws)
{
    return aws->records;
}

kedge_blobs kedge_aws_blobs(const kedge_aws *aws)
{
    return aws->blobs;
}

kedge_queue kedge_aws_queue(const kedge_aws *aws)
{
    return aws->queue;
}

uint32_t kedge_aws_deliveries(const kedge_aws *aws)
{
    return aws->queue.vtable == NULL ? 0 : kedge_sqs_receive_max(&aws->queue);
}

kedge_queue kedge_aws_snapshots(const kedge_aws *aws)
{
    return aws->snapshots;
}

kedge_stream kedge_aws_stream(const kedge_aws *aws)
{
    return aws->stream;
}
