/* See body.h. */
#include "backend/front/body.h"

#include "common/gzip.h"
#include <kedge/limits.h>

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
        kedge_api_problem(response, 413, "body-too-large", "the body is over 16 MiB when unpacked");
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

void kedge_body_compress(kedge_api_response *response)
{
    if (response->content_encoding || response->body.size < COMPRESS_FROM_BYTES) return;
    kedge_buffer packed = kedge_buffer_make(response->body.allocator);
    if (kedge_gzip(kedge_buffer_bytes(&response->body), &packed, NULL) == KEDGE_OK) {
        kedge_buffer_free(&response->body);
        response->body = packed;
        response->content_encoding = "gzip";
    } else {
        kedge_buffer_free(&packed);
    }
}
