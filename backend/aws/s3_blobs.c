/* The blobs port on S3: its functions, and presigned uploads. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "common/error.h"
#include "common/percent.h"

#include <inttypes.h>
#include <stdio.h>

/* As S3 wants it in a header; empty without a tag. */
static kedge_status write_tag(const kedge_blob_tag *tag, kedge_buffer *text, kedge_error *error)
{
    if (tag == NULL) return KEDGE_OK;
    kedge_percent_encode(tag->name, KEDGE_PERCENT_UNRESERVED, text);
    kedge_buffer_append_byte(text, '=');
    kedge_percent_encode(tag->value, KEDGE_PERCENT_UNRESERVED, text);
    return kedge_buffer_status(text, error);
}

static kedge_status blobs_put_tagged(void *context, kedge_bytes key, kedge_bytes bytes,
                                     const kedge_blob_tag *tag, kedge_error *error)
{
    const kedge_s3 *self = context;
    kedge_status status = kedge_blob_put_tagged_check(key, bytes, tag, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer text = kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator);
    status = write_tag(tag, &text, error);
    const char *tagging = tag == NULL ? NULL : text.data;
    if (status == KEDGE_OK)
        status = tag != NULL || bytes.size < KEDGE_S3_MULTIPART_BYTES
                     ? kedge_s3_put(self, key, bytes, tagging, error)
                     : kedge_s3_put_in_parts(self, key, bytes, error);
    kedge_buffer_free(&text);
    return status;
}

static kedge_status blobs_put_if_absent(void *context, kedge_bytes key, kedge_bytes bytes,
                                        kedge_error *error)
{
    return blobs_put_tagged(context, key, bytes, NULL, error);
}

static kedge_status blobs_get(void *context, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    kedge_status status = kedge_blob_key_check(key, error);
    return status == KEDGE_OK ? kedge_s3_get(context, key, out, error) : status;
}

static kedge_status blobs_tag(void *context, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                              kedge_error *error)
{
    kedge_status status = kedge_blob_tag_check(key, name, value, error);
    return status == KEDGE_OK ? kedge_s3_tag(context, key, name, value, error) : status;
}

static kedge_status blobs_get_tag(void *context, kedge_bytes key, kedge_bytes name,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_status status = kedge_blob_tag_check(key, name, (kedge_bytes){0}, error);
    return status == KEDGE_OK ? kedge_s3_get_tag(context, key, name, value, error) : status;
}

/* Not repeated when the response is lost: another writer may have found the key free meanwhile and
 * put a blob that it relies on, which a second removal would take. */
static kedge_status blobs_remove(void *context, kedge_bytes key, kedge_error *error)
{
    const kedge_s3_request request = {.action = "s3:DeleteObject",
                                      .method = "DELETE",
                                      .key = key,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX,
                                      .once = true};
    kedge_aws_response response = {0};
    kedge_status status = kedge_blob_key_check(key, error);
    if (status != KEDGE_OK) return status;
    status = kedge_s3_call(context, &request, &response, error);
    if (status == KEDGE_CONFLICT)
        status =
            kedge_s3_is(&response, "NoSuchKey") ? KEDGE_OK : kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status blobs_list(void *context, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    kedge_status status = kedge_blob_list_check(prefix, after, limit, error);
    return status == KEDGE_OK ? kedge_s3_list(context, prefix, after, limit, list, error) : status;
}

/* The signature covers the length and the checksum: AWS refuses other bytes, and servers that do
 * not know the checksum refuse another length. */
static kedge_status blobs_presign_put(void *context, const kedge_blob_upload *upload,
                                      kedge_blob_grant *grant, kedge_error *error)
{
    const kedge_s3 *self = context;
    char checksum[KEDGE_S3_CHECKSUM_SIZE];
    char length[24];
    kedge_status status = kedge_blob_key_check(upload->key, error);
    if (status == KEDGE_OK) status = kedge_s3_checksum(self, upload->sha256, checksum, error);
    if (status != KEDGE_OK) return status;
    snprintf(length, sizeof length, "%" PRId64, upload->size_bytes);
    const kedge_http_header headers[] = {{"Content-Length", length},
                                         {KEDGE_S3_CHECKSUM_HEADER, checksum}};
    const kedge_s3_request request = {.action = "s3:PutObject",
                                      .method = "PUT",
                                      .key = upload->key,
                                      .headers = headers,
                                      .header_count = 2};
    status = kedge_s3_presign_request(self, &request, (uint32_t)(upload->lifetime_ms / 1000),
                                      &grant->url, error);
    if (status != KEDGE_OK) return status;
    grant->headers[0].name = KEDGE_S3_CHECKSUM_HEADER;
    snprintf(grant->headers[0].value, sizeof grant->headers[0].value, "%s", checksum);
    grant->header_count = 1;
    return KEDGE_OK;
}

static void blobs_close(void *context)
{
    kedge_s3 *self = context;
    kedge_s3_tag_locks_close(&self->tag_locks);
    kedge_release(kedge_aws_client_environment(self->client)->allocator, self);
}

static const kedge_blobs_vtable vtable = {.put_if_absent = blobs_put_if_absent,
                                          .put_tagged = blobs_put_tagged,
                                          .get = blobs_get,
                                          .tag = blobs_tag,
                                          .get_tag = blobs_get_tag,
                                          .remove = blobs_remove,
                                          .list = blobs_list,
                                          .presign_put = blobs_presign_put,
                                          .close = blobs_close};

kedge_status kedge_s3_blobs_open(const kedge_s3_options *options, kedge_blobs *blobs,
                                 kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(options->client)->allocator;
    kedge_s3 *self = kedge_allocate(allocator, sizeof *self);
    if (self == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_s3_make(options, self, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, self);
        return status;
    }
    kedge_s3_tag_locks_open(&self->tag_locks);
    *blobs = (kedge_blobs){&vtable, self};
    return KEDGE_OK;
}
