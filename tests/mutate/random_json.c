/* Random canonical objects and merge patches. */
#include "tests/mutate/random_json.h"

#include "common/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH 5

uint64_t random_bits(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t random_next(uint64_t *seed, size_t below)
{
    return (size_t)(random_bits(seed) % below);
}

/* ---- values, not yet canonical ---- */

static void write_value(uint64_t *seed, size_t bytes, int depth, kedge_buffer *out);

/* Keys collide, and their order by UTF-16 is not that by bytes. */
static void write_key(uint64_t *seed, kedge_buffer *out)
{
    static const char *const heads[] = {"", "k", "\\\"", "\\u0007", "é", "\xEE\x80\x80", "😀", "~/"};
    kedge_buffer_append_format(out, "\"%s%u\"",
                               heads[random_next(seed, sizeof heads / sizeof heads[0])],
                               (unsigned)random_next(seed, 4000));
}

static void write_text(uint64_t *seed, size_t bytes, kedge_buffer *out)
{
    kedge_buffer_append_byte(out, '"');
    for (size_t i = 0; i < bytes; i++)
        kedge_buffer_append_byte(out, (char)('a' + random_next(seed, 26)));
    kedge_buffer_append_byte(out, '"');
}

static void write_object(uint64_t *seed, size_t bytes, int depth, kedge_buffer *out)
{
    size_t start = out->size;
    unsigned serial = 0;
    kedge_buffer_append_byte(out, '{');
    while (out->size - start < bytes) {
        if (out->size - start > 1) kedge_buffer_append_byte(out, ',');
        write_key(seed, out);
        out->size--; /* the quote: a serial number makes the key one of a kind */
        kedge_buffer_append_format(out, ".%u\":", serial++);
        size_t left = bytes - (out->size - start < bytes ? out->size - start : bytes);
        size_t part = random_next(seed, 12) == 0 ? left / 2 : random_next(seed, 60);
        write_value(seed, part, depth + 1, out);
    }
    kedge_buffer_append_byte(out, '}');
}

static void write_array(uint64_t *seed, size_t bytes, int depth, kedge_buffer *out)
{
    size_t start = out->size;
    kedge_buffer_append_byte(out, '[');
    while (out->size - start < bytes) {
        if (out->size - start > 1) kedge_buffer_append_byte(out, ',');
        size_t left = bytes - (out->size - start);
        size_t part = random_next(seed, 12) == 0 ? left / 2 : random_next(seed, 60);
        write_value(seed, part, depth + 1, out);
    }
    kedge_buffer_append_byte(out, ']');
}

static void write_value(uint64_t *seed, size_t bytes, int depth, kedge_buffer *out)
{
    switch (random_next(seed, 7)) {
    case 0:
        write_text(seed, bytes, out);
        break;
    case 1:
        kedge_buffer_append_byte(out, '[');
        write_text(seed, bytes, out);
        kedge_buffer_append_text(out, ",1,null]");
        break;
    case 2:
        kedge_buffer_append_text(out, "true");
        break;
    case 3:
        kedge_buffer_append_format(out, "%d", (int)random_next(seed, 2000) - 1000);
        break;
    case 4:
        if (depth < DEPTH) {
            write_array(seed, bytes, depth, out);
            break;
        } /* fall through */
    default:
        if (depth < DEPTH)
            write_object(seed, bytes, depth, out);
        else
            write_text(seed, bytes, out);
    }
}

/* Replaces what was appended since `start` by its canonical form. */
static void make_canonical(kedge_buffer *out, size_t start)
{
    kedge_error error = {0};
    kedge_buffer canonical = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes text = {out->data + start, out->size - start};
    if (kedge_json_normalize(text, 64, &canonical, &error) != KEDGE_OK)
        fail_msg("%s: %.*s", error.message, (int)text.size, text.data);
    kedge_buffer_truncate(out, start);
    kedge_buffer_append_bytes(out, kedge_buffer_bytes(&canonical));
    kedge_buffer_free(&canonical);
}

void random_object(uint64_t *seed, size_t bytes, kedge_buffer *out)
{
    size_t start = out->size;
    write_object(seed, bytes, 0, out);
    make_canonical(out, start);
}

void random_array(uint64_t *seed, size_t bytes, kedge_buffer *out)
{
    size_t start = out->size;
    write_array(seed, bytes, 0, out);
    make_canonical(out, start);
}

void random_value(uint64_t *seed, size_t bytes, kedge_buffer *out)
{
    size_t start = out->size;
    write_value(seed, bytes, 1, out);
    make_canonical(out, start);
}

/* ---- patches ---- */

static size_t count_members(kedge_bytes object)
{
    size_t count = 0;
    kedge_bytes key, value;
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value))
        count++;
    return count;
}

