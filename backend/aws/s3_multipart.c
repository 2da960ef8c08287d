/* put_if_absent in parts: CreateMultipartUpload, UploadPart one after the other, and
 * CompleteMultipartUpload under the condition that the key is free.
 *
 * Nothing stands under the key before the completion, and everything after it, so a crash leaves
 * all or nothing, and at most parts that the bucket's lifecycle removes.
 *
 * Some servers of the S3 protocol (radosgw among them) ignore the condition of a completion and
 * would replace the object. So the key is looked at before the upload, which also spares the parts
 * of a body that is there, and again before the completion. What is left there is the moment
 * between look and completion: of two writers of different bytes the later one would win, and both
 * would be told that theirs are stored. Content-addressed keys have no different bytes. AWS holds
 * to the condition. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "backend/ports/cost.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

_Static_assert(KEDGE_S3_MULTIPART_BYTES == KEDGE_COST_MULTIPART_BYTES &&
                   KEDGE_S3_PART_BYTES == KEDGE_COST_PART_BYTES,
               "the meter counts the parts");

#define PARTS_MAX          ((KEDGE_BLOB_BYTES_MAX + KEDGE_S3_PART_BYTES - 1) / KEDGE_S3_PART_BYTES)
#define CREATE_HEADERS_MAX (KEDGE_S3_CONTENT_HEADERS_MAX + 2)
#define ETAG_BYTES_MAX     128
#define ID_BYTES_MAX       1024

typedef struct upload {
    const kedge_s3 *s3;
    kedge_bytes key;
    kedge_bytes bytes;
    char token[KEDGE_S3_WRITER_TOKEN_SIZE];
    char id[ID_BYTES_MAX + 1];
    char etags[PARTS_MAX][ETAG_BYTES_MAX + 1];
    kedge_s3_sums sums[PARTS_MAX];
    size_t parts;
} upload;

/* ---- reading responses ---- */

typedef struct wanted_text {
    const char *path;
    char *text;
    size_t size;
    bool found;
} wanted_text;

static bool take_text(void *context, const char *path, kedge_bytes text)
{
    wanted_text *wanted = context;
    if (strcmp(path, wanted->path) != 0 || text.size >= wanted->size) return true;
    memcpy(wanted->text, text.data, text.size);
    wanted->text[text.size] = '\0';
    wanted->found = true;
    return true;
}

/* The text of the element at `path`, which must be there. */
static kedge_status read_text(const kedge_s3 *self, const kedge_s3_request *request,
                              const kedge_aws_response *response, const char *path, char *text,
                              size_t size, kedge_error *error)
{
    wanted_text wanted = {path, text, size, false};
    kedge_status status = kedge_s3_read_xml(self, request, response, take_text, &wanted, error);
    if (status == KEDGE_OK && (!wanted.found || text[0] == '\0'))
        status = kedge_s3_response_invalid(request, "lacks what it is asked for", error);
    if (status != KEDGE_OK) text[0] = '\0';
    return status;
}

/* ---- the steps ---- */

/* KEDGE_CONFLICT: another's object stands under the key. */
static kedge_status find_owner(const upload *self, kedge_s3_owner *owner, kedge_error *error)
{
    *owner = KEDGE_S3_NOBODY;
    kedge_status status = kedge_s3_find_owner(self->s3, self->key, self->token, owner, error);
    if (status == KEDGE_OK && *owner == KEDGE_S3_OTHERS) return kedge_blob_exists(self->key, error);
    return status;
}

static kedge_status start_upload(upload *self, kedge_error *error)
{
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("uploads"), {"", 0}}};
    kedge_http_header headers[CREATE_HEADERS_MAX];
    size_t count = kedge_s3_content_headers(self->key, headers);
    headers[count++] = (kedge_http_header){"x-amz-checksum-algorithm", "SHA256"};
    headers[count++] = (kedge_http_header){KEDGE_S3_WRITER_HEADER, self->token};
    const kedge_s3_request request = {.action = "s3:PutObject",
                                      .method = "POST",
                                      .key = self->key,
                                      .query = query,
                                      .query_count = 1,
                                      .headers = headers,
                                      .header_count = count,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self->s3, &request, &response, error);
    if (status == KEDGE_OK)
        status = read_text(self->s3, &request, &response, "InitiateMultipartUploadResult/UploadId",
                           self->id, sizeof self->id, error);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status take_etag(upload *self, const kedge_s3_request *request,
                              const kedge_aws_response *response, kedge_error *error)
{
    kedge_bytes etag;
    if (!kedge_aws_response_header(response, "ETag", &etag) || etag.size == 0 ||
        etag.size > ETAG_BYTES_MAX)
        return kedge_s3_response_invalid(request, "has no ETag", error);
    memcpy(self->etags[self->parts], etag.data, etag.size);
    self->etags[self->parts][etag.size] = '\0';
    return kedge_s3_check_checksum(request, response, self->sums[self->parts].sha256, error);
}

