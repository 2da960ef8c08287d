/* The event stream parser: bytes to lines, lines to fields, fields to events. */
#include "sdk/net/sse.h"

#include "common/error.h"

#include <string.h>

kedge_sse kedge_sse_make(const kedge_allocator *allocator, kedge_sse_function function,
                         void *context)
{
    return (kedge_sse){.function = function,
                       .context = context,
                       .line = kedge_buffer_make(allocator),
                       .event = kedge_buffer_make(allocator),
                       .data = kedge_buffer_make(allocator)};
}

void kedge_sse_free(kedge_sse *sse)
{
    kedge_buffer_free(&sse->line);
    kedge_buffer_free(&sse->event);
    kedge_buffer_free(&sse->data);
}

static kedge_status too_large(kedge_error *error)
{
    return kedge_fail(error, KEDGE_PROTOCOL, "event-too-large",
                      "a line or the data of a streamed event is over %d bytes",
                      KEDGE_SSE_LINE_MAX);
}

static kedge_status dispatch(kedge_sse *sse, kedge_error *error)
{
    bool go_on = true;
    if (sse->data.size > 0) {
        kedge_bytes event =
            sse->event.size == 0 ? KEDGE_BYTES("message") : kedge_buffer_bytes(&sse->event);
        kedge_bytes data = kedge_buffer_bytes(&sse->data);
        data.size--; /* the LF that follows each data line */
        go_on = sse->function(sse->context, event, data);
    }
    if (!go_on) {
        return kedge_fail(error, KEDGE_CANCELLED, "stream-closed", "the event stream was closed");
    }
    kedge_buffer_clear(&sse->event);
    kedge_buffer_clear(&sse->data);
    return KEDGE_OK;
}

static kedge_status take_field(kedge_sse *sse, kedge_bytes field, kedge_bytes value,
                               kedge_error *error)
{
    if (kedge_bytes_equal_text(field, "event")) {
        kedge_buffer_clear(&sse->event);
        kedge_buffer_append_bytes(&sse->event, value);
        return kedge_buffer_status(&sse->event, error);
    }
    if (kedge_bytes_equal_text(field, "data")) {
        if (value.size + 1 > KEDGE_SSE_LINE_MAX - sse->data.size) return too_large(error);
        kedge_buffer_append_bytes(&sse->data, value);
        kedge_buffer_append_byte(&sse->data, '\n');
        return kedge_buffer_status(&sse->data, error);
    }
    return KEDGE_OK;
}

/* A whole line, without its end. */
static kedge_status take_line(kedge_sse *sse, kedge_error *error)
{
    kedge_bytes line = kedge_buffer_bytes(&sse->line);
    if (!sse->started && kedge_bytes_start_with(line, KEDGE_BYTES("\xEF\xBB\xBF"))) {
        line.data += 3;
        line.size -= 3;
    }
    sse->started = true;
    if (line.size == 0) return dispatch(sse, error);

    const char *colon = memchr(line.data, ':', line.size);
    kedge_bytes field = {line.data, colon == NULL ? line.size : (size_t)(colon - line.data)};
    kedge_bytes value = {NULL, 0};
    if (colon != NULL) {
        value = (kedge_bytes){colon + 1, line.size - field.size - 1};
        if (value.size > 0 && value.data[0] == ' ') {
            value.data++;
            value.size--;
        }
    }
    return take_field(sse, field, value, error);
}

static size_t line_end(kedge_bytes bytes)
{
    size_t at = 0;
    while (at < bytes.size && bytes.data[at] != '\n' && bytes.data[at] != '\r') {
        at++;
    }
    return at;
}

kedge_status kedge_sse_feed(kedge_sse *sse, kedge_bytes bytes, kedge_error *error)
{
    while (bytes.size > 0) {
        if (sse->after_cr && bytes.data[0] == '\n') {
            bytes.data++;
            bytes.size--;
        }
        if (bytes.size == 0) {
            sse->after_cr = false;
            return KEDGE_OK;
        }
        sse->after_cr = false;
        size_t size = line_end(bytes);
        if (size > KEDGE_SSE_LINE_MAX - sse->line.size) return too_large(error);
        kedge_buffer_append(&sse->line, bytes.data, size);
        kedge_status status = kedge_buffer_status(&sse->line, error);
        if (status != KEDGE_OK || size == bytes.size) return status;

        sse->after_cr = bytes.data[size] == '\r';
        bytes.data += size + 1;
        bytes.size -= size + 1;
        status = take_line(sse, error);
        if (status != KEDGE_OK) return status;
        kedge_buffer_clear(&sse->line);
    }
    return KEDGE_OK;
}
