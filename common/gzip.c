/* gzip (RFC 1952) over zlib. zlib's memory comes from the output buffer's allocator; its counts are
 * 32 bits wide, so that input is handed over in parts. */
#include "common/gzip.h"

#include "common/error.h"

#include <string.h>
#include <zlib.h>

#define INPUT_PART     ((size_t)1 << 30)
#define OUTPUT_PART    ((size_t)64 * 1024)
#define GZIP_FORMAT    16 /* added to a window's bits it asks for the gzip format */
#define WINDOW_MIN     9
#define WINDOW_MAX     15
#define LOOKAHEAD      262 /* of zlib: a window must be larger than the input by so much */
#define MEMORY_MAX     8   /* zlib's default */
#define UNKNOWN_SYSTEM 255

static voidpf allocate_for_zlib(voidpf opaque, uInt items, uInt size)
{
    const kedge_allocator *allocator = opaque;
    if (size != 0 && items > SIZE_MAX / size) return NULL;
    return kedge_allocate(allocator, (size_t)items * size);
}

static void release_for_zlib(voidpf opaque, voidpf block)
{
    kedge_release(opaque, block);
}

static z_stream stream_with(const kedge_allocator *allocator)
{
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    stream.zalloc = allocate_for_zlib;
    stream.zfree = release_for_zlib;
    /* zlib's opaque pointer is not const; the functions above only read through it. */
    memcpy(&stream.opaque, &allocator, sizeof stream.opaque);
    return stream;
}

/* Hands the next part of `input` to the stream when it has used up the last one. */
static void feed(z_stream *stream, kedge_bytes *input)
{
    if (stream->avail_in > 0 || input->size == 0) return;
    size_t part = input->size < INPUT_PART ? input->size : INPUT_PART;
    stream->next_in = (z_const Bytef *)input->data;
    stream->avail_in = (uInt)part;
    input->data += part;
    input->size -= part;
}

/* Small inputs are many, and a window of 32 KB costs 256 KB that are cleared each time. */
static int window_for(size_t size)
{
    int bits = WINDOW_MIN;
    while (bits < WINDOW_MAX && ((size_t)1 << bits) < size + LOOKAHEAD)
        bits++;
    return bits;
}

static int memory_for(int window)
{
    return window - 6 < MEMORY_MAX ? window - 6 : MEMORY_MAX;
}

/* `flush`: Z_FINISH, which ends with Z_STREAM_END, or Z_SYNC_FLUSH, which ends with Z_OK. */
static int deflate_all(z_stream *stream, kedge_bytes plain, int flush, kedge_buffer *out)
{
    int result = Z_OK;
    bool flushed = false;
    size_t part = plain.size < OUTPUT_PART / 2 ? plain.size + LOOKAHEAD : OUTPUT_PART;
    while (result == Z_OK && !flushed) {
        feed(stream, &plain);
        char *room = kedge_buffer_reserve(out, part);
        if (room == NULL) return Z_MEM_ERROR;
        stream->next_out = (Bytef *)room;
        stream->avail_out = (uInt)part;
        result = deflate(stream, plain.size == 0 ? flush : Z_NO_FLUSH);
        out->size += part - stream->avail_out;
        /* Room that is left over after a flush says that it is complete. */
        flushed = flush == Z_SYNC_FLUSH && plain.size == 0 && stream->avail_out > 0;
    }
    return result;
}

static void head_for(gz_header *header)
{
    memset(header, 0, sizeof *header);
    header->os = UNKNOWN_SYSTEM; /* the same bytes on every system */
}

static kedge_status compress_at(int level, kedge_bytes plain, kedge_buffer *out, kedge_error *error)
{
    size_t start = out->size;
    z_stream stream = stream_with(out->allocator);
    gz_header header;
    head_for(&header);

    int window = window_for(plain.size);
    int result = deflateInit2(&stream, level, Z_DEFLATED, window + GZIP_FORMAT, memory_for(window),
                              Z_DEFAULT_STRATEGY);
    if (result != Z_OK) return kedge_fail_no_memory(error);
    deflateSetHeader(&stream, &header);
    result = deflate_all(&stream, plain, Z_FINISH, out);
    deflateEnd(&stream);
    if (result != Z_STREAM_END) {
        kedge_buffer_truncate(out, start);
        return kedge_fail_no_memory(error);
    }
    kedge_buffer_append(out, "", 0);
    return KEDGE_OK;
}

kedge_status kedge_gzip(kedge_bytes plain, kedge_buffer *out, kedge_error *error)
{
    return compress_at(Z_DEFAULT_COMPRESSION, plain, out, error);
}

kedge_status kedge_gzip_quick(kedge_bytes plain, kedge_buffer *out, kedge_error *error)
{
    return compress_at(Z_BEST_SPEED, plain, out, error);
}

