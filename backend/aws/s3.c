/* One request to a bucket: its address, and what every response has in common. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* ---- the bucket's address ---- */

static bool may_stand_in_bucket(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
           byte == '.';
}

static kedge_status check_bucket(kedge_bytes bucket, kedge_error *error)
{
    bool good = bucket.size >= KEDGE_S3_BUCKET_BYTES_MIN &&
                bucket.size <= KEDGE_S3_BUCKET_BYTES_MAX && bucket.data[0] != '-' &&
                bucket.data[0] != '.';
    for (size_t i = 0; good && i < bucket.size; i++)
        good = may_stand_in_bucket(bucket.data[i]);
    if (good) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-bucket",
                      "the bucket's name is not 3 to 63 of a-z, 0-9, '-' and '.'");
}

static kedge_status check_prefix(kedge_bytes prefix, kedge_error *error)
{
    if (prefix.size == 0) return KEDGE_OK;
    kedge_status status = kedge_blob_key_check(prefix, error);
    if (status == KEDGE_OK && prefix.data[prefix.size - 1] != '/')
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-prefix",
                            "the prefix of the blobs does not end with '/'");
    return status;
}

kedge_status kedge_s3_make(const kedge_s3_options *options, kedge_s3 *self, kedge_error *error)
{
    kedge_bytes bucket = kedge_bytes_of(options->bucket), prefix = kedge_bytes_of(options->prefix);
    kedge_status status = check_bucket(bucket, error);
    if (status == KEDGE_OK) status = check_prefix(prefix, error);
    if (status != KEDGE_OK) return status;
    memset(self, 0, sizeof *self);
    self->client = options->client;
    memcpy(self->bucket, bucket.data, bucket.size);
    if (prefix.size > 0) memcpy(self->prefix, prefix.data, prefix.size);
    /* A certificate for *.s3.region.amazonaws.com does not cover a name with a dot. */
    if (!options->path_style && memchr(bucket.data, '.', bucket.size) == NULL)
        snprintf(self->host_prefix, sizeof self->host_prefix, "%s.", self->bucket);
    return KEDGE_OK;
}

/* "/prefix/key", with the bucket before it when the host does not name it. */
static kedge_status make_path(const kedge_s3 *self, kedge_bytes key, kedge_buffer *path,
                              kedge_error *error)
{
    if (key.size + strlen(self->prefix) > KEDGE_BLOB_KEY_BYTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "key-too-large",
                          "the key and the prefix %s are %zu bytes long; at most %d are allowed",
                          self->prefix, key.size + strlen(self->prefix), KEDGE_BLOB_KEY_BYTES_MAX);
    kedge_buffer_append_byte(path, '/');
    if (self->host_prefix[0] == '\0') kedge_buffer_append_text(path, self->bucket);
    if (key.size > 0) {
        if (self->host_prefix[0] == '\0') kedge_buffer_append_byte(path, '/');
        kedge_buffer_append_text(path, self->prefix);
        kedge_buffer_append_bytes(path, key);
    }
    return kedge_buffer_status(path, error);
}

static kedge_aws_request addressed(const kedge_s3 *self, const kedge_s3_request *request,
                                   const kedge_buffer *path)
{
    return (kedge_aws_request){.service = KEDGE_AWS_S3,
                               .action = request->action,
                               .method = request->method,
                               .host_prefix =
                                   self->host_prefix[0] == '\0' ? NULL : self->host_prefix,
                               .path = kedge_buffer_bytes(path),
                               .query = request->query,
                               .query_count = request->query_count,
                               .headers = request->headers,
                               .header_count = request->header_count,
                               .body = request->body,
                               .response_bytes_max = request->response_bytes_max,
                               .once = request->once};
}

/* ---- responses ---- */

bool kedge_s3_is(const kedge_aws_response *response, const char *code)
{
    return strcmp(response->code, code) == 0;
}

kedge_status kedge_s3_response_invalid(const kedge_s3_request *request, const char *what,
                                       kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-response-invalid", "the response to %s %s",
                      request->action, what);
}

kedge_status kedge_s3_refused(const kedge_aws_response *response, kedge_error *error)
{
    kedge_status status = response->earlier_unknown ? KEDGE_UNAVAILABLE : KEDGE_IO;
    if (error != NULL) error->status = status;
    return status;
}

kedge_status kedge_s3_call(const kedge_s3 *self, const kedge_s3_request *request,
                           kedge_aws_response *response, kedge_error *error)
{
    kedge_buffer path = kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator);
    kedge_status status = make_path(self, request->key, &path, error);
    if (status != KEDGE_OK) goto out;
    kedge_aws_request sent = addressed(self, request, &path);
    status = kedge_aws_call(self->client, &sent, response, error);
    /* The response is too large, whatever the request has done. */
    if (status == KEDGE_LIMIT_EXCEEDED && strcmp(request->method, "GET") != 0)
        status = kedge_s3_response_invalid(request, "has no end", error);
    if (status == KEDGE_CONFLICT && kedge_s3_is(response, "NoSuchBucket"))
        status = kedge_fail(error, KEDGE_IO, "aws-bucket-missing", "there is no bucket %s",
                            self->bucket);
out:
    kedge_buffer_free(&path);
    return status;
}

kedge_status kedge_s3_read_xml(const kedge_s3 *self, const kedge_s3_request *request,
                               const kedge_aws_response *response, kedge_aws_xml_element element,
                               void *context, kedge_error *error)
{
    kedge_status status =
        kedge_aws_xml_read(kedge_aws_client_environment(self->client)->allocator,
                           kedge_buffer_bytes(&response->body), element, context, error);
    if (status != KEDGE_PROTOCOL) return status;
    return kedge_s3_response_invalid(request, "is not readable as XML", error);
}

void kedge_s3_write_xml_text(kedge_bytes text, kedge_buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        switch (text.data[i]) {
        case '&':
            kedge_buffer_append_text(out, "&amp;");
            break;
        case '<':
            kedge_buffer_append_text(out, "&lt;");
            break;
        case '>':
            kedge_buffer_append_text(out, "&gt;");
            break;
        case '"':
            kedge_buffer_append_text(out, "&quot;");
            break;
        /* A reader turns these into spaces or line ends when they stand as they are. */
        case '\t':
            kedge_buffer_append_text(out, "&#9;");
            break;
        case '\n':
            kedge_buffer_append_text(out, "&#10;");
            break;
        case '\r':
            kedge_buffer_append_text(out, "&#13;");
            break;
        default:
            kedge_buffer_append_byte(out, text.data[i]);
        }
    }
}

kedge_status kedge_s3_presign_request(const kedge_s3 *self, const kedge_s3_request *request,
                                      uint32_t expires_s, kedge_buffer *url, kedge_error *error)
{
    kedge_buffer path = kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator);
    kedge_status status = make_path(self, request->key, &path, error);
    if (status == KEDGE_OK) {
        kedge_aws_request sent = addressed(self, request, &path);
        status = kedge_aws_client_presign(self->client, &sent, expires_s, url, error);
    }
    kedge_buffer_free(&path);
    return status;
}
