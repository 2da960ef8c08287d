/* Checks that a text is exactly one I-JSON value.
 *
 * One pass by recursive descent, no deeper than the limit. Beside the grammar it watches whether
 * the text is canonical already, which most texts are: they come from another Kedge. The members of
 * an object that are written in canonical order are all different, as each is compared with the one
 * before; only an object in another order needs a search for duplicates. */
#include "common/error.h"
#include "common/json_tokens.h"
#include "common/utf8.h"

#include <kedge/limits.h>
#include <math.h>
#include <string.h>

#define PAIRWISE_MEMBERS 16 /* up to here each key is compared with each */

typedef struct scanner {
    const char *start;
    const char *at;
    const char *end;
    uint32_t depth_left;
    bool canonical;
    kedge_json_entries members;
    kedge_error *error;
    kedge_status status;
} scanner;

static bool scan_value(scanner *scan);

/* ---- failing ---- */

static bool fail(scanner *scan, const char *where, const char *code, const char *what)
{
    scan->status =
        kedge_fail(scan->error, KEDGE_INVALID_JSON, code, "JSON is invalid at byte %zu: %s",
                   (size_t)(where - scan->start), what);
    return false;
}

/* Names the byte that stands where something else was expected. */
static bool fail_expected(scanner *scan, const char *expected)
{
    size_t offset = (size_t)(scan->at - scan->start);
    if (scan->at == scan->end) {
        scan->status = kedge_fail(scan->error, KEDGE_INVALID_JSON, "json-syntax",
                                  "JSON is invalid at byte %zu: the text ends where %s is expected",
                                  offset, expected);
        return false;
    }
    unsigned byte = (unsigned char)*scan->at;
    bool printable = byte > 0x20 && byte < 0x7F;
    scan->status =
        kedge_fail(scan->error, KEDGE_INVALID_JSON, "json-syntax",
                   printable ? "JSON is invalid at byte %zu: %s is expected, not '%c'"
                             : "JSON is invalid at byte %zu: %s is expected, not byte 0x%02x",
                   offset, expected, byte);
    return false;
}

static bool fail_no_memory(scanner *scan)
{
    scan->status = kedge_fail_no_memory(scan->error);
    return false;
}

/* ---- the small pieces ---- */

static inline void skip_space(scanner *scan)
{
    const char *at = kedge_json_space(scan->at, scan->end);
    if (at == scan->at) return;
    scan->at = at;
    scan->canonical = false;
}

static bool scan_word(scanner *scan, kedge_bytes word)
{
    size_t left = (size_t)(scan->end - scan->at);
    if (left < word.size || memcmp(scan->at, word.data, word.size) != 0) {
        return fail_expected(scan, "a value");
    }
    scan->at += word.size;
    return true;
}

static bool scan_number(scanner *scan)
{
    const char *start = scan->at;
    kedge_json_decimal decimal;
    const char *end = kedge_json_read_decimal(start, scan->end, &decimal);
    if (end == NULL) return fail(scan, start, "json-syntax", "the number is malformed");
    scan->at = end;
    if (kedge_json_decimal_is_short(&decimal)) return true;
    if (!scan->canonical && kedge_json_decimal_is_small(&decimal)) return true;

    double value = kedge_json_decimal_value(&decimal);
    if (isinf(value)) {
        return fail(scan, start, "json-number-range", "the number is out of the range of a double");
    }
    char text[KEDGE_JSON_NUMBER_SIZE];
    size_t size = kedge_json_format_number(value, text);
    scan->canonical =
        scan->canonical &&
        kedge_bytes_equal((kedge_bytes){start, (size_t)(end - start)}, (kedge_bytes){text, size});
    return true;
}

/* ---- strings ---- */

