/* JSON Pointer (RFC 6901): "" is the whole document, else each token follows a '/', with ~1 for '/'
 * and ~0 for '~'. */
#include "mutate/json_pointer.h"

#include "common/error.h"
#include "mutate/json_members.h"

#include <string.h>

kedge_json_pointer kedge_json_pointer_make(const kedge_allocator *allocator)
{
    return (kedge_json_pointer){.tokens = kedge_buffer_make(allocator)};
}

void kedge_json_pointer_free(kedge_json_pointer *pointer)
{
    kedge_buffer_free(&pointer->tokens);
}

/* Appends the token without its escapes; false when an escape is neither ~0 nor ~1. */
static bool unescape(kedge_bytes token, kedge_buffer *plain)
{
    for (size_t at = 0; at < token.size; at++) {
        char byte = token.data[at];
        if (byte == '~') {
            at++;
            if (at == token.size || (token.data[at] != '0' && token.data[at] != '1')) return false;
            byte = token.data[at] == '0' ? '~' : '/';
        }
        kedge_buffer_append_byte(plain, byte);
    }
    return true;
}

static kedge_status add_token(kedge_json_pointer *pointer, kedge_bytes token, kedge_buffer *plain,
                              kedge_error *error)
{
    if (pointer->count == KEDGE_LIMIT_JSON_DEPTH) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid", "has more than %d tokens",
                          KEDGE_LIMIT_JSON_DEPTH);
    }
    kedge_buffer_clear(plain);
    if (!unescape(token, plain)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid",
                          "has a '~' that neither 0 nor 1 follows");
    }
    kedge_status status = kedge_buffer_status(plain, error);
    if (status != KEDGE_OK) return status;
    kedge_json_writer writer = kedge_json_write(&pointer->tokens);
    kedge_json_text(&writer, kedge_buffer_bytes(plain));
    pointer->ends[pointer->count++] = pointer->tokens.size;
    return kedge_buffer_status(&pointer->tokens, error);
}

static kedge_status parse_text(kedge_json_pointer *pointer, kedge_bytes text, kedge_buffer *plain,
                               kedge_error *error)
{
    if (text.size > 0 && text.data[0] != '/') {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid",
                          "must be empty or start with '/'");
    }
    kedge_status status = KEDGE_OK;
    size_t at = 0;
    while (status == KEDGE_OK && at < text.size) {
        const char *start = text.data + at + 1;
        size_t left = text.size - at - 1;
        const char *slash = left == 0 ? NULL : memchr(start, '/', left);
        size_t size = slash == NULL ? left : (size_t)(slash - start);
        status = add_token(pointer, (kedge_bytes){start, size}, plain, error);
        at += 1 + size;
    }
    return status;
}

kedge_status kedge_json_pointer_parse(kedge_json_pointer *pointer, kedge_bytes value,
                                      kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(pointer->tokens.allocator);
    kedge_buffer plain = kedge_buffer_make(pointer->tokens.allocator);
    kedge_status status = KEDGE_OK;
    kedge_buffer_clear(&pointer->tokens);
    pointer->count = 0;
    if (kedge_json_type_of(value) != KEDGE_JSON_STRING || !kedge_json_to_text(value, &text)) {
        status = kedge_buffer_status(&text, error);
        if (status == KEDGE_OK) {
            status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid", "must be a string");
        }
    }
    if (status == KEDGE_OK) status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK) {
        status = parse_text(pointer, kedge_buffer_bytes(&text), &plain, error);
    }
    kedge_buffer_free(&plain);
    kedge_buffer_free(&text);
    return status;
}

kedge_bytes kedge_json_pointer_token(const kedge_json_pointer *pointer, size_t at)
{
    size_t start = at == 0 ? 0 : pointer->ends[at - 1];
    return (kedge_bytes){pointer->tokens.data + start, pointer->ends[at] - start};
}

bool kedge_json_pointer_equal(const kedge_json_pointer *a, const kedge_json_pointer *b)
{
    return kedge_bytes_equal(kedge_buffer_bytes(&a->tokens), kedge_buffer_bytes(&b->tokens));
}

bool kedge_json_pointer_is_below(const kedge_json_pointer *child, const kedge_json_pointer *parent)
{
    /* A string in quotes is no prefix of another one, so that bytes decide. */
    return child->count > parent->count &&
           kedge_bytes_start_with(kedge_buffer_bytes(&child->tokens),
                                  kedge_buffer_bytes(&parent->tokens));
}

bool kedge_json_pointer_index(kedge_bytes token, size_t *index)
{
    size_t digits = token.size - 2;
    const char *text = token.data + 1;
    if (digits == 0 || digits > 9 || (digits > 1 && text[0] == '0')) return false;
    size_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = 10 * value + (size_t)(text[i] - '0');
    }
    *index = value;
    return true;
}

bool kedge_json_pointer_find(const kedge_json_pointer *pointer, kedge_bytes text,
                             kedge_bytes *value)
{
    for (size_t i = 0; i < pointer->count; i++) {
        size_t index = 0;
        kedge_bytes token = kedge_json_pointer_token(pointer, i);
        kedge_json_type type = kedge_json_type_of(text);
        if (type < KEDGE_JSON_ARRAY ||
            (type == KEDGE_JSON_ARRAY && !kedge_json_pointer_index(token, &index)))
            return false;
        kedge_json_members children = kedge_json_members_start(text);
        while (children.more &&
               (children.elements ? index-- > 0 : !kedge_bytes_equal(children.key, token)))
            kedge_json_members_advance(&children);
        if (!children.more) return false;
        text = children.value;
    }
    *value = text;
    return true;
}