static kedge_status put_part(upload *self, kedge_bytes bytes, kedge_error *error)
{
    char number[16];
    kedge_s3_sums *sums = &self->sums[self->parts];
    kedge_status status = kedge_s3_sum(self->s3, bytes, sums, error);
    if (status != KEDGE_OK) return status;
    snprintf(number, sizeof number, "%zu", self->parts + 1);
    const kedge_aws_parameter query[] = {
        {KEDGE_BYTES("partNumber"), kedge_bytes_of(number)},
        {KEDGE_BYTES("uploadId"), kedge_bytes_of(self->id)},
    };
    const kedge_http_header headers[] = {{"Content-Type", "application/octet-stream"},
                                         {"Content-MD5", sums->md5},
                                         {KEDGE_S3_CHECKSUM_HEADER, sums->sha256}};
    const kedge_s3_request request = {.action = "s3:PutObject",
                                      .method = "PUT",
                                      .key = self->key,
                                      .query = query,
                                      .query_count = 2,
                                      .headers = headers,
                                      .header_count = sizeof headers / sizeof headers[0],
                                      .body = bytes,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    status = kedge_s3_call(self->s3, &request, &response, error);
    if (status == KEDGE_OK)
        status = take_etag(self, &request, &response, error);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    if (status == KEDGE_OK) self->parts++;
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status put_parts(upload *self, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    self->parts = 0;
    for (size_t at = 0; at < self->bytes.size && status == KEDGE_OK; at += KEDGE_S3_PART_BYTES) {
        size_t left = self->bytes.size - at;
        size_t size = left < KEDGE_S3_PART_BYTES ? left : KEDGE_S3_PART_BYTES;
        status = put_part(self, (kedge_bytes){self->bytes.data + at, size}, error);
    }
    return status;
}

static void write_completion(const upload *self, kedge_buffer *body)
{
    kedge_buffer_append_text(body, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/"
                                   "2006-03-01/\">");
    for (size_t i = 0; i < self->parts; i++) {
        kedge_buffer_append_format(body, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        kedge_s3_write_xml_text(kedge_bytes_of(self->etags[i]), body);
        kedge_buffer_append_format(body, "</ETag><ChecksumSHA256>%s</ChecksumSHA256></Part>",
                                   self->sums[i].sha256);
    }
    kedge_buffer_append_text(body, "</CompleteMultipartUpload>");
}

/* KEDGE_OK only when S3 says that the object is there: a response may begin with 200 and turn out
 * to be an error. `anew`: this upload cannot be completed any more, another one may. */
static kedge_status send_completion(const upload *self, kedge_bytes body, bool *anew,
                                    kedge_error *error)
{
    char etag[ETAG_BYTES_MAX + 1];
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("uploadId"), kedge_bytes_of(self->id)}};
    const kedge_http_header headers[] = {{"Content-Type", "application/xml"},
                                         {"If-None-Match", "*"}};
    const kedge_s3_request request = {.action = "s3:PutObject",
                                      .method = "POST",
                                      .key = self->key,
                                      .query = query,
                                      .query_count = 1,
                                      .headers = headers,
                                      .header_count = 2,
                                      .body = body,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self->s3, &request, &response, error);
    *anew = kedge_s3_is(&response, "ConditionalRequestConflict") ||
            kedge_s3_is(&response, "NoSuchUpload") || response.status == 412;
    if (status == KEDGE_OK)
        status = read_text(self->s3, &request, &response, "CompleteMultipartUploadResult/ETag",
                           etag, sizeof etag, error);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

/* After anything but a success the object itself tells what became of it: ours (the response was
 * lost or damaged), another's, or none. */
static kedge_status complete(const upload *self, bool *anew, kedge_error *error)
{
    kedge_buffer body =
        kedge_buffer_make(kedge_aws_client_environment(self->s3->client)->allocator);
    kedge_s3_owner owner = KEDGE_S3_NOBODY;
    write_completion(self, &body);
    kedge_status status = kedge_buffer_status(&body, error);
    if (status != KEDGE_OK) goto out;
    status = send_completion(self, kedge_buffer_bytes(&body), anew, error);
    if (status == KEDGE_OK) goto out;
    /* The response may have come and not been read. */
    if (status == KEDGE_NO_MEMORY) status = KEDGE_UNAVAILABLE;
    if (error != NULL) error->status = status;
    kedge_error failure = {0};
    kedge_status asked = find_owner(self, &owner, &failure);
    if (asked == KEDGE_OK && owner == KEDGE_S3_OURS) status = KEDGE_OK;
    if (asked == KEDGE_CONFLICT) status = kedge_blob_exists(self->key, error);
    if (asked != KEDGE_OK || owner != KEDGE_S3_NOBODY) *anew = false;
out:
    kedge_buffer_free(&body);
    return status;
}

/* What cannot be told here is removed by the bucket's lifecycle. */
static void abort_upload(const upload *self)
{
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("uploadId"), kedge_bytes_of(self->id)}};
    const kedge_s3_request request = {.action = "s3:AbortMultipartUpload",
                                      .method = "DELETE",
                                      .key = self->key,
                                      .query = query,
                                      .query_count = 1,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_s3_call(self->s3, &request, &response, NULL);
    kedge_aws_response_free(&response);
}

static kedge_status put_once(upload *self, bool *anew, kedge_error *error)
{
    kedge_s3_owner owner;
    *anew = false;
    kedge_status status = find_owner(self, &owner, error);
    if (status != KEDGE_OK || owner == KEDGE_S3_OURS) return status;
    status = start_upload(self, error);
    if (status != KEDGE_OK) return status;
    status = put_parts(self, error);
    if (status == KEDGE_OK) status = find_owner(self, &owner, error);
    if (status == KEDGE_OK) status = complete(self, anew, error);
    if (status != KEDGE_OK) abort_upload(self);
    return status;
}

kedge_status kedge_s3_put_in_parts(const kedge_s3 *self, kedge_bytes key, kedge_bytes bytes,
                                   kedge_error *error)
{
    upload state = {.s3 = self, .key = key, .bytes = bytes};
    kedge_status status = KEDGE_OK;
    bool anew = true;
    kedge_s3_make_token(self, state.token);
    for (int i = 0; i < KEDGE_S3_TRIES_MAX && anew; i++)
        status = put_once(&state, &anew, error);
    return status;
}
