/* Signature version 4 of AWS: headers of a request, and presigned URLs.
 *
 * Source: AWS General Reference, "Signature Version 4 signing process"; all cases of the public
 * signing suite pass (tests/aws). Pure: no clock, no I/O. */
#ifndef KEDGE_BACKEND_AWS_SIGV4_H
#define KEDGE_BACKEND_AWS_SIGV4_H

#include "backend/aws/credentials.h"
#include "common/wiping.h"
#include "http/http.h"

#define KEDGE_AWS_EXPIRES_MAX_S  604800 /* of a presigned URL: 7 days */
#define KEDGE_AWS_PARAMETERS_MAX 56     /* of a request's query */

/* One parameter of a query, neither part encoded. */
typedef struct kedge_aws_parameter {
    kedge_bytes name;
    kedge_bytes value;
} kedge_aws_parameter;

typedef struct kedge_aws_signing {
    const kedge_aws_credentials *credentials;
    const char *region;
    const char *service; /* "dynamodb", "s3", "sqs" */
    int64_t now_ms;      /* wall clock, corrected by the service's skew */
    /* S3 wants false for both: its keys are taken as they are. */
    bool encode_path_twice;
    bool normalize_path;
    bool payload_header;        /* add x-amz-content-sha256 (S3 wants it) */
    bool token_after_signature; /* the session token is added, but not signed */
    bool unsigned_payload;      /* the body is no part of the signature: S3 alone takes that */
} kedge_aws_signing;

/* What is signed. Strings are borrowed. */
typedef struct kedge_aws_signed_request {
    const char *method;
    const char *host; /* with the port when it is not the scheme's */
    kedge_bytes path; /* not encoded, starts with '/' */
    const kedge_aws_parameter *query;
    size_t query_count;               /* at most KEDGE_AWS_PARAMETERS_MAX */
    const kedge_http_header *headers; /* all of them are signed; without Host and X-Amz-Date */
    size_t header_count;              /* at most KEDGE_HTTP_HEADERS_MAX */
    kedge_bytes body;
} kedge_aws_signed_request;

/* The steps of a signature, for tests and for telling a mismatch apart. They hold the session
 * token, and are wiped when they are freed; the struct must not move until then. */
typedef struct kedge_aws_signature {
    kedge_wiping wiping;
    kedge_buffer canonical_request;
    kedge_buffer string_to_sign;
    char signature[65];
    char timestamp[17];         /* X-Amz-Date */
    char payload_sha256[65];    /* X-Amz-Content-Sha256 */
    kedge_buffer authorization; /* the header's value */
} kedge_aws_signature;

void kedge_aws_signature_make(const kedge_allocator *allocator, kedge_aws_signature *signature);
void kedge_aws_signature_free(kedge_aws_signature *signature);

/* Signs for the Authorization header. The caller sends Authorization, X-Amz-Date, and
 * where they apply X-Amz-Security-Token and X-Amz-Content-Sha256 besides the
 * request's own headers. KEDGE_INVALID_ARGUMENT "aws-request-invalid" (too many
 * headers or parameters), KEDGE_NO_MEMORY. */
kedge_status kedge_aws_sign(const kedge_allocator *allocator, const kedge_aws_signing *signing,
                            const kedge_aws_signed_request *request, kedge_aws_signature *signature,
                            kedge_error *error);

/* Signs for a URL: appends to `query` the parameters with the signature among them,
 * encoded. `authorization` stays empty. Failures as above, and of an `expires_s` that is
 * not 1 to 604,800. */
kedge_status kedge_aws_sign_query(const kedge_allocator *allocator,
                                  const kedge_aws_signing *signing,
                                  const kedge_aws_signed_request *request, uint32_t expires_s,
                                  kedge_aws_signature *signature, kedge_buffer *query,
                                  kedge_error *error);

/* Appends to `url` a URL that carries its signature, good for `expires_s` (1 to 604,800). The body
 * is not signed (UNSIGNED-PAYLOAD). `scheme_host`: "https://bucket.s3.eu-west-1.amazonaws.com". */
kedge_status kedge_aws_presign(const kedge_allocator *allocator, const kedge_aws_signing *signing,
                               const kedge_aws_signed_request *request, const char *scheme_host,
                               uint32_t expires_s, kedge_buffer *url, kedge_error *error);

#endif
