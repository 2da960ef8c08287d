/* The messages between the server and its mutator children. */
#include "backend/plugin/frame.h"

#include "common/error.h"

static void put_little_endian(char *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (char)(unsigned char)(value >> (8 * i));
}

static uint64_t get_little_endian(const char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

void kedge_frame_begin(kedge_buffer *frame, kedge_frame_type type)
{
    char header[KEDGE_FRAME_HEADER_BYTES] = {0};
    header[4] = (char)type;
    kedge_buffer_clear(frame);
    kedge_buffer_append(frame, header, sizeof header);
}

void kedge_frame_add_bytes(kedge_buffer *frame, kedge_bytes bytes)
{
    char size[4];
    put_little_endian(size, bytes.size, sizeof size);
    kedge_buffer_append(frame, size, sizeof size);
    kedge_buffer_append_bytes(frame, bytes);
}

void kedge_frame_add_text(kedge_buffer *frame, const char *text)
{
    kedge_frame_add_bytes(frame, kedge_bytes_of(text));
}

void kedge_frame_add_integer(kedge_buffer *frame, int64_t integer)
{
    char bytes[8];
    put_little_endian(bytes, (uint64_t)integer, sizeof bytes);
    kedge_buffer_append(frame, bytes, sizeof bytes);
}

kedge_status kedge_frame_end(kedge_buffer *frame, kedge_error *error)
{
    kedge_status status = kedge_buffer_status(frame, error);
    if (status != KEDGE_OK) return status;
    size_t size = frame->size - KEDGE_FRAME_HEADER_BYTES;
    if (size > KEDGE_FRAME_PAYLOAD_MAX) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "frame-too-large",
                          "a message to a mutator process is %zu bytes; at most %d are allowed",
                          size, KEDGE_FRAME_PAYLOAD_MAX);
    }
    put_little_endian(frame->data, size, 4);
    return KEDGE_OK;
}

bool kedge_frame_header(const char header[KEDGE_FRAME_HEADER_BYTES], kedge_frame_type *type,
                        size_t *size)
{
    *size = (size_t)get_little_endian(header, 4);
    unsigned char kind = (unsigned char)header[4];
    if (*size > KEDGE_FRAME_PAYLOAD_MAX || kind < KEDGE_FRAME_HELLO || kind > KEDGE_FRAME_DONE) {
        return false;
    }
    *type = (kedge_frame_type)kind;
    return true;
}

static kedge_bytes take(kedge_frame_reader *reader, size_t size)
{
    if (reader->failed || size > reader->rest.size) {
        reader->failed = true;
        return (kedge_bytes){NULL, 0};
    }
    kedge_bytes taken = {reader->rest.data, size};
    if (size > 0) reader->rest.data += size;
    reader->rest.size -= size;
    return taken;
}

kedge_bytes kedge_frame_take_bytes(kedge_frame_reader *reader)
{
    kedge_bytes size = take(reader, 4);
    if (reader->failed) return size;
    return take(reader, (size_t)get_little_endian(size.data, 4));
}

int64_t kedge_frame_take_integer(kedge_frame_reader *reader)
{
    kedge_bytes bytes = take(reader, 8);
    return reader->failed ? 0 : (int64_t)get_little_endian(bytes.data, 8);
}

bool kedge_frame_is_complete(const kedge_frame_reader *reader)
{
    return !reader->failed && reader->rest.size == 0;
}