static bool scan_escape(scanner *scan)
{
    const char *start = scan->at;
    uint32_t code_point = 0;
    switch (kedge_json_read_escape(&scan->at, scan->end, &code_point)) {
    case KEDGE_JSON_ESCAPE_MALFORMED:
        return fail(scan, start, "json-syntax", "the escape is malformed");
    case KEDGE_JSON_ESCAPE_SURROGATE:
        return fail(scan, start, "json-surrogate", "a surrogate stands alone");
    case KEDGE_JSON_ESCAPE_OK:
        break;
    }
    if (code_point == 0) return fail(scan, start, "json-nul", "a NUL is not allowed");
    char escape[6];
    size_t size = code_point < 0x80 ? kedge_json_escape_of((unsigned char)code_point, escape) : 0;
    kedge_bytes written = {start, (size_t)(scan->at - start)};
    if (!kedge_bytes_equal(written, (kedge_bytes){escape, size})) scan->canonical = false;
    return true;
}

/* `scan->at` is at the quote. `content` gets what is between the quotes. */
static bool scan_string(scanner *scan, kedge_bytes *content, bool *escaped)
{
    const char *start = ++scan->at;
    *escaped = false;
    for (;;) {
        scan->at = kedge_json_plain_run(scan->at, scan->end);
        if (scan->at == scan->end) return fail_expected(scan, "the end of a string");
        unsigned char byte = (unsigned char)*scan->at;
        if (byte == '"') break;
        if (byte == '\\') {
            *escaped = true;
            if (!scan_escape(scan)) return false;
        } else if (byte < 0x20) {
            return fail(scan, scan->at, "json-syntax", "a control character stands in a string");
        } else {
            size_t sequence = kedge_utf8_sequence(scan->at, (size_t)(scan->end - scan->at));
            if (sequence == 0) return fail(scan, scan->at, "json-utf8", "this is not UTF-8");
            scan->at += sequence;
        }
    }
    *content = (kedge_bytes){start, (size_t)(scan->at - start)};
    scan->at++;
    return true;
}

/* ---- objects and arrays ---- */

static const kedge_json_entry *find_duplicate(kedge_json_entry *members, size_t count)
{
    if (count <= PAIRWISE_MEMBERS) {
        for (size_t i = 1; i < count; i++) {
            for (size_t k = 0; k < i; k++) {
                bool may_equal = members[i].key.size == members[k].key.size || members[i].escaped ||
                                 members[k].escaped;
                if (may_equal && kedge_json_entry_compare(&members[i], &members[k]) == 0) {
                    return &members[i];
                }
            }
        }
        return NULL;
    }
    kedge_json_entries_sort(members, count);
    for (size_t i = 1; i < count; i++) {
        if (kedge_json_entry_compare(&members[i - 1], &members[i]) == 0) return &members[i];
    }
    return NULL;
}

/* All members from `base` on have been read. `ordered`: strictly in canonical order. */
static bool end_members(scanner *scan, size_t base, bool ordered)
{
    if (!ordered) {
        scan->canonical = false;
        const kedge_json_entry *twin =
            find_duplicate(scan->members.items + base, scan->members.count - base);
        if (twin != NULL) {
            return fail(scan, twin->key.data - 1, "json-duplicate-member",
                        "the object has a member of this name already");
        }
    }
    scan->members.count = base;
    return true;
}

static bool scan_member(scanner *scan, size_t base, bool *ordered)
{
    if (scan->at == scan->end || *scan->at != '"') return fail_expected(scan, "a member's name");
    kedge_json_entry *member = kedge_json_entries_add(&scan->members);
    if (member == NULL) return fail_no_memory(scan);
    if (!scan_string(scan, &member->key, &member->escaped)) return false;
    if (*ordered && scan->members.count > base + 1) {
        *ordered = kedge_json_entry_compare(member - 1, member) < 0;
    }
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != ':') return fail_expected(scan, "':'");
    scan->at++;
    skip_space(scan);
    return scan_value(scan);
}

