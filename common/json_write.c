/* Writing JSON into a buffer. */
#include "common/json_tokens.h"
#include "common/utf8.h"

#include <string.h>

#define REPLACEMENT KEDGE_BYTES("\xEF\xBF\xBD") /* U+FFFD */

kedge_json_writer kedge_json_write(kedge_buffer *buffer)
{
    return (kedge_json_writer){.buffer = buffer, .comma = false};
}

/* ---- places ---- */

static void begin_value(kedge_json_writer *writer)
{
    if (writer->comma) kedge_buffer_append_byte(writer->buffer, ',');
    writer->comma = true;
}

static void begin_container(kedge_json_writer *writer, char open)
{
    begin_value(writer);
    kedge_buffer_append_byte(writer->buffer, open);
    writer->comma = false;
}

static void end_container(kedge_json_writer *writer, char close)
{
    kedge_buffer_append_byte(writer->buffer, close);
    writer->comma = true;
}

void kedge_json_begin_object(kedge_json_writer *writer)
{
    begin_container(writer, '{');
}

void kedge_json_end_object(kedge_json_writer *writer)
{
    end_container(writer, '}');
}

void kedge_json_begin_array(kedge_json_writer *writer)
{
    begin_container(writer, '[');
}

void kedge_json_end_array(kedge_json_writer *writer)
{
    end_container(writer, ']');
}

void kedge_json_key(kedge_json_writer *writer, const char *name)
{
    kedge_json_key_bytes(writer, kedge_bytes_of(name));
}

void kedge_json_key_bytes(kedge_json_writer *writer, kedge_bytes name)
{
    kedge_json_text(writer, name);
    kedge_buffer_append_byte(writer->buffer, ':');
    writer->comma = false;
}

/* ---- values ---- */

/* The escape for the byte at `at`, which cannot be written as it is. */
static void append_substitute(kedge_buffer *buffer, unsigned char byte)
{
    char escape[6];
    size_t size = byte == 0 ? 0 : kedge_json_escape_of(byte, escape);
    if (size == 0) {
        kedge_buffer_append_bytes(buffer, REPLACEMENT);
    } else {
        kedge_buffer_append(buffer, escape, size);
    }
}

void kedge_json_text(kedge_json_writer *writer, kedge_bytes utf8)
{
    kedge_buffer *buffer = writer->buffer;
    begin_value(writer);
    kedge_buffer_append_byte(buffer, '"');
    const char *at = utf8.size == 0 ? "" : utf8.data;
    const char *end = at + utf8.size;
    const char *run = at;
    while (at < end) {
        at = kedge_json_plain_run(at, end);
        if (at == end) break;
        size_t sequence = kedge_utf8_sequence(at, (size_t)(end - at));
        if (sequence > 1) {
            at += sequence;
            continue;
        }
        kedge_buffer_append(buffer, run, (size_t)(at - run));
        append_substitute(buffer, (unsigned char)*at);
        run = ++at;
    }
    kedge_buffer_append(buffer, run, (size_t)(end - run));
    kedge_buffer_append_byte(buffer, '"');
}

void kedge_json_chars(kedge_json_writer *writer, const char *text)
{
    kedge_json_text(writer, kedge_bytes_of(text));
}

void kedge_json_integer(kedge_json_writer *writer, int64_t value)
{
    begin_value(writer);
    kedge_buffer_append_format(writer->buffer, "%lld", (long long)value);
}

void kedge_json_number(kedge_json_writer *writer, double value)
{
    char text[KEDGE_JSON_NUMBER_SIZE];
    begin_value(writer);
    kedge_buffer_append(writer->buffer, text, kedge_json_format_number(value, text));
}

void kedge_json_boolean(kedge_json_writer *writer, bool value)
{
    begin_value(writer);
    kedge_buffer_append_text(writer->buffer, value ? "true" : "false");
}

void kedge_json_null(kedge_json_writer *writer)
{
    begin_value(writer);
    kedge_buffer_append_text(writer->buffer, "null");
}

void kedge_json_raw(kedge_json_writer *writer, kedge_bytes value)
{
    begin_value(writer);
    kedge_buffer_append_bytes(writer->buffer, value);
}