typedef void (*patch_value)(uint64_t *seed, kedge_bytes old, kedge_buffer *out);

/* Visits some members, in order; `write` makes their new values. */
static void write_patch(uint64_t *seed, kedge_bytes object, patch_value write, kedge_buffer *out)
{
    kedge_bytes key, value;
    size_t count = count_members(object), wanted = 1 + random_next(seed, 3);
    if (random_next(seed, 25) == 0) wanted = count;
    bool comma = false;
    kedge_json_iterator members = kedge_json_iterate(object);
    kedge_buffer_append_byte(out, '{');
    while (kedge_json_next_member(&members, &key, &value)) {
        if (random_next(seed, count) >= wanted) continue;
        if (comma) kedge_buffer_append_byte(out, ',');
        comma = true;
        kedge_buffer_append_bytes(out, key);
        if (random_next(seed, 5) == 0) {
            out->size--;
            kedge_buffer_append_format(
                out, "+%llx\"", (unsigned long long)(random_bits(seed) % (UINT64_C(1) << 60)));
            value = (kedge_bytes){NULL, 0};
        }
        kedge_buffer_append_byte(out, ':');
        write(seed, value, out);
    }
    kedge_buffer_append_byte(out, '}');
}

static void write_new_value(uint64_t *seed, kedge_bytes old, kedge_buffer *out)
{
    if (kedge_json_type_of(old) == KEDGE_JSON_OBJECT && random_next(seed, 4) > 0)
        write_patch(seed, old, write_new_value, out);
    else if (random_next(seed, 4) == 0)
        kedge_buffer_append_text(out, "null");
    else
        write_value(seed, random_next(seed, 20) == 0 ? 7000 : random_next(seed, 80), 1, out);
}

static void write_number(uint64_t *seed, kedge_bytes old, kedge_buffer *out)
{
    kedge_json_type type = kedge_json_type_of(old);
    if (type == KEDGE_JSON_OBJECT && random_next(seed, 8) > 0)
        write_patch(seed, old, write_number, out);
    else if (random_next(seed, 60) == 0)
        kedge_buffer_append_text(out, random_next(seed, 2) ? "9007199254740991" : "{}");
    else
        kedge_buffer_append_format(out, "%u.%u", (unsigned)random_next(seed, 90),
                                   (unsigned)random_next(seed, 3));
}

void random_patch(uint64_t *seed, kedge_bytes object, kedge_buffer *out)
{
    size_t start = out->size;
    write_patch(seed, object, write_new_value, out);
    make_canonical(out, start);
}

/* A member of an increment that is no number refuses it; so the members are chosen one by one. */
void random_add(uint64_t *seed, kedge_bytes object, kedge_buffer *out)
{
    size_t start = out->size, at = 0;
    kedge_bytes key, value;
    size_t count = count_members(object), wanted = random_next(seed, count + 1);
    bool comma = false;
    kedge_json_iterator members = kedge_json_iterate(object);
    kedge_buffer_append_byte(out, '{');
    for (; kedge_json_next_member(&members, &key, &value) && at < wanted + 40; at++) {
        kedge_json_type type = kedge_json_type_of(value);
        bool fits = type == KEDGE_JSON_NUMBER || random_next(seed, 100) == 0;
        if (at < wanted || (!fits && !(type == KEDGE_JSON_OBJECT && random_next(seed, 6) == 0)))
            continue;
        if (comma) kedge_buffer_append_byte(out, ',');
        comma = true;
        kedge_buffer_append_bytes(out, key);
        kedge_buffer_append_byte(out, ':');
        if (type == KEDGE_JSON_OBJECT)
            random_add(seed, value, out);
        else
            write_number(seed, value, out);
    }
    kedge_buffer_append_byte(out, '}');
    make_canonical(out, start);
}
