/* See gate.h. */
#include "backend/http/gate.h"

#include "common/assert.h"

#include <string.h>
#include <strings.h>

#define REFUSED_HEAD "GET " KEDGE_GATE_REFUSED " HTTP/1.1\r\nHost: refused\r\n\r\n"

void kedge_gate_open(kedge_gate *gate, const kedge_allocator *allocator, bool encrypted)
{
    *gate = (kedge_gate){.encrypted = encrypted,
                         .head = kedge_buffer_make(allocator),
                         .output = kedge_buffer_make(allocator)};
}

void kedge_gate_close(kedge_gate *gate)
{
    kedge_buffer_free(&gate->head);
    kedge_buffer_free(&gate->output);
}

static void drop_head(kedge_gate *gate)
{
    kedge_buffer_free(&gate->head);
    gate->digits = 0;
}

static void refuse(kedge_gate *gate, int status, const char *problem)
{
    if (gate->status != 0) return; /* the first problem is told */
    gate->status = status;
    gate->problem = problem;
}

/* ---- the parts of a head ---- */

typedef struct parsed_head {
    kedge_gate *gate;
    bool newer; /* HTTP/1.1 */
    int hosts;
    int lengths;
    int codings;
    int authorizations;
    int headers;
    uint64_t length;
} parsed_head;

/* RFC 9110, section 5.6.2. */
static bool is_token(kedge_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
    }
    return text.size > 0;
}

static bool is_text(kedge_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

static bool is(kedge_bytes text, const char *wanted)
{
    return text.size == strlen(wanted) && strncasecmp(text.data, wanted, text.size) == 0;
}

static bool read_length(kedge_bytes text, uint64_t *length)
{
    *length = 0;
    if (text.size == 0 || text.size > KEDGE_GATE_LENGTH_DIGITS) return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *length = *length * 10 + (uint64_t)(text.data[i] - '0');
    }
    return true;
}

static kedge_bytes before(kedge_bytes text, char mark, kedge_bytes *rest)
{
    const char *found = memchr(text.data, mark, text.size);
    size_t size = found ? (size_t)(found - text.data) : text.size;
    size_t over = found ? size + 1 : size;
    *rest = (kedge_bytes){text.data + over, text.size - over};
    return (kedge_bytes){text.data, size};
}

static void check_target(kedge_gate *gate, kedge_bytes target)
{
    size_t parameters = 1;
    if (target.size > KEDGE_GATE_TARGET_BYTES) refuse(gate, 414, "the target is over 8 KiB");
    if (target.size == 0) refuse(gate, 400, "the request line has no target");
    for (size_t i = 0; i < target.size; i++) {
        unsigned char c = (unsigned char)target.data[i];
        if (c <= ' ' || c >= 0x7f) refuse(gate, 400, "the target has a byte that is not allowed");
        if (c == '&') parameters++;
    }
    if (parameters > KEDGE_GATE_PARAMETERS)
        refuse(gate, 414, "the query has more than 32 parameters");
}

static void check_request_line(parsed_head *head, kedge_bytes line)
{
    kedge_bytes rest;
    kedge_bytes method = before(line, ' ', &rest);
    kedge_bytes target = before(rest, ' ', &rest);
    head->newer = kedge_bytes_equal_text(rest, "HTTP/1.1");
    if (!is_token(method) || method.size > KEDGE_GATE_METHOD_BYTES)
        refuse(head->gate, 400, "the request line begins with no method");
    check_target(head->gate, target);
    if (head->newer || kedge_bytes_equal_text(rest, "HTTP/1.0")) return;
    refuse(head->gate, 400, "the version of HTTP must be HTTP/1.1 or HTTP/1.0");
}

/* Headers of which there may be one. */
static void check_meaning(parsed_head *head, kedge_bytes name, kedge_bytes value)
{
    kedge_gate *gate = head->gate;
    if (is(name, "Host") && head->hosts++ > 0) refuse(gate, 400, "there is more than one Host");
    if (is(name, "Authorization") && head->authorizations++ > 0)
        refuse(gate, 400, "there is more than one Authorization");
    if (is(name, "Content-Length")) {
        if (head->lengths++ > 0) refuse(gate, 400, "there is more than one Content-Length");
        if (!read_length(value, &head->length))
            refuse(gate, 400, "Content-Length must be one number of at most 15 digits");
    }
    if (is(name, "Transfer-Encoding")) {
        if (head->codings++ > 0) refuse(gate, 400, "there is more than one Transfer-Encoding");
        if (!is(value, "chunked")) refuse(gate, 400, "Transfer-Encoding must be chunked");
    }
}

static void append_line(kedge_buffer *out, kedge_bytes line)
{
    kedge_buffer_append_bytes(out, line);
    kedge_buffer_append_text(out, "\r\n");
}

/* What a peer may put around a value is no part of it (RFC 9112, section 5.1). The library would
 * take what stands after a value for a part of it, and would not know the body of a request with
 * "Transfer-Encoding: chunked " for a chunked one. */
