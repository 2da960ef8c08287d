/* Finds values in JSON text by quotes and brackets alone, iterates over them, and reads them by
 * type. */
#include "common/json_tokens.h"

#include <math.h>

#define INTEGER_MAX 9007199254740991.0 /* 2^53 - 1 */

/* ---- skipping ---- */

/* `at` is at a quote. Returns what is after the closing one, or NULL. */
static const char *skip_string(const char *at, const char *end)
{
    at++;
    for (;;) {
        at = kedge_json_plain_run(at, end);
        if (at == end) return NULL;
        if (*at == '"') return at + 1;
        if (*at == '\\' && ++at == end) return NULL;
        at++;
    }
}

/* `at` is at a bracket. Any kind closes any other: only the depth counts. */
static const char *skip_container(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        switch (*at) {
        case '"':
            at = skip_string(at, end);
            if (at == NULL) return NULL;
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            depth--;
            if (depth == 0) return at + 1;
            break;
        default:
            break;
        }
        at++;
    }
    return NULL;
}

static bool ends_scalar(char byte)
{
    return byte == ',' || byte == ':' || byte == ']' || byte == '}' || byte == '[' || byte == '{' ||
           byte == '"' || byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static const char *skip_scalar(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && !ends_scalar(*at))
        at++;
    return at == start ? NULL : at;
}

bool kedge_json_skip(kedge_bytes text, kedge_bytes *value, kedge_bytes *rest)
{
    if (text.size == 0) return false;
    const char *end = text.data + text.size;
    const char *start = kedge_json_space(text.data, end);
    if (start == end) return false;
    const char *behind;
    if (*start == '"') {
        behind = skip_string(start, end);
    } else if (*start == '{' || *start == '[') {
        behind = skip_container(start, end);
    } else {
        behind = skip_scalar(start, end);
    }
    if (behind == NULL) return false;
    *value = (kedge_bytes){start, (size_t)(behind - start)};
    if (rest != NULL) *rest = (kedge_bytes){behind, (size_t)(end - behind)};
    return true;
}

kedge_json_type kedge_json_type_of(kedge_bytes value)
{
    if (value.size == 0) return KEDGE_JSON_INVALID;
    switch (value.data[0]) {
    case 'n':
        return KEDGE_JSON_NULL;
    case 't':
    case 'f':
        return KEDGE_JSON_BOOLEAN;
    case '"':
        return KEDGE_JSON_STRING;
    case '[':
        return KEDGE_JSON_ARRAY;
    case '{':
        return KEDGE_JSON_OBJECT;
    default:
        break;
    }
    bool number = value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9');
    return number ? KEDGE_JSON_NUMBER : KEDGE_JSON_INVALID;
}

/* ---- walking ---- */

static void trim(kedge_bytes *text)
{
    if (text->size == 0) return;
    const char *end = text->data + text->size;
    text->data = kedge_json_space(text->data, end);
    text->size = (size_t)(end - text->data);
}

kedge_json_iterator kedge_json_iterate(kedge_bytes container)
{
    kedge_json_iterator iterator = {.rest = container};
    trim(&iterator.rest);
    return iterator;
}

static bool fail(kedge_json_iterator *iterator)
{
    iterator->failed = true;
    iterator->rest = (kedge_bytes){NULL, 0};
    return false;
}

/* Takes `byte` off the rest, and white space after it. */
static bool take(kedge_json_iterator *iterator, char byte)
{
    if (iterator->rest.size == 0 || iterator->rest.data[0] != byte) return false;
    iterator->rest.data++;
    iterator->rest.size--;
    trim(&iterator->rest);
    return true;
}

/* Moves to the next member or element; false at the end, where the closing bracket stays in `rest`,
 * so that a further call stops there again. */
static bool advance(kedge_json_iterator *iterator, char open, char close)
{
    if (iterator->failed) return false;
    bool first = !iterator->started;
    iterator->started = true;
    if (first && !take(iterator, open)) return fail(iterator);
    if (iterator->rest.size > 0 && iterator->rest.data[0] == close) {
        kedge_bytes behind = {iterator->rest.data + 1, iterator->rest.size - 1};
        trim(&behind);
        return behind.size == 0 ? false : fail(iterator);
    }
    if (!first && !take(iterator, ',')) return fail(iterator);
    return true;
}

