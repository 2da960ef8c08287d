/* See body.h. */
#include "backend/front/body.h"

#include "common/gzip.h"
#include <kedge/limits.h>

#include <stdio.h>
#include <string.h>

#define COMPRESS_FROM_BYTES 1024

bool kedge_body_decode(const char *encoding, bool truncated, kedge_buffer *body,
                       kedge_api_response *response)
{
    if (!encoding || strcasecmp(encoding, "identity") == 0) return true;
    if (strcasecmp(encoding, "gzip") != 0) {
        kedge_api_problem(response, 415, "content-encoding-unsupported",
                          "a body may be sent as it is or with Content-Encoding: gzip");
        return false;
    }
    kedge_buffer plain = kedge_buffer_make(body->allocator);
    kedge_error error = {0};
    kedge_status status =
        truncated ? KEDGE_LIMIT_EXCEEDED
                  : kedge_gunzip(kedge_buffer_bytes(body), KEDGE_LIMIT_PUSH_BYTES, &plain, &error);
    if (status == KEDGE_OK) {
        kedge_buffer_free(body);
        *body = plain;
        return true;
    }
    kedge_buffer_free(&plain);
    if (status == KEDGE_LIMIT_EXCEEDED) {
        char detail[64];
        snprintf(detail, sizeof detail, "the body is over %d bytes when unpacked",
                 KEDGE_LIMIT_PUSH_BYTES);
        kedge_api_problem(response, 413, "body-too-large", detail);
    } else if (status == KEDGE_NO_MEMORY) {
        kedge_api_problem(response, 503, "overloaded", "the server is out of memory; try again");
    } else {
        kedge_api_problem(response, 400, "body-invalid", "the body is not a gzip stream");
    }
    return false;
}

bool kedge_body_accepts_gzip(const char *accept_encoding)
{
    const char *gzip = accept_encoding ? strcasestr(accept_encoding, "gzip") : NULL;
    if (!gzip) return false;
    const char *weight = gzip + 4 + strspn(gzip + 4, " ;");
    if (strncasecmp(weight, "q=0", 3) != 0) return true;
    char first = weight[3 + strspn(weight + 3, ".0")];
    return first >= '1' && first <= '9';
}

/* ---- packing in parts ---- */

typedef struct packed_rest {
    const kedge_allocator *allocator;
    kedge_api_rest plain;
    kedge_gzip_stream *stream;
} packed_rest;

static void free_packed(void *context)
{
    packed_rest *rest = context;
    if (rest->plain.context) rest->plain.free(rest->plain.context);
    kedge_gzip_stream_free(rest->stream);
    kedge_release(rest->allocator, rest);
}

/* The plain part stands in the response while it is made. */
static kedge_status write_packed(void *context, size_t most, kedge_api_response *response,
                                 kedge_error *error)
{
    packed_rest *rest = context;
    kedge_buffer packed = response->body;
    response->body = kedge_buffer_make(packed.allocator);
    kedge_status status = rest->plain.write(rest->plain.context, most, response, error);
    bool last = status == KEDGE_DONE;
    kedge_buffer plain = response->body;
    response->body = packed;
    if (status == KEDGE_OK || last) {
        kedge_status written = kedge_buffer_status(&plain, error);
        if (written == KEDGE_OK) {
            written = kedge_gzip_stream_write(rest->stream, kedge_buffer_bytes(&plain), last,
                                              &response->body, error);
        }
        if (written != KEDGE_OK) status = written;
    }
    kedge_buffer_free(&plain);
    return status;
}

/* Without memory the response stays as it is. */
static void compress_in_parts(kedge_api_response *response)
{
    const kedge_allocator *allocator = response->body.allocator;
    kedge_buffer packed = kedge_buffer_make(allocator);
    packed_rest *rest = kedge_allocate(allocator, sizeof *rest);
    kedge_gzip_stream *stream = rest ? kedge_gzip_stream_new(allocator) : NULL;
    if (!stream || kedge_gzip_stream_write(stream, kedge_buffer_bytes(&response->body), false,
                                           &packed, NULL) != KEDGE_OK) {
        kedge_gzip_stream_free(stream);
        kedge_buffer_free(&packed);
        kedge_release(allocator, rest);
        return;
    }
    *rest = (packed_rest){allocator, response->rest, stream};
    response->rest = (kedge_api_rest){rest, write_packed, free_packed};
    kedge_buffer_free(&response->body);
    response->body = packed;
    response->content_encoding = "gzip";
}

void kedge_body_compress(kedge_api_response *response)
{
    if (response->content_encoding || response->body.size < COMPRESS_FROM_BYTES) return;
    if (response->rest.context) {
        compress_in_parts(response);
        return;
    }
    kedge_buffer packed = kedge_buffer_make(response->body.allocator);
    if (kedge_gzip(kedge_buffer_bytes(&response->body), &packed, NULL) == KEDGE_OK) {
        kedge_buffer_free(&response->body);
        response->body = packed;
        response->content_encoding = "gzip";
    } else {
        kedge_buffer_free(&packed);
    }
}