static void pass_header(kedge_gate *gate, kedge_bytes name, kedge_bytes value)
{
    kedge_buffer_append_bytes(&gate->output, name);
    kedge_buffer_append_byte(&gate->output, ':');
    append_line(&gate->output, value);
}

static void take_header(parsed_head *head, kedge_bytes line)
{
    kedge_gate *gate = head->gate;
    kedge_bytes value;
    kedge_bytes name = before(line, ':', &value);
    if (++head->headers > KEDGE_GATE_HEADERS) refuse(gate, 431, "there are more than 64 headers");
    if (name.size == line.size) refuse(gate, 400, "a header has no colon, or is folded");
    if (!is_token(name)) {
        refuse(gate, 400,
               "the name of a header has a byte that is not allowed, such as a space before the "
               "colon");
    }
    while (value.size > 0 && (value.data[0] == ' ' || value.data[0] == '\t'))
        value = (kedge_bytes){value.data + 1, value.size - 1};
    while (value.size > 0 &&
           (value.data[value.size - 1] == ' ' || value.data[value.size - 1] == '\t'))
        value.size--;
    if (!is_text(value)) refuse(gate, 400, "the value of a header has a control character");
    check_meaning(head, name, value);
    if (!is(name, "Cookie")) pass_header(gate, name, value);
}