bool kedge_json_next_member(kedge_json_iterator *iterator, kedge_bytes *key, kedge_bytes *value)
{
    kedge_bytes name;
    kedge_bytes found;
    if (!advance(iterator, '{', '}')) return false;
    if (!kedge_json_skip(iterator->rest, &name, &iterator->rest) || name.data[0] != '"') {
        return fail(iterator);
    }
    trim(&iterator->rest);
    if (!take(iterator, ':')) return fail(iterator);
    if (!kedge_json_skip(iterator->rest, &found, &iterator->rest)) return fail(iterator);
    trim(&iterator->rest);
    *key = name;
    *value = found;
    return true;
}

bool kedge_json_next_element(kedge_json_iterator *iterator, kedge_bytes *value)
{
    kedge_bytes found;
    if (!advance(iterator, '[', ']')) return false;
    if (!kedge_json_skip(iterator->rest, &found, &iterator->rest)) return fail(iterator);
    trim(&iterator->rest);
    *value = found;
    return true;
}

bool kedge_json_member(kedge_bytes object, const char *name, kedge_bytes *value)
{
    kedge_bytes key;
    kedge_bytes found;
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &found)) {
        if (!kedge_json_text_equals(key, name)) continue;
        *value = found;
        return true;
    }
    return false;
}

/* ---- typed reads ---- */

bool kedge_json_to_boolean(kedge_bytes value, bool *out)
{
    bool is_true = kedge_bytes_equal_text(value, "true");
    if (!is_true && !kedge_bytes_equal_text(value, "false")) return false;
    *out = is_true;
    return true;
}

bool kedge_json_to_number(kedge_bytes value, double *out)
{
    if (value.size == 0) return false;
    kedge_json_decimal decimal;
    const char *end = value.data + value.size;
    if (kedge_json_read_decimal(value.data, end, &decimal) != end) return false;
    double number = kedge_json_decimal_value(&decimal);
    if (isinf(number)) return false;
    *out = number == 0 ? 0 : number;
    return true;
}

bool kedge_json_is_integer(double number)
{
    return fabs(number) <= INTEGER_MAX && number == (double)(int64_t)number;
}

bool kedge_json_to_integer(kedge_bytes value, int64_t *out)
{
    double number;
    if (!kedge_json_to_number(value, &number)) return false;
    if (!kedge_json_is_integer(number)) return false;
    *out = (int64_t)number;
    return true;
}

bool kedge_json_to_text(kedge_bytes value, kedge_buffer *out)
{
    size_t size;
    if (value.size < 2) return false;
    /* No escape makes a string longer. */
    char *room = kedge_buffer_reserve(out, value.size - 2);
    if (room == NULL || !kedge_json_string_decode(value, room, value.size - 2, &size)) {
        kedge_buffer_append(out, "", 0);
        return false;
    }
    out->size += size;
    kedge_buffer_append(out, "", 0);
    return true;
}

bool kedge_json_copy_text(kedge_bytes value, kedge_arena *arena, kedge_bytes *copy)
{
    size_t size;
    if (value.size < 2) return false;
    char *room = kedge_arena_take(arena, value.size - 1);
    if (room == NULL || !kedge_json_string_decode(value, room, value.size - 2, &size)) return false;
    *copy = (kedge_bytes){room, size};
    return true;
}

bool kedge_json_to_chars(kedge_bytes value, char *out, size_t out_size)
{
    size_t size;
    if (!kedge_json_string_decode(value, NULL, 0, &size) || size >= out_size) return false;
    kedge_json_string_decode(value, out, size, &size);
    out[size] = '\0';
    return true;
}

bool kedge_json_member_integer(kedge_bytes object, const char *name, int64_t *out)
{
    kedge_bytes value;
    return kedge_json_member(object, name, &value) && kedge_json_to_integer(value, out);
}

bool kedge_json_member_chars(kedge_bytes object, const char *name, char *out, size_t out_size)
{
    kedge_bytes value;
    return kedge_json_member(object, name, &value) && kedge_json_to_chars(value, out, out_size);
}
