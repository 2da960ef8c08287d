/* A bucket of a test's own in the S3 that AWS_ENDPOINT_URL_S3 names. */
#ifndef KEDGE_TESTS_SUPPORT_S3_BUCKET_H
#define KEDGE_TESTS_SUPPORT_S3_BUCKET_H

#include "backend/aws/s3.h"

typedef struct s3_bucket {
    kedge_environment environment;
    kedge_aws_credentials_provider *credentials;
    kedge_aws_client *client;
    char name[64];
    kedge_s3_options options; /* by path, without a prefix */
    bool made;
} s3_bucket;

/* Makes a client, and a bucket under a random name, with the system's clock and randomness. The
 * struct must not move. */
kedge_status s3_bucket_make(s3_bucket *bucket, kedge_error *error);
/* Deletes the bucket with all that is in it and frees the client. Ports over it are closed. */
void s3_bucket_end(s3_bucket *bucket);

/* One request that the port does not have, about the bucket ("") or an object; `part` is a
 * parameter without a value ("uploads"), or NULL. */
kedge_status s3_bucket_run(s3_bucket *bucket, const char *method, const char *key, const char *part,
                           kedge_aws_response *response, kedge_error *error);

#endif