static void check_together(const parsed_head *head)
{
    if (head->hosts == 0 && head->newer) refuse(head->gate, 400, "Host is missing");
    if (head->codings > 0 && !head->newer)
        refuse(head->gate, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (head->codings > 0 && head->lengths > 0)
        refuse(head->gate, 400, "there is a Content-Length beside a Transfer-Encoding");
}

/* The head is complete: its lines end with "\r\n", which stands nowhere else. */
static void pass_head(kedge_gate *gate)
{
    parsed_head head = {.gate = gate};
    kedge_bytes rest = kedge_buffer_bytes(&gate->head);
    size_t before_head = gate->output.size;
    kedge_bytes line = before(rest, '\r', &rest);
    check_request_line(&head, line);
    append_line(&gate->output, line);
    while (gate->status == 0 && rest.size > 3) {
        rest = (kedge_bytes){rest.data + 1, rest.size - 1}; /* the line feed */
        line = before(rest, '\r', &rest);
        take_header(&head, line);
    }
    if (gate->status == 0) check_together(&head);
    drop_head(gate);
    if (gate->status != 0) {
        gate->output.size = before_head;
        return;
    }
    kedge_buffer_append_text(&gate->output, "\r\n");
    gate->left = head.length;
    gate->state = head.codings > 0  ? KEDGE_GATE_CHUNK_SIZE
                  : head.length > 0 ? KEDGE_GATE_BODY
                                    : KEDGE_GATE_HEAD;
}

/* ---- bytes of a head ---- */

static bool ends_with(const kedge_buffer *buffer, const char *end)
{
    size_t size = strlen(end);
    return buffer->size >= size && memcmp(buffer->data + buffer->size - size, end, size) == 0;
}

/* A problem ends the head, also when it is not complete. */
static void take_head_byte(kedge_gate *gate, char c)
{
    kedge_buffer *head = &gate->head;
    bool after_return = ends_with(head, "\r");
    if ((c == '\n') != after_return)
        refuse(gate, 400, "a line must end with a carriage return and a line feed");
    if (c == '\0') refuse(gate, 400, "the head has a NUL");
    kedge_buffer_append_byte(head, c);
    if (c == '\n' && head->size == 2) { /* an empty line before a request (RFC 9112, 2.2) */
        if (gate->digits++ > 0) refuse(gate, 400, "there is no request line");
        head->size = 0;
        return;
    }
    if (head->size > KEDGE_GATE_HEAD_BYTES) {
        bool first = memchr(head->data, '\n', head->size) == NULL;
        refuse(gate, first ? 414 : 431,
               first ? "the request line is too long" : "the head is over 16 KiB");
    }
    if (head->no_memory) refuse(gate, 503, "the server is out of memory; try again");
    if (gate->status == 0 && c == '\n' && ends_with(head, "\r\n\r\n")) pass_head(gate);
}

static void take_head(kedge_gate *gate, char c)
{
    take_head_byte(gate, c);
    if (gate->status == 0) return;
    drop_head(gate);
    kedge_buffer_append_text(&gate->output, REFUSED_HEAD);
    gate->state = KEDGE_GATE_DROPS;
}

/* ---- bytes of a chunked body ---- */

/* The library gets the size of a chunk when its line is complete, without what is after it, and so
 * can be given the end of the body at any time. */
static void pass_size(kedge_gate *gate)
{
    if (gate->left > 0)
        kedge_buffer_append_format(&gate->output, "%llx\r\n", (unsigned long long)gate->left);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static kedge_gate_state after_size(kedge_gate *gate, char c)
{
    int digit = digit_of(c);
    if (digit >= 0) {
        gate->left = gate->digits++ == 0 ? (uint64_t)digit : gate->left * 16 + (uint64_t)digit;
        return gate->digits > KEDGE_GATE_CHUNK_DIGITS ? KEDGE_GATE_DROPS : KEDGE_GATE_CHUNK_SIZE;
    }
    if (gate->digits == 0) return KEDGE_GATE_DROPS;
    gate->digits = 0;
    if (c == ';') return KEDGE_GATE_CHUNK_EXTENSION;
    return c == '\r' ? KEDGE_GATE_CHUNK_SIZE_END : KEDGE_GATE_DROPS;
}

static kedge_gate_state after_extension(kedge_gate *gate, char c)
{
    if (c == '\r') {
        gate->digits = 0;
        return KEDGE_GATE_CHUNK_SIZE_END;
    }
    bool taken = is_text((kedge_bytes){&c, 1}) && gate->digits++ < KEDGE_GATE_EXTENSION_BYTES;
    return taken ? KEDGE_GATE_CHUNK_EXTENSION : KEDGE_GATE_DROPS;
}

/* KEDGE_GATE_DROPS when the byte does not belong there. */
static kedge_gate_state next_state(kedge_gate *gate, char c)
{
    switch (gate->state) {
    case KEDGE_GATE_CHUNK_SIZE:
        return after_size(gate, c);
    case KEDGE_GATE_CHUNK_EXTENSION:
        return after_extension(gate, c);
    case KEDGE_GATE_CHUNK_SIZE_END:
        if (c != '\n') return KEDGE_GATE_DROPS;
        pass_size(gate);
        return gate->left > 0 ? KEDGE_GATE_CHUNK_DATA : KEDGE_GATE_LAST_END;
    case KEDGE_GATE_CHUNK_END:
        return c == '\r' ? KEDGE_GATE_CHUNK_END_END : KEDGE_GATE_DROPS;
    case KEDGE_GATE_CHUNK_END_END:
        return c == '\n' ? KEDGE_GATE_CHUNK_SIZE : KEDGE_GATE_DROPS;
    case KEDGE_GATE_LAST_END: /* trailers are not taken */
        return c == '\r' ? KEDGE_GATE_LAST_END_END : KEDGE_GATE_DROPS;
    case KEDGE_GATE_LAST_END_END:
        if (c != '\n') return KEDGE_GATE_DROPS;
        kedge_buffer_append_text(&gate->output, "0\r\n\r\n");
        return KEDGE_GATE_HEAD;
    default:
        return KEDGE_GATE_DROPS;
    }
}

static void take_framing(kedge_gate *gate, char c)
{
    gate->state = next_state(gate, c);
    if (gate->state == KEDGE_GATE_DROPS)
        kedge_buffer_append_text(&gate->output, "0\r\n" KEDGE_GATE_BROKEN_BODY ": 1\r\n\r\n");
}

/* ---- all bytes ---- */

uint64_t kedge_gate_passes(const kedge_gate *gate)
{
    bool data = gate->state == KEDGE_GATE_BODY || gate->state == KEDGE_GATE_CHUNK_DATA;
    return data ? gate->left : 0;
}

void kedge_gate_passed(kedge_gate *gate, size_t size)
{
    KEDGE_ASSERT(size <= kedge_gate_passes(gate));
    gate->left -= size;
    if (gate->left > 0) return;
    bool chunk = gate->state == KEDGE_GATE_CHUNK_DATA;
    gate->state = chunk ? KEDGE_GATE_CHUNK_END : KEDGE_GATE_HEAD;
    if (chunk) kedge_buffer_append_text(&gate->output, "\r\n");
}

void kedge_gate_feed(kedge_gate *gate, const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && gate->state != KEDGE_GATE_DROPS && gate->state != KEDGE_GATE_BROKEN) {
        uint64_t passes = kedge_gate_passes(gate);
        if (passes > 0) {
            size_t now = size - at < passes ? size - at : (size_t)passes;
            kedge_buffer_append(&gate->output, bytes + at, now);
            kedge_gate_passed(gate, now);
            at += now;
        } else if (gate->state == KEDGE_GATE_HEAD) {
            take_head(gate, bytes[at++]);
        } else {
            take_framing(gate, bytes[at++]);
        }
    }
    if (gate->output.no_memory) gate->state = KEDGE_GATE_BROKEN;
}

size_t kedge_gate_take(kedge_gate *gate, char *out, size_t size)
{
    size_t left = gate->output.no_memory ? 0 : gate->output.size - gate->given;
    size_t now = left < size ? left : size;
    if (now > 0) memcpy(out, gate->output.data + gate->given, now);
    gate->given += now;
    if (now == left) {
        kedge_buffer_free(&gate->output);
        gate->given = 0;
    }
    return now;
}

bool kedge_gate_holds_a_head(const kedge_gate *gate)
{
    return gate->state == KEDGE_GATE_HEAD && gate->head.size > 0;
}
