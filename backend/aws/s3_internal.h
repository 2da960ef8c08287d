/* What the files of the S3 port share: the port, one request to its bucket, what
 * its responses say. */
#ifndef KEDGE_BACKEND_AWS_S3_INTERNAL_H
#define KEDGE_BACKEND_AWS_S3_INTERNAL_H

#include "backend/aws/s3.h"
#include "backend/aws/xml.h"

#include <pthread.h>

#define KEDGE_S3_BUCKET_BYTES_MIN 3
#define KEDGE_S3_BUCKET_BYTES_MAX 63
#define KEDGE_S3_XML_BYTES_MAX    65536   /* of a response that is not a listing */
#define KEDGE_S3_LIST_BYTES_MAX   8388608 /* 1,000 keys, each byte of them as "%xx", and room */
#define KEDGE_S3_TAG_LOCKS        16
#define KEDGE_S3_TRIES_MAX        3 /* of an upload, or of a read, that must start again */

/* Every object that the port writes carries a token of its writer, so that a writer whose response
 * was lost can tell its own object from another's. */
#define KEDGE_S3_WRITER_HEADER     "x-amz-meta-kedge-writer"
#define KEDGE_S3_WRITER_TOKEN_SIZE 33 /* 32 hexadecimal digits and a NUL */
#define KEDGE_S3_CHECKSUM_HEADER   "x-amz-checksum-sha256"
#define KEDGE_S3_CHECKSUM_SIZE     45 /* base64 of a SHA-256, and a NUL */
#define KEDGE_S3_MD5_SIZE          25 /* the same of an MD5 */

/* A change of tags reads and writes them: one at a time for a key. */
typedef struct kedge_s3_tag_locks {
    pthread_mutex_t mutex; /* held for a moment */
    pthread_cond_t unlocked;
    bool taken[KEDGE_S3_TAG_LOCKS]; /* each for some of the keys */
} kedge_s3_tag_locks;

void kedge_s3_tag_locks_open(kedge_s3_tag_locks *locks);
void kedge_s3_tag_locks_close(kedge_s3_tag_locks *locks);

typedef struct kedge_s3 {
    kedge_aws_client *client;
    char bucket[KEDGE_S3_BUCKET_BYTES_MAX + 1];
    char host_prefix[KEDGE_S3_BUCKET_BYTES_MAX + 2]; /* "bucket."; "": addressed by path */
    char prefix[KEDGE_BLOB_KEY_BYTES_MAX + 1];
    kedge_s3_tag_locks tag_locks;
} kedge_s3;

/* Fills all but the locks. */
kedge_status kedge_s3_make(const kedge_s3_options *options, kedge_s3 *self, kedge_error *error);

/* One request about an object, or about the bucket when `key` is empty. */
typedef struct kedge_s3_request {
    const char *action; /* IAM name, static storage */
    const char *method;
    kedge_bytes key; /* without the port's prefix */
    const kedge_aws_parameter *query;
    size_t query_count;
    const kedge_http_header *headers;
    size_t header_count;
    kedge_bytes body;
    size_t response_bytes_max;
    bool once; /* as in kedge_aws_request */
} kedge_s3_request;

/* kedge_aws_call, and: a missing bucket is KEDGE_IO "aws-bucket-missing", since a blob that is not
 * found means something else to the caller. KEDGE_CONFLICT: a response to be read. */
kedge_status kedge_s3_call(const kedge_s3 *self, const kedge_s3_request *request,
                           kedge_aws_response *response, kedge_error *error);
kedge_status kedge_s3_presign_request(const kedge_s3 *self, const kedge_s3_request *request,
                                      uint32_t expires_s, kedge_buffer *url, kedge_error *error);

/* A KEDGE_CONFLICT of kedge_s3_call that means nothing to the caller, in the words that `error` has
 * from there: KEDGE_UNAVAILABLE when an earlier try may have taken effect, else KEDGE_IO. */
kedge_status kedge_s3_refused(const kedge_aws_response *response, kedge_error *error);
/* KEDGE_UNAVAILABLE "aws-response-invalid". */
kedge_status kedge_s3_response_invalid(const kedge_s3_request *request, const char *what,
                                       kedge_error *error);
