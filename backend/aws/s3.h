/* The blobs port on S3.
 *
 * put_if_absent is PutObject with If-None-Match: *; from KEDGE_S3_MULTIPART_BYTES on a multipart
 * upload whose completion has the condition. 409 (another conditional write runs) is tried again.
 * Tags are object tags. A port may stand under a prefix of its bucket. */
#ifndef KEDGE_BACKEND_AWS_S3_H
#define KEDGE_BACKEND_AWS_S3_H

#include "backend/aws/client.h"
#include "backend/ports/blobs.h"

#define KEDGE_S3_MULTIPART_BYTES 16777216 /* bodies from this size on go in parts */
#define KEDGE_S3_PART_BYTES      8388608

typedef struct kedge_s3_options {
    kedge_aws_client *client; /* must outlive the port */
    const char *bucket;
    const char *prefix; /* "" or NULL: none; else ends with '/' */
    /* "http://host/bucket/key" instead of "http://bucket.host/key": for endpoints other than
     * AWS's. */
    bool path_style;
} kedge_s3_options;

kedge_status kedge_s3_blobs_open(const kedge_s3_options *options, kedge_blobs *blobs,
                                 kedge_error *error);

/* Asks S3 about the bucket: KEDGE_NOT_FOUND "aws-bucket-missing", "aws-bucket-region" (it names the
 * bucket's region), and the failures of kedge_aws_call. */
kedge_status kedge_s3_check(const kedge_s3_options *options, kedge_error *error);
/* Makes the bucket, unless there is one that is ours. One without a lifecycle gets the rules that
 * end abandoned uploads and delete what carries KEDGE_BLOB_DISCARD_TAG. */
kedge_status kedge_s3_create(const kedge_s3_options *options, kedge_error *error);

#endif
