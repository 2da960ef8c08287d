/* See body.h. */
#include "wire/body.h"

#include "common/assert.h"
#include "common/percent.h"

#include <inttypes.h>
#include <stdio.h>

#define DIGITS_MAX 15

/* Takes `text` off the front. */
static bool take_text(kedge_bytes *rest, kedge_bytes text)
{
    if (!kedge_bytes_start_with(*rest, text)) return false;
    *rest = (kedge_bytes){rest->data + text.size, rest->size - text.size};
    return true;
}

/* Takes digits off the front. */
static bool take_number(kedge_bytes *rest, int64_t *number)
{
    size_t at = 0;
    int64_t found = 0;
    while (at < rest->size && at < DIGITS_MAX && rest->data[at] >= '0' && rest->data[at] <= '9')
        found = found * 10 + (rest->data[at++] - '0');
    if (at == 0) return false;
    *number = found;
    *rest = (kedge_bytes){rest->data + at, rest->size - at};
    return true;
}

void kedge_wire_body_request_write(kedge_bytes collection, const uint8_t hash[KEDGE_SHA256_SIZE],
                                   kedge_buffer *path)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(hash, KEDGE_SHA256_SIZE, hex);
    kedge_buffer_append_text(path, "collections/");
    kedge_percent_encode(collection, KEDGE_PERCENT_UNRESERVED, path);
    kedge_buffer_append_format(path, "/bodies/%s", hex);
}

void kedge_wire_range_write(int64_t first, int64_t last, char out[KEDGE_WIRE_RANGE_SIZE])
{
    KEDGE_ASSERT(first >= 0 && first <= last);
    snprintf(out, KEDGE_WIRE_RANGE_SIZE, "bytes=%" PRId64 "-%" PRId64, first, last);
}

kedge_wire_range kedge_wire_range_read(kedge_bytes header, kedge_wire_body_part *out)
{
    int64_t from = -1;
    int64_t to = -1;
    int64_t size = out->size_bytes;
    KEDGE_ASSERT(size >= 0);
    if (!take_text(&header, KEDGE_BYTES("bytes="))) return KEDGE_WIRE_RANGE_ALL;
    bool has_from = take_number(&header, &from);
    if (!take_text(&header, KEDGE_BYTES("-"))) return KEDGE_WIRE_RANGE_ALL;
    bool has_to = take_number(&header, &to);
    if (header.size != 0 || (!has_from && !has_to)) return KEDGE_WIRE_RANGE_ALL;
    if (has_from && has_to && to < from) return KEDGE_WIRE_RANGE_ALL;
    if (!has_from) { /* the last `to` bytes */
        if (to == 0) return KEDGE_WIRE_RANGE_OUTSIDE;
        out->first = to > size ? 0 : size - to;
        out->last = size - 1;
        return KEDGE_WIRE_RANGE_PART;
    }
    if (from >= size) return KEDGE_WIRE_RANGE_OUTSIDE;
    out->first = from;
    out->last = has_to && to < size ? to : size - 1;
    return KEDGE_WIRE_RANGE_PART;
}

void kedge_wire_content_range_write(const kedge_wire_body_part *part,
                                    char out[KEDGE_WIRE_RANGE_SIZE])
{
    snprintf(out, KEDGE_WIRE_RANGE_SIZE, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, part->first,
             part->last, part->size_bytes);
}

void kedge_wire_content_range_write_outside(int64_t size_bytes, char out[KEDGE_WIRE_RANGE_SIZE])
{
    snprintf(out, KEDGE_WIRE_RANGE_SIZE, "bytes */%" PRId64, size_bytes);
}

bool kedge_wire_content_range_read(kedge_bytes header, kedge_wire_body_part *out)
{
    return take_text(&header, KEDGE_BYTES("bytes ")) && take_number(&header, &out->first) &&
           take_text(&header, KEDGE_BYTES("-")) && take_number(&header, &out->last) &&
           take_text(&header, KEDGE_BYTES("/")) && take_number(&header, &out->size_bytes) &&
           header.size == 0 && out->first <= out->last && out->last < out->size_bytes;
}
