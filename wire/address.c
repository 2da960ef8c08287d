/* See address.h. */
#include "wire/address.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/percent.h"

#include <kedge/limits.h>
#include <string.h>

/* ---- the path ---- */

bool kedge_wire_path_cut(kedge_bytes path, kedge_wire_path *out)
{
    out->count = 0;
    if (path.size == 0 || path.data[0] != '/') return false;
    kedge_bytes rest = {path.data + 1, path.size - 1};
    for (;;) {
        if (out->count == KEDGE_WIRE_PATH_PARTS_MAX) return false;
        const char *slash = rest.size == 0 ? NULL : memchr(rest.data, '/', rest.size);
        size_t size = slash == NULL ? rest.size : (size_t)(slash - rest.data);
        out->part[out->count++] = (kedge_bytes){rest.data, size};
        if (slash == NULL) return true;
        rest = (kedge_bytes){slash + 1, rest.size - size - 1};
    }
}

bool kedge_wire_path_matches(const kedge_wire_path *pattern, const kedge_wire_path *path)
{
    if (pattern->count != path->count) return false;
    for (size_t at = 0; at < path->count; at++) {
        kedge_bytes wanted = pattern->part[at];
        KEDGE_ASSERT(wanted.size > 0);
        if (wanted.data[0] != '{' && !kedge_bytes_equal(wanted, path->part[at])) return false;
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

kedge_status kedge_wire_query_find(kedge_bytes query, const char *name, kedge_bytes *value,
                                   bool *present, kedge_error *error)
{
    kedge_bytes found_name;
    kedge_bytes found;
    *present = false;
    while (next_parameter(&query, &found_name, &found)) {
        if (!kedge_bytes_equal_text(found_name, name)) continue;
        if (*present) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "query-invalid",
                              "the parameter \"%s\" is given twice", name);
        }
        *present = true;
        *value = found;
    }
    return KEDGE_OK;
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

kedge_status kedge_wire_query_integer(kedge_bytes query, const char *name, int64_t least,
                                      int64_t most, int64_t *value, kedge_error *error)
{
    kedge_bytes text;
    bool present;
    int64_t number;
    KEDGE_ASSERT(least >= 0 && least <= most);
    kedge_status status = kedge_wire_query_find(query, name, &text, &present, error);
    if (status != KEDGE_OK || !present) return status;
    if (!read_digits(text, &number) || number < least || number > most) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "query-invalid",
                          "the parameter \"%s\" must be a whole number from %lld to %lld", name,
                          (long long)least, (long long)most);
    }
    *value = number;
    return KEDGE_OK;
}

kedge_status kedge_wire_query_text(kedge_bytes query, const char *name, kedge_buffer *text,
                                   bool *present, kedge_error *error)
{
    kedge_bytes value;
    kedge_error why = {0};
    kedge_status status = kedge_wire_query_find(query, name, &value, present, error);
    if (status != KEDGE_OK || !*present) return status;
    if (value.size > KEDGE_WIRE_PATH_BYTES_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "query-invalid",
                          "the parameter \"%s\" has %zu bytes; at most %d are allowed", name,
                          value.size, KEDGE_WIRE_PATH_BYTES_MAX);
    }
    if (!kedge_percent_decode(value, text, &why)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "query-invalid",
                          "the parameter \"%s\" cannot be decoded: %s", name, why.message);
    }
    return kedge_buffer_status(text, error);
}

bool kedge_wire_version_read(kedge_bytes text, int64_t *number)
{
    if (kedge_bytes_equal_text(text, "latest")) {
        *number = 0;
        return true;
    }
    return read_digits(text, number) && *number > 0;
}
