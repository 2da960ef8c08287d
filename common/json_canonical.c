/* Canonical JSON (RFC 8785).
 *
 * One pass copies the value without white space, with minimal escapes and shortest numbers, and
 * remembers where each member of an object went. When an object ends and its members do not stand
 * in order, they are put in order by way of a scratch buffer. */
#include "common/error.h"
#include "common/json_tokens.h"

#include <kedge/limits.h>
#include <math.h>
#include <string.h>

typedef struct composer {
    const char *start;
    const char *at;
    const char *end;
    uint32_t depth_left;
    kedge_buffer *out;
    kedge_buffer scratch;
    kedge_json_entries members;
    bool no_memory;
} composer;

/* Every function below returns false when memory ran out or the text is not what was checked. */
static bool compose_value(composer *compose);

kedge_status kedge_json_normalize(kedge_bytes text, uint32_t depth_max, kedge_buffer *out,
                                  kedge_error *error)
{
    bool canonical;
    kedge_status status = kedge_json_check_with(text, depth_max, out->allocator, &canonical, error);
    if (status != KEDGE_OK) return status;
    if (!canonical) return kedge_json_canonical(text, out, error);
    kedge_buffer_append_bytes(out, text);
    return kedge_buffer_status(out, error);
}

kedge_status kedge_json_canonical(kedge_bytes value, kedge_buffer *out, kedge_error *error)
{
    size_t out_start = out->size;
    composer compose;
    compose.start = value.size == 0 ? "" : value.data;
    compose.at = compose.start;
    compose.end = compose.start + value.size;
    compose.depth_left = KEDGE_LIMIT_JSON_DEPTH;
    compose.out = out;
    compose.scratch = kedge_buffer_make(out->allocator);
    compose.no_memory = false;
    kedge_json_entries_init(&compose.members, out->allocator);

    compose.at = kedge_json_space(compose.at, compose.end);
    bool composed = compose_value(&compose);
    compose.at = kedge_json_space(compose.at, compose.end);
    bool no_memory = compose.no_memory || compose.scratch.no_memory || out->no_memory;
    kedge_json_entries_free(&compose.members);
    kedge_buffer_free(&compose.scratch);

    if (composed && !no_memory && compose.at == compose.end) return KEDGE_OK;
    kedge_buffer_truncate(out, out_start);
    if (no_memory) return kedge_fail_no_memory(error);
    return kedge_fail(error, KEDGE_INVALID_JSON, "json-syntax", "JSON is invalid at byte %zu",
                      (size_t)(compose.at - compose.start));
}

/* ---- scalars ---- */

static bool compose_word(composer *compose, kedge_bytes word)
{
    kedge_bytes left = {compose->at, (size_t)(compose->end - compose->at)};
    if (!kedge_bytes_start_with(left, word)) return false;
    kedge_buffer_append_bytes(compose->out, word);
    compose->at += word.size;
    return true;
}

static bool compose_number(composer *compose)
{
    kedge_json_decimal decimal;
    const char *end = kedge_json_read_decimal(compose->at, compose->end, &decimal);
    if (end == NULL) return false;
    if (kedge_json_decimal_is_short(&decimal)) {
        kedge_buffer_append(compose->out, compose->at, (size_t)(end - compose->at));
    } else {
        double value = kedge_json_decimal_value(&decimal);
        if (isinf(value)) return false;
        char text[KEDGE_JSON_NUMBER_SIZE];
        kedge_buffer_append(compose->out, text, kedge_json_format_number(value, text));
    }
    compose->at = end;
    return true;
}

static bool compose_escape(composer *compose)
{
    uint32_t code_point;
    char text[6];
    size_t size = 0;
    if (kedge_json_read_escape(&compose->at, compose->end, &code_point) != KEDGE_JSON_ESCAPE_OK) {
        return false;
    }
    if (code_point < 0x80) size = kedge_json_escape_of((unsigned char)code_point, text);
    if (size == 0) size = kedge_json_encode_utf8(code_point, text);
    kedge_buffer_append(compose->out, text, size);
    return true;
}

