/* Responses to requests for a part. A part is a range of the gzip, which can only be unpacked after
 * the parts are joined, so libcurl must not decode it. A server may also respond with the whole
 * body, or with a refusal: these are decoded here. */
#include "common/error.h"
#include "common/gzip.h"
#include "sdk/net/net_private.h"

#include <string.h>
#include <strings.h>

static bool is_named(kedge_bytes encoding, const char *name)
{
    return encoding.size == strlen(name) && strncasecmp(encoding.data, name, encoding.size) == 0;
}

static kedge_status read_encoding(kedge_bytes headers, bool *gzip, kedge_error *error)
{
    kedge_bytes encoding = {NULL, 0};
    *gzip = false;
    kedge_http_header_value(headers, "Content-Encoding", &encoding);
    if (encoding.size == 0 || is_named(encoding, "identity")) return KEDGE_OK;
    *gzip = is_named(encoding, "gzip");
    if (*gzip) return KEDGE_OK;
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the response's content encoding is not the gzip that was asked for");
}

kedge_status kedge_net_take_undecoded(const kedge_http_response *response, size_t size_max,
                                      kedge_buffer *plain, kedge_driver_response *given,
                                      kedge_error *error)
{
    bool gzip;
    kedge_status status = read_encoding(response->headers, &gzip, error);
    if (status != KEDGE_OK) return status;
    if (response->status == 206) {
        given->gzip = gzip;
        kedge_http_header_value(response->headers, "Content-Range", &given->content_range);
        return KEDGE_OK;
    }
    if (!gzip) return KEDGE_OK;
    status = kedge_gunzip(response->body, size_max, plain, error);
    if (status == KEDGE_OK) given->body = kedge_buffer_bytes(plain);
    if (status != KEDGE_CORRUPT) return status;
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the response's compression is damaged");
}
