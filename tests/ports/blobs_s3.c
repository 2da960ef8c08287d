/* The blobs port on a real S3, with a fresh bucket for each test: keys of 1,024 bytes leave no room
 * for a prefix. */
#include "tests/ports/blobs_table.h"

#include "tests/support/s3_bucket.h"

static s3_bucket bucket;

static kedge_status open_s3(world *around, kedge_blobs *blobs, kedge_error *error)
{
    (void)around; /* its clock stands still, which no signature survives */
    kedge_status status = s3_bucket_make(&bucket, error);
    if (status != KEDGE_OK) return status;
    status = kedge_s3_blobs_open(&bucket.options, blobs, error);
    if (status != KEDGE_OK) s3_bucket_end(&bucket);
    return status;
}

static void close_s3(kedge_blobs *blobs)
{
    blobs->vtable->close(blobs->self);
    s3_bucket_end(&bucket);
}

const char *const blobs_engine = "AWS_ENDPOINT_URL_S3";

const blobs_implementation blobs_implementations[] = {
    {"blobs: S3", open_s3, close_s3},
    {0},
};
