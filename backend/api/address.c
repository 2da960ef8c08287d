/* What a request's address says: percent-decoding, and the parameters of its query. */
#include "backend/api/call.h"
#include "common/error.h"
#include "common/utf8.h"

#include <string.h>

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

bool kedge_api_percent_decode(kedge_bytes text, kedge_buffer *out, kedge_error *error)
{
    size_t start = out->size;
    for (size_t at = 0; at < text.size; at++) {
        char byte = text.data[at];
        if (byte == '%') {
            int high = at + 2 < text.size ? hex_digit(text.data[at + 1]) : -1;
            int low = at + 2 < text.size ? hex_digit(text.data[at + 2]) : -1;
            if (high < 0 || low < 0) {
                kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-escape",
                           "the '%%' at offset %zu has no two hexadecimal digits behind it", at);
                return false;
            }
            byte = (char)(high * 16 + low);
            at += 2;
        }
        if (byte == '\0') {
            kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-escape", "a NUL is not allowed");
            return false;
        }
        kedge_buffer_append_byte(out, byte);
    }
    kedge_bytes decoded = {out->data == NULL ? NULL : out->data + start, out->size - start};
    if (!out->no_memory && !kedge_bytes_are_utf8(decoded)) {
        kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-utf8", "it is not UTF-8");
        return false;
    }
    return true;
}

/* ---- the query ---- */

/* Takes the next name=value off `*rest`. */
static bool next_parameter(kedge_bytes *rest, kedge_bytes *name, kedge_bytes *value)
{
    if (rest->size == 0) return false;
    const char *ampersand = memchr(rest->data, '&', rest->size);
    size_t size = ampersand == NULL ? rest->size : (size_t)(ampersand - rest->data);
    const char *equals = size == 0 ? NULL : memchr(rest->data, '=', size);
    size_t name_size = equals == NULL ? size : (size_t)(equals - rest->data);
    size_t behind = equals == NULL ? size : name_size + 1;
    *name = (kedge_bytes){rest->data, name_size};
    *value = (kedge_bytes){rest->data + behind, size - behind};
    size_t taken = ampersand == NULL ? size : size + 1;
    *rest = (kedge_bytes){rest->data + taken, rest->size - taken};
    return true;
}

/* The value of the one parameter of this name, still encoded. False after a refusal. */
static bool find_parameter(kedge_api_call *call, const char *wanted, kedge_bytes *value,
                           bool *present)
{
    kedge_bytes rest = call->request->query;
    kedge_bytes name;
    kedge_bytes found;
    *present = false;
    while (next_parameter(&rest, &name, &found)) {
        if (!kedge_bytes_equal_text(name, wanted)) continue;
        if (*present) {
            kedge_api_refuse(call, 400, "query-invalid", "the parameter \"%s\" is given twice",
                             wanted);
            return false;
        }
        *present = true;
        *value = found;
    }
    return true;
}

static bool read_digits(kedge_bytes text, int64_t *value)
{
    if (text.size == 0 || text.size > 16) return false;
    int64_t number = 0;
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] < '0' || text.data[at] > '9') return false;
        number = number * 10 + (text.data[at] - '0');
    }
    *value = number;
    return number <= KEDGE_LIMIT_MUTATION_ID;
}

bool kedge_api_query_integer(kedge_api_call *call, const char *name, int64_t least, int64_t most,
                             int64_t *value)
{
    kedge_bytes text;
    bool present;
    int64_t number;
    if (!find_parameter(call, name, &text, &present)) return false;
    if (!present) return true;
    if (!read_digits(text, &number) || number < least || number > most) {
        kedge_api_refuse(call, 400, "query-invalid",
                         "the parameter \"%s\" must be a whole number from %lld to %lld", name,
                         (long long)least, (long long)most);
        return false;
    }
    *value = number;
    return true;
}

bool kedge_api_query_text(kedge_api_call *call, const char *name, kedge_buffer *text, bool *present)
{
    kedge_bytes value;
    if (!find_parameter(call, name, &value, present)) return false;
    if (!*present) return true;
    if (value.size > KEDGE_API_PATH_BYTES_MAX) {
        kedge_api_refuse(call, 400, "query-invalid",
                         "the parameter \"%s\" has %zu bytes; at most %d are allowed", name,
                         value.size, KEDGE_API_PATH_BYTES_MAX);
        return false;
    }
    if (!kedge_api_percent_decode(value, text, &call->error)) {
        kedge_api_refuse(call, 400, "query-invalid", "the parameter \"%s\" cannot be decoded: %s",
                         name, call->error.message);
        return false;
    }
    if (text->no_memory) {
        kedge_api_fail(call, KEDGE_NO_MEMORY);
        return false;
    }
    return true;
}

bool kedge_api_version_number(kedge_bytes text, int64_t *number)
{
    if (kedge_bytes_equal_text(text, "latest")) {
        *number = 0;
        return true;
    }
    return read_digits(text, number) && *number > 0;
}
