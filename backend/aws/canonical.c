/* The canonical form of a request's path, query and headers. */
#include "backend/aws/canonical.h"

#include "common/percent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the path ---- */

/* Takes the last segment and its slash off; what stands before `start` stays. */
static void drop_segment(kedge_buffer *out, size_t start)
{
    size_t size = out->size;
    while (size > start && out->data[size - 1] != '/') {
        size--;
    }
    kedge_buffer_truncate(out, size > start ? size - 1 : start);
}

/* RFC 3986, 5.2.4, and besides that empty segments go. A slash at the end stays. */
static void normalize(kedge_bytes path, kedge_buffer *out)
{
    size_t start = out->size;
    const char *at = path.data;
    const char *end = path.data + path.size;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        kedge_bytes segment = {at, (size_t)((slash == NULL ? end : slash) - at)};
        at += segment.size + 1;
        if (segment.size == 0 || kedge_bytes_equal_text(segment, ".")) continue;
        if (kedge_bytes_equal_text(segment, "..")) {
            drop_segment(out, start);
        } else {
            kedge_buffer_append_byte(out, '/');
            kedge_buffer_append_bytes(out, segment);
        }
    }
    if (out->size == start || path.data[path.size - 1] == '/') kedge_buffer_append_byte(out, '/');
}

void kedge_aws_canonical_path(const kedge_aws_signing *signing, kedge_bytes path, kedge_buffer *out)
{
    kedge_buffer normal = kedge_buffer_make(out->allocator);
    kedge_buffer once = kedge_buffer_make(out->allocator);
    if (signing->normalize_path) {
        normalize(path, &normal);
    } else {
        kedge_buffer_append_bytes(&normal, path);
    }
    kedge_percent_encode(kedge_buffer_bytes(&normal), KEDGE_PERCENT_UNRESERVED "/", &once);
    if (signing->encode_path_twice) {
        kedge_percent_encode(kedge_buffer_bytes(&once), KEDGE_PERCENT_UNRESERVED "/", out);
    } else {
        kedge_buffer_append_bytes(out, kedge_buffer_bytes(&once));
    }
    if (normal.no_memory || once.no_memory) out->no_memory = true;
    kedge_buffer_free(&normal);
    kedge_buffer_free(&once);
}

/* ---- the query ---- */

typedef struct encoded_parameter {
    kedge_bytes name;
    kedge_bytes value;
} encoded_parameter;

static int compare_parameters(const void *left, const void *right)
{
    const encoded_parameter *a = left;
    const encoded_parameter *b = right;
    int order = kedge_bytes_compare(a->name, b->name);
    return order != 0 ? order : kedge_bytes_compare(a->value, b->value);
}

void kedge_aws_canonical_query(const kedge_aws_parameter *parameters, size_t count,
                               kedge_buffer *out)
{
    encoded_parameter encoded[KEDGE_AWS_SIGNED_PARAMETERS_MAX];
    size_t sizes[KEDGE_AWS_SIGNED_PARAMETERS_MAX][2];
    kedge_buffer text = kedge_buffer_make(out->allocator);
    assert(count <= KEDGE_AWS_SIGNED_PARAMETERS_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t start = text.size;
        kedge_percent_encode(parameters[i].name, KEDGE_PERCENT_UNRESERVED, &text);
        sizes[i][0] = text.size - start;
        kedge_percent_encode(parameters[i].value, KEDGE_PERCENT_UNRESERVED, &text);
        sizes[i][1] = text.size - start - sizes[i][0];
    }
    if (!text.no_memory) {
        const char *next = text.data;
        for (size_t i = 0; i < count; i++) {
            encoded[i].name = (kedge_bytes){next, sizes[i][0]};
            encoded[i].value = (kedge_bytes){next + sizes[i][0], sizes[i][1]};
            next += sizes[i][0] + sizes[i][1];
        }
        qsort(encoded, count, sizeof encoded[0], compare_parameters);
        for (size_t i = 0; i < count; i++) {
            if (i > 0) kedge_buffer_append_byte(out, '&');
            kedge_buffer_append_bytes(out, encoded[i].name);
            kedge_buffer_append_byte(out, '=');
            kedge_buffer_append_bytes(out, encoded[i].value);
        }
    }
    if (text.no_memory) out->no_memory = true;
    kedge_buffer_free(&text);
}

/* ---- the headers ---- */

static bool white(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static void append_trimmed(kedge_buffer *out, const char *value)
{
    bool pending = false;
    bool begun = false;
    for (; *value != '\0'; value++) {
        if (white(*value)) {
            pending = begun;
            continue;
        }
        if (pending) kedge_buffer_append_byte(out, ' ');
        kedge_buffer_append_byte(out, *value);
        pending = false;
        begun = true;
    }
}

static void append_lower(kedge_buffer *out, const char *name)
{
    for (; *name != '\0'; name++) {
        char byte = *name;
        kedge_buffer_append_byte(out, byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte);
    }
}

/* Insertion sort: there are few, and those of one name must keep their order. */
static void sort_headers(const kedge_http_header **sorted, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const kedge_http_header *header = sorted[i];
        size_t at = i;
        while (at > 0 && strcasecmp(sorted[at - 1]->name, header->name) > 0) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = header;
    }
}

void kedge_aws_canonical_headers(const kedge_http_header *headers, size_t count,
                                 kedge_buffer *lines, kedge_buffer *names)
{
    const kedge_http_header *sorted[KEDGE_AWS_SIGNED_HEADERS_MAX];
    assert(count <= KEDGE_AWS_SIGNED_HEADERS_MAX);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &headers[i];
    }
    sort_headers(sorted, count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcasecmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            kedge_buffer_append_byte(lines, ',');
        } else {
            if (i > 0) kedge_buffer_append_byte(lines, '\n');
            if (i > 0) kedge_buffer_append_byte(names, ';');
            append_lower(lines, sorted[i]->name);
            append_lower(names, sorted[i]->name);
            kedge_buffer_append_byte(lines, ':');
        }
        append_trimmed(lines, sorted[i]->value);
    }
    if (count > 0) kedge_buffer_append_byte(lines, '\n');
}