static bool scan_object(scanner *scan)
{
    size_t base = scan->members.count;
    bool ordered = true;
    scan->at++;
    skip_space(scan);
    if (scan->at < scan->end && *scan->at == '}') {
        scan->at++;
        return true;
    }
    for (;;) {
        if (!scan_member(scan, base, &ordered)) return false;
        skip_space(scan);
        if (scan->at < scan->end && *scan->at == '}') break;
        if (scan->at == scan->end || *scan->at != ',') return fail_expected(scan, "',' or '}'");
        scan->at++;
        skip_space(scan);
    }
    scan->at++;
    return end_members(scan, base, ordered);
}

static bool scan_array(scanner *scan)
{
    scan->at++;
    skip_space(scan);
    if (scan->at < scan->end && *scan->at == ']') {
        scan->at++;
        return true;
    }
    for (;;) {
        if (!scan_value(scan)) return false;
        skip_space(scan);
        if (scan->at < scan->end && *scan->at == ']') break;
        if (scan->at == scan->end || *scan->at != ',') return fail_expected(scan, "',' or ']'");
        scan->at++;
        skip_space(scan);
    }
    scan->at++;
    return true;
}

static bool scan_container(scanner *scan, bool (*scan_inside)(scanner *))
{
    if (scan->depth_left == 0) {
        scan->status =
            kedge_fail(scan->error, KEDGE_LIMIT_EXCEEDED, "json-too-deep",
                       "JSON is nested too deep at byte %zu; at most %d levels are allowed",
                       (size_t)(scan->at - scan->start), KEDGE_LIMIT_JSON_DEPTH);
        return false;
    }
    scan->depth_left--;
    bool ok = scan_inside(scan);
    scan->depth_left++;
    return ok;
}

static bool scan_value(scanner *scan)
{
    kedge_bytes content;
    bool escaped;
    if (scan->at == scan->end) return fail_expected(scan, "a value");
    switch (*scan->at) {
    case '{':
        return scan_container(scan, scan_object);
    case '[':
        return scan_container(scan, scan_array);
    case '"':
        return scan_string(scan, &content, &escaped);
    case 't':
        return scan_word(scan, KEDGE_BYTES("true"));
    case 'f':
        return scan_word(scan, KEDGE_BYTES("false"));
    case 'n':
        return scan_word(scan, KEDGE_BYTES("null"));
    default:
        if (*scan->at == '-' || (*scan->at >= '0' && *scan->at <= '9')) return scan_number(scan);
        return fail_expected(scan, "a value");
    }
}

kedge_status kedge_json_check_with(kedge_bytes text, uint32_t depth_max,
                                   const kedge_allocator *allocator, bool *canonical,
                                   kedge_error *error)
{
    const char *start = text.size == 0 ? "" : text.data;
    scanner scan;
    scan.start = start;
    scan.at = start;
    scan.end = start + text.size;
    scan.depth_left = depth_max < KEDGE_LIMIT_JSON_DEPTH ? depth_max : KEDGE_LIMIT_JSON_DEPTH;
    scan.canonical = canonical != NULL;
    scan.error = error;
    scan.status = KEDGE_OK;
    kedge_json_entries_init(&scan.members, allocator);

    skip_space(&scan);
    if (scan_value(&scan)) {
        skip_space(&scan);
        if (scan.at != scan.end) fail_expected(&scan, "the end of the text");
    }
    kedge_json_entries_free(&scan.members);
    if (canonical != NULL) *canonical = scan.canonical;
    return scan.status;
}

kedge_status kedge_json_check(kedge_bytes text, uint32_t depth_max,
                              const kedge_allocator *allocator, kedge_error *error)
{
    return kedge_json_check_with(text, depth_max, allocator, NULL, error);
}

kedge_status kedge_json_check_string(kedge_bytes text, kedge_error *error)
{
    if (kedge_json_type_of(text) != KEDGE_JSON_STRING) {
        return kedge_fail(error, KEDGE_INVALID_JSON, "json-syntax", "a string is expected");
    }
    /* Only the members of an object take memory. */
    return kedge_json_check_with(text, 0, &kedge_allocator_default, NULL, error);
}