/* `content` gets what is between the quotes in the source. */
static bool compose_string(composer *compose, kedge_bytes *content, bool *escaped)
{
    const char *start = ++compose->at;
    const char *run = start;
    *escaped = false;
    kedge_buffer_append_byte(compose->out, '"');
    for (;;) {
        compose->at = kedge_json_plain_run(compose->at, compose->end);
        if (compose->at == compose->end) return false;
        if (*compose->at == '"') break;
        if (*compose->at != '\\') {
            compose->at++;
            continue;
        }
        *escaped = true;
        kedge_buffer_append(compose->out, run, (size_t)(compose->at - run));
        if (!compose_escape(compose)) return false;
        run = compose->at;
    }
    kedge_buffer_append(compose->out, run, (size_t)(compose->at - run));
    kedge_buffer_append_byte(compose->out, '"');
    *content = (kedge_bytes){start, (size_t)(compose->at - start)};
    compose->at++;
    return true;
}

/* ---- objects and arrays ---- */

/* Writes the members again, in order, over the place where they stand. `start` is the place of the
 * first one in the output. */
static void reorder(composer *compose, kedge_json_entry *members, size_t count, size_t start)
{
    kedge_buffer *scratch = &compose->scratch;
    kedge_buffer_clear(scratch);
    kedge_json_entries_sort(members, count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) kedge_buffer_append_byte(scratch, ',');
        kedge_buffer_append(scratch, compose->out->data + members[i].offset, members[i].size);
    }
    if (scratch->no_memory) {
        compose->no_memory = true;
        return;
    }
    memcpy(compose->out->data + start, scratch->data, scratch->size);
}

static bool expect(composer *compose, char byte)
{
    compose->at = kedge_json_space(compose->at, compose->end);
    if (compose->at == compose->end || *compose->at != byte) return false;
    compose->at++;
    compose->at = kedge_json_space(compose->at, compose->end);
    return true;
}

/* One member, and whether it follows the one before in order. */
static bool compose_member(composer *compose, size_t base, bool *ordered)
{
    kedge_json_entry member = {.offset = compose->out->size};
    if (compose->at == compose->end || *compose->at != '"') return false;
    if (!compose_string(compose, &member.key, &member.escaped)) return false;
    if (!expect(compose, ':')) return false;
    kedge_buffer_append_byte(compose->out, ':');
    if (!compose_value(compose)) return false;
    member.size = compose->out->size - member.offset;

    kedge_json_entry *kept = kedge_json_entries_add(&compose->members);
    if (kept == NULL) {
        compose->no_memory = true;
        return false;
    }
    *kept = member;
    if (*ordered && compose->members.count > base + 1) {
        *ordered = kedge_json_entry_compare(kept - 1, kept) < 0;
    }
    return true;
}

static bool compose_object(composer *compose)
{
    size_t base = compose->members.count;
    size_t start = compose->out->size + 1;
    bool ordered = true;
    kedge_buffer_append_byte(compose->out, '{');
    expect(compose, '{');
    if (!expect(compose, '}')) {
        do {
            if (compose->members.count > base) kedge_buffer_append_byte(compose->out, ',');
            if (!compose_member(compose, base, &ordered)) return false;
        } while (expect(compose, ','));
        if (!expect(compose, '}')) return false;
    }
    if (compose->out->no_memory) return false;
    if (!ordered) {
        reorder(compose, compose->members.items + base, compose->members.count - base, start);
    }
    compose->members.count = base;
    kedge_buffer_append_byte(compose->out, '}');
    return !compose->no_memory;
}

static bool compose_array(composer *compose)
{
    bool first = true;
    kedge_buffer_append_byte(compose->out, '[');
    expect(compose, '[');
    if (!expect(compose, ']')) {
        do {
            if (!first) kedge_buffer_append_byte(compose->out, ',');
            first = false;
            if (!compose_value(compose)) return false;
        } while (expect(compose, ','));
        if (!expect(compose, ']')) return false;
    }
    kedge_buffer_append_byte(compose->out, ']');
    return true;
}

static bool compose_container(composer *compose, bool (*compose_inside)(composer *))
{
    if (compose->depth_left == 0) return false;
    compose->depth_left--;
    bool composed = compose_inside(compose);
    compose->depth_left++;
    return composed;
}

static bool compose_value(composer *compose)
{
    kedge_bytes content;
    bool escaped;
    if (compose->at == compose->end || compose->out->no_memory) return false;
    switch (*compose->at) {
    case '{':
        return compose_container(compose, compose_object);
    case '[':
        return compose_container(compose, compose_array);
    case '"':
        return compose_string(compose, &content, &escaped);
    case 't':
        return compose_word(compose, KEDGE_BYTES("true"));
    case 'f':
        return compose_word(compose, KEDGE_BYTES("false"));
    case 'n':
        return compose_word(compose, KEDGE_BYTES("null"));
    default:
        return compose_number(compose);
    }
}
