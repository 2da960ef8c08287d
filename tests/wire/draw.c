/* See draw.h. */
#include "tests/wire/draw.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_BYTES 1048576

draw draw_begin(uint64_t seed)
{
    draw from = {.state = seed, .text = kedge_buffer_make(&kedge_allocator_default)};
    assert_non_null(kedge_buffer_reserve(&from.text, TEXT_BYTES));
    return from;
}

void draw_end(draw *from)
{
    kedge_buffer_free(&from->text);
}

uint64_t draw_bits(draw *from)
{
    uint64_t z = (from->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

bool draw_boolean(draw *from)
{
    return draw_bits(from) & 1;
}

int64_t draw_integer(draw *from, int64_t least, int64_t most)
{
    uint64_t span = (uint64_t)(most - least);
    uint64_t bits = draw_bits(from);
    switch (draw_bits(from) % 4) {
    case 0:
        return least + (int64_t)(bits % (span < 3 ? span + 1 : 3));
    case 1:
        return most - (int64_t)(bits % (span < 3 ? span + 1 : 3));
    default:
        return least + (int64_t)(span == UINT64_MAX ? bits : bits % (span + 1));
    }
}

size_t draw_count(draw *from, size_t most)
{
    return (size_t)(draw_bits(from) % (most + 1));
}

/* The piece that starts at `start` of the text. */
static kedge_bytes piece(const draw *from, size_t start)
{
    assert_true(from->text.size < TEXT_BYTES);
    return (kedge_bytes){from->text.data + start, from->text.size - start};
}

kedge_bytes draw_text(draw *from, size_t most)
{
    static const char *const characters[] = {
        "a",  "Z",    "0",    " ", "\"",       "\\",           "/",
        "\n", "\x01", "\x7F", "_", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    size_t start = from->text.size;
    size_t count = draw_count(from, most < 24 ? most : 24);
    for (size_t i = 0; i < count; i++) {
        const char *next = characters[draw_bits(from) % (sizeof characters / sizeof *characters)];
        if (from->text.size - start + strlen(next) > most) break;
        kedge_buffer_append_text(&from->text, next);
    }
    return piece(from, start);
}

void draw_chars(draw *from, char *out, size_t out_size)
{
    kedge_bytes text = draw_text(from, out_size - 1);
    if (text.size > 0) memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

static kedge_bytes draw_of(draw *from, const char *set, size_t size)
{
    size_t start = from->text.size;
    for (size_t i = 0; i < size; i++)
        kedge_buffer_append_byte(&from->text, set[draw_bits(from) % strlen(set)]);
    return piece(from, start);
}

kedge_bytes draw_client_id(draw *from)
{
    return draw_of(from, "abcXYZ019_-", 1 + draw_count(from, KEDGE_LIMIT_CLIENT_ID_BYTES - 1));
}

kedge_bytes draw_name(draw *from)
{
    return draw_of(from, "abcXYZ019_", 1 + draw_count(from, KEDGE_LIMIT_NAME_BYTES - 1));
}

kedge_bytes draw_hex(draw *from, size_t digits)
{
    return draw_of(from, "0123456789abcdef", digits);
}

void draw_bytes(draw *from, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)draw_bits(from);
}

static void write_value(draw *from, kedge_json_writer *writer, size_t depth)
{
    char name[8] = "a";
    switch (draw_bits(from) % (depth < 3 ? 6 : 4)) {
    case 0:
        kedge_json_null(writer);
        break;
    case 1:
        kedge_json_boolean(writer, draw_boolean(from));
        break;
    case 2:
        kedge_json_integer(writer,
                           draw_integer(from, -KEDGE_LIMIT_MUTATION_ID, KEDGE_LIMIT_MUTATION_ID));
        break;
    case 3: {
        char text[64];
        draw_chars(from, text, sizeof text);
        kedge_json_chars(writer, text);
        break;
    }
    case 4:
        kedge_json_begin_array(writer);
        for (size_t count = draw_count(from, 4); count > 0; count--)
            write_value(from, writer, depth + 1);
        kedge_json_end_array(writer);
        break;
    default:
        kedge_json_begin_object(writer);
        for (size_t count = draw_count(from, 4); count > 0; count--, name[0]++) {
            kedge_json_key(writer, name);
            write_value(from, writer, depth + 1);
        }
        kedge_json_end_object(writer);
    }
}

kedge_bytes draw_value(draw *from)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    write_value(from, &writer, 0);
    size_t start = from->text.size;
    kedge_buffer_append_bytes(&from->text, kedge_buffer_bytes(&text));
    kedge_buffer_free(&text);
    return piece(from, start);
}
