/* A bucket of a test's own in a real S3. */
#include "tests/support/s3_bucket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kedge_status make_client(s3_bucket *bucket, kedge_error *error)
{
    char region[64] = "us-east-1";
    const kedge_aws_credentials_options credentials = {.environment = &bucket->environment};
    kedge_status status =
        kedge_aws_credentials_provider_new(&credentials, &bucket->credentials, error);
    if (status != KEDGE_OK) return status;
    (void)kedge_aws_region_find(&credentials, region, NULL);
    const kedge_aws_client_options options = {
        .environment = &bucket->environment,
        .credentials = bucket->credentials,
        .region = region,
        .endpoints = {[KEDGE_AWS_S3] = getenv("AWS_ENDPOINT_URL_S3")}};
    return kedge_aws_client_new(&options, &bucket->client, error);
}

kedge_status s3_bucket_make(s3_bucket *bucket, kedge_error *error)
{
    char random[17];
    memset(bucket, 0, sizeof *bucket);
    bucket->environment = kedge_environment_system(NULL);
    kedge_random_hex(&bucket->environment, 8, random);
    snprintf(bucket->name, sizeof bucket->name, "kedge-test-%s", random);
    kedge_status status = make_client(bucket, error);
    bucket->options =
        (kedge_s3_options){.client = bucket->client, .bucket = bucket->name, .path_style = true};
    if (status == KEDGE_OK) status = kedge_s3_create(&bucket->options, error);
    bucket->made = status == KEDGE_OK;
    if (status != KEDGE_OK) s3_bucket_end(bucket);
    return status;
}

kedge_status s3_bucket_run(s3_bucket *bucket, const char *method, const char *key, const char *part,
                           kedge_aws_response *response, kedge_error *error)
{
    const kedge_aws_parameter query[] = {{kedge_bytes_of(part), {"", 0}}};
    char path[1200];
    int size = snprintf(path, sizeof path, "/%s%s%s", bucket->name, key[0] == '\0' ? "" : "/", key);
    const kedge_aws_request request = {.service = KEDGE_AWS_S3,
                                       .action = "s3:test",
                                       .method = method,
                                       .path = {path, (size_t)size},
                                       .query = query,
                                       .query_count = part == NULL ? 0 : 1,
                                       .response_bytes_max = 1048576};
    return kedge_aws_call(bucket->client, &request, response, error);
}

/* Removes one page of objects; false when there was none, or when that failed. */
static bool remove_page(const kedge_blobs *blobs)
{
    kedge_blob_list list = {0};
    kedge_bytes none = {0};
    kedge_status status =
        blobs->vtable->list(blobs->self, none, none, KEDGE_BLOB_LIST_MAX, &list, NULL);
    bool any = status == KEDGE_OK && list.count > 0;
    for (size_t i = 0; i < list.count && status == KEDGE_OK; i++)
        status = blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[i].key), NULL);
    kedge_blob_list_free(&list);
    return any && status == KEDGE_OK;
}

static void delete_bucket(s3_bucket *bucket)
{
    kedge_blobs blobs;
    kedge_error error = {0};
    kedge_aws_response response = {0};
    if (kedge_s3_blobs_open(&bucket->options, &blobs, NULL) == KEDGE_OK) {
        while (remove_page(&blobs))
            continue;
        blobs.vtable->close(blobs.self);
    }
    if (s3_bucket_run(bucket, "DELETE", "", NULL, &response, &error) != KEDGE_OK)
        fprintf(stderr, "the bucket %s is left: %s\n", bucket->name, error.message);
    kedge_aws_response_free(&response);
}

void s3_bucket_end(s3_bucket *bucket)
{
    if (bucket->made) delete_bucket(bucket);
    kedge_aws_client_free(bucket->client);
    kedge_aws_credentials_provider_free(bucket->credentials);
    memset(bucket, 0, sizeof *bucket);
}