/* ---- a stream ---- */

struct kedge_gzip_stream {
    const kedge_allocator *allocator;
    z_stream stream;
    gz_header header;
};

kedge_gzip_stream *kedge_gzip_stream_new(const kedge_allocator *allocator)
{
    kedge_gzip_stream *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return NULL;
    made->allocator = allocator;
    made->stream = stream_with(allocator);
    head_for(&made->header);
    if (deflateInit2(&made->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_MAX + GZIP_FORMAT,
                     MEMORY_MAX, Z_DEFAULT_STRATEGY) != Z_OK) {
        kedge_release(allocator, made);
        return NULL;
    }
    deflateSetHeader(&made->stream, &made->header);
    return made;
}

void kedge_gzip_stream_free(kedge_gzip_stream *stream)
{
    if (stream == NULL) return;
    deflateEnd(&stream->stream);
    kedge_release(stream->allocator, stream);
}

kedge_status kedge_gzip_stream_write(kedge_gzip_stream *stream, kedge_bytes plain, bool last,
                                     kedge_buffer *out, kedge_error *error)
{
    int result = deflate_all(&stream->stream, plain, last ? Z_FINISH : Z_SYNC_FLUSH, out);
    if (result != (last ? Z_STREAM_END : Z_OK)) return kedge_fail_no_memory(error);
    kedge_buffer_append(out, "", 0);
    return kedge_buffer_status(out, error);
}

/* Most inputs are small. Their first part has room for a text that was made four times shorter. */
static size_t first_part(size_t compressed)
{
    size_t guess = compressed < OUTPUT_PART ? 4 * compressed + LOOKAHEAD : OUTPUT_PART;
    return guess < OUTPUT_PART ? guess : OUTPUT_PART;
}

/* Until the end of the stream, or `size_max` bytes and one more that did not
 * fit: Z_BUF_ERROR then. With Z_FINISH zlib makes no window for what fits into the first part, and
 * answers Z_BUF_ERROR when the room or the input of a call is used up. */
static int inflate_all(z_stream *stream, kedge_bytes *compressed, size_t size_max,
                       kedge_buffer *out)
{
    size_t room_left = size_max;
    size_t part = first_part(compressed->size);
    int result = Z_BUF_ERROR;
    while (result == Z_BUF_ERROR) {
        Bytef one_too_many;
        if (part > room_left) part = room_left;
        char *room = kedge_buffer_reserve(out, part);
        if (room == NULL) return Z_MEM_ERROR;
        feed(stream, compressed);
        stream->next_out = part == 0 ? &one_too_many : (Bytef *)room;
        stream->avail_out = part == 0 ? 1 : (uInt)part;
        result = inflate(stream, Z_FINISH);
        if (part == 0 && stream->avail_out == 0) return Z_BUF_ERROR;
        if (part > 0) {
            size_t written = part - stream->avail_out;
            out->size += written;
            room_left -= written;
        }
        /* There was room, and the input has ended: cut short. */
        if (result == Z_BUF_ERROR && stream->avail_out > 0 && compressed->size == 0)
            return Z_DATA_ERROR;
        part = OUTPUT_PART;
    }
    return result;
}

kedge_status kedge_gunzip(kedge_bytes compressed, size_t size_max, kedge_buffer *out,
                          kedge_error *error)
{
    size_t start = out->size;
    size_t compressed_size = compressed.size;
    z_stream stream = stream_with(out->allocator);
    if (inflateInit2(&stream, WINDOW_MAX + GZIP_FORMAT) != Z_OK) return kedge_fail_no_memory(error);
    int result = inflate_all(&stream, &compressed, size_max, out);
    bool trailing = result == Z_STREAM_END && (stream.avail_in > 0 || compressed.size > 0);
    inflateEnd(&stream);
    if (result == Z_STREAM_END && !trailing) {
        kedge_buffer_append(out, "", 0);
        return kedge_buffer_status(out, error);
    }
    kedge_buffer_truncate(out, start);
    if (result == Z_MEM_ERROR) return kedge_fail_no_memory(error);
    if (result == Z_BUF_ERROR) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "gzip-too-large",
                          "the gzip stream holds more than the %zu bytes allowed", size_max);
    }
    return kedge_fail(error, KEDGE_CORRUPT, "gzip-damaged",
                      "the %zu bytes are not one whole gzip stream%s", compressed_size,
                      trailing ? ": something follows it" : "");
}

uint32_t kedge_crc32(kedge_bytes bytes)
{
    uLong sum = crc32(0, NULL, 0);
    while (bytes.size > 0) {
        size_t part = bytes.size < INPUT_PART ? bytes.size : INPUT_PART;
        sum = crc32(sum, (const Bytef *)bytes.data, (uInt)part);
        bytes.data += part;
        bytes.size -= part;
    }
    return (uint32_t)sum;
}