bool kedge_s3_is(const kedge_aws_response *response, const char *code);
/* Reads a response's XML; one that is none is KEDGE_UNAVAILABLE "aws-response-invalid". */
kedge_status kedge_s3_read_xml(const kedge_s3 *self, const kedge_s3_request *request,
                               const kedge_aws_response *response, kedge_aws_xml_element element,
                               void *context, kedge_error *error);
/* Appends `text` with what XML escapes. */
void kedge_s3_write_xml_text(kedge_bytes text, kedge_buffer *out);

/* ---- objects ---- */

typedef enum kedge_s3_owner {
    KEDGE_S3_NOBODY, /* the key is free */
    KEDGE_S3_OURS,   /* the object has this writer's token */
    KEDGE_S3_OTHERS
} kedge_s3_owner;

/* Whether there is an object under `key`, and whether its writer had this token. */
kedge_status kedge_s3_find_owner(const kedge_s3 *self, kedge_bytes key, const char *token,
                                 kedge_s3_owner *owner, kedge_error *error);
void kedge_s3_make_token(const kedge_s3 *self, char token[KEDGE_S3_WRITER_TOKEN_SIZE]);

/* The headers that say what an object's bytes are, which S3 keeps with it: for a key that ends in
 * ".json.gz" JSON in gzip, else bytes of any kind. Gives their count. */
#define KEDGE_S3_CONTENT_HEADERS_MAX 2
size_t kedge_s3_content_headers(kedge_bytes key,
                                kedge_http_header headers[KEDGE_S3_CONTENT_HEADERS_MAX]);

/* What travels with a body, so that S3 refuses one that changed on the way. AWS keeps the SHA-256
 * with the object. Other servers do not know that header; they know Content-MD5, and hold the body
 * against the hash that was signed, but for one that lost all of its bytes (radosgw). */
typedef struct kedge_s3_sums {
    char sha256[KEDGE_S3_CHECKSUM_SIZE];
    char md5[KEDGE_S3_MD5_SIZE];
} kedge_s3_sums;

kedge_status kedge_s3_sum(const kedge_s3 *self, kedge_bytes bytes, kedge_s3_sums *sums,
                          kedge_error *error);
/* The value of KEDGE_S3_CHECKSUM_HEADER for bytes of this SHA-256. */
kedge_status kedge_s3_checksum(const kedge_s3 *self, const uint8_t sha256[KEDGE_SHA256_SIZE],
                               char checksum[KEDGE_S3_CHECKSUM_SIZE], kedge_error *error);
/* A response that repeats the checksum must repeat ours. */
kedge_status kedge_s3_check_checksum(const kedge_s3_request *request,
                                     const kedge_aws_response *response, const char *checksum,
                                     kedge_error *error);

/* A put with tags needs the second one, too. */
#define KEDGE_S3_TAGGING_HEADER "x-amz-tagging"
#define KEDGE_S3_PUT_ACTION     "s3:PutObject"
#define KEDGE_S3_PUT_TAGGED     "s3:PutObject s3:PutObjectTagging"

/* A put of a body in one request: below KEDGE_S3_MULTIPART_BYTES, or with tags, which not every
 * server takes along through parts. `tagging`: tags as a query, or NULL. */
kedge_status kedge_s3_put(const kedge_s3 *self, kedge_bytes key, kedge_bytes bytes,
                          const char *tagging, kedge_error *error);
/* A put of a body from KEDGE_S3_MULTIPART_BYTES on. */
kedge_status kedge_s3_put_in_parts(const kedge_s3 *self, kedge_bytes key, kedge_bytes bytes,
                                   kedge_error *error);

kedge_status kedge_s3_get(const kedge_s3 *self, kedge_bytes key, kedge_buffer *out,
                          kedge_error *error);
kedge_status kedge_s3_tag(kedge_s3 *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                          kedge_error *error);
kedge_status kedge_s3_get_tag(const kedge_s3 *self, kedge_bytes key, kedge_bytes name,
                              kedge_buffer *value, kedge_error *error);
kedge_status kedge_s3_list(const kedge_s3 *self, kedge_bytes prefix, kedge_bytes after,
                           uint32_t limit, kedge_blob_list *list, kedge_error *error);

#endif
