/* GetObject, in ranges.
 *
 * A try of a request has a deadline, so a large object is read in pieces of KEDGE_S3_PART_BYTES.
 * The first request asks for the first piece, and its response tells the whole size: objects up to
 * that size cost one request. Pieces of one read have one ETag; when it changes (removed and put
 * anew in between), the read starts again. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETAG_BYTES_MAX 128

/* A read on its way. */
typedef struct reading {
    int64_t offset;
    int64_t total; /* -1: not known yet */
    char etag[ETAG_BYTES_MAX + 1];
    bool changed; /* the object is another one than at the beginning */
} reading;

/* A whole number of 0 to 2^53 in decimal digits. */
static bool read_number(const char **at, const char *end, int64_t *number)
{
    int64_t value = 0;
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (value > 900719925474099) return false;
        value = value * 10 + (**at - '0');
    }
    *number = value;
    return *at > start;
}

/* "bytes 0-8388607/20000000" */
static bool read_content_range(kedge_bytes text, int64_t *first, int64_t *last, int64_t *total)
{
    const char *at = text.data, *end = text.data + text.size;
    if (!kedge_bytes_start_with(text, KEDGE_BYTES("bytes "))) return false;
    at += 6;
    if (!read_number(&at, end, first) || at == end || *at++ != '-') return false;
    if (!read_number(&at, end, last) || at == end || *at++ != '/') return false;
    return read_number(&at, end, total) && at == end;
}

/* Where the response's bytes belong. False: the response contradicts itself. */
static bool find_place(const kedge_aws_response *response, int64_t *first, int64_t *total)
{
    kedge_bytes text;
    int64_t last, size = (int64_t)response->body.size;
    if (response->status == 206)
        return kedge_aws_response_header(response, "Content-Range", &text) &&
               read_content_range(text, first, &last, total) && last < *total &&
               last - *first + 1 == size;
    if (response->status != 200 || !kedge_aws_response_header(response, "Content-Length", &text))
        return false;
    const char *at = text.data, *end = text.data + text.size;
    *first = 0;
    return read_number(&at, end, total) && at == end && *total == size;
}

static kedge_status take_piece(reading *self, const kedge_s3_request *request,
                               const kedge_aws_response *response, kedge_buffer *out,
                               kedge_error *error)
{
    kedge_bytes etag;
    int64_t first, total;
    if (!kedge_aws_response_header(response, "ETag", &etag) || etag.size > ETAG_BYTES_MAX)
        return kedge_s3_response_invalid(request, "has no ETag", error);
    if (!find_place(response, &first, &total))
        return kedge_s3_response_invalid(request, "has another size than its headers say", error);
    if (total > KEDGE_BLOB_BYTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "blob-too-large",
                          "the blob has %" PRId64 " bytes; at most %d are allowed", total,
                          KEDGE_BLOB_BYTES_MAX);
    if (self->total < 0) {
        memcpy(self->etag, etag.data, etag.size);
        self->total = total;
    }
    self->changed = !kedge_bytes_equal_text(etag, self->etag) || total != self->total;
    if (self->changed) return KEDGE_OK;
    if (first != self->offset || (response->body.size == 0 && total > 0))
        return kedge_s3_response_invalid(request, "is another piece than was asked for", error);
    kedge_buffer_append_bytes(out, kedge_buffer_bytes(&response->body));
    self->offset += (int64_t)response->body.size;
    return kedge_buffer_status(out, error);
}

/* `ranged` false: the whole object, for one without bytes, which has no first piece. */
static kedge_status read_piece(const kedge_s3 *self, kedge_bytes key, bool ranged, reading *state,
                               kedge_buffer *out, kedge_error *error)
{
    char range[64];
    snprintf(range, sizeof range, "bytes=%" PRId64 "-%" PRId64, state->offset,
             state->offset + KEDGE_S3_PART_BYTES - 1);
    const kedge_http_header headers[] = {{"Range", range}};
    const kedge_s3_request request = {.action = "s3:GetObject",
                                      .method = "GET",
                                      .key = key,
                                      .headers = headers,
                                      .header_count = ranged ? 1 : 0,
                                      .response_bytes_max = KEDGE_BLOB_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_OK) {
        status = take_piece(state, &request, &response, out, error);
    } else if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "NoSuchKey")) {
        status = kedge_blob_not_found(key, error);
    } else if (status == KEDGE_CONFLICT && response.status == 416 && ranged && state->offset == 0) {
        status = read_piece(self, key, false, state, out, error);
    } else if (status == KEDGE_CONFLICT && response.status == 416) {
        state->changed = true;
        status = KEDGE_OK;
    } else if (status == KEDGE_CONFLICT) {
        status = kedge_s3_refused(&response, error);
    }
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status read_whole(const kedge_s3 *self, kedge_bytes key, bool *changed,
                               kedge_buffer *out, kedge_error *error)
{
    reading state = {.total = -1};
    kedge_status status;
    do { /* at most KEDGE_BLOB_BYTES_MAX / 1: each piece has bytes */
        status = read_piece(self, key, true, &state, out, error);
    } while (status == KEDGE_OK && !state.changed && state.offset < state.total);
    *changed = state.changed;
    return status;
}

kedge_status kedge_s3_get(const kedge_s3 *self, kedge_bytes key, kedge_buffer *out,
                          kedge_error *error)
{
    size_t start = out->size;
    for (int i = 0; i < KEDGE_S3_TRIES_MAX; i++) {
        bool changed = false;
        kedge_status status = read_whole(self, key, &changed, out, error);
        if (status == KEDGE_OK && !changed) return KEDGE_OK;
        kedge_buffer_truncate(out, start);
        if (status != KEDGE_OK) return status;
    }
    return kedge_fail(error, KEDGE_UNAVAILABLE, "blob-changes",
                      "the blob %.*s was replaced each time while it was being read", (int)key.size,
                      key.data);
}
