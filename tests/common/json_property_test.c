/* Random documents. Each is drawn from two seeds: one decides what it is, the other how it is
 * spelled (order of members, white space, escapes, digits). Whatever the spelling, the canonical
 * form must be the same, be canonical, and hold what was drawn. */
#include "common/json.h"
#include "common/json_tokens.h"

#include <kedge/limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DOCUMENTS     3000
#define MEMBERS_MAX   8
#define DEPTH_MAX     5
#define CHARACTER_MAX 12

/* splitmix64 */
typedef struct dice {
    uint64_t state;
} dice;

static uint64_t roll(dice *with)
{
    uint64_t z = (with->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t below(dice *with, size_t limit)
{
    return (size_t)(roll(with) % limit);
}

/* ---- what a document is ---- */

static const uint32_t characters[] = {
    'a',  'Z',  '0',   ' ',   '"',    '\\',   '/',    '\n',   0x01,    0x1F,    0x7F,
    0x80, 0xE9, 0x7FF, 0x800, 0x20AC, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF};
#define CHARACTERS (sizeof characters / sizeof characters[0])

typedef struct drawn_text {
    uint32_t characters[CHARACTER_MAX];
    size_t count;
} drawn_text;

static drawn_text draw_text(dice *what)
{
    drawn_text text;
    text.count = below(what, CHARACTER_MAX);
    for (size_t i = 0; i < text.count; i++)
        text.characters[i] = characters[below(what, CHARACTERS)];
    return text;
}

/* The keys of one object differ in their first character. */
static drawn_text draw_key(dice *what, size_t index)
{
    drawn_text text = draw_text(what);
    if (text.count == 0) text.count = 1;
    text.characters[0] = characters[index * 2];
    return text;
}

static double draw_number(dice *what)
{
    double number;
    uint64_t bits = roll(what);
    switch (below(what, 4)) {
    case 0:
        return (double)below(what, 2001) - 1000;
    case 1:
        return (double)below(what, 1000000) / 1000;
    case 2:
        return (double)(int64_t)bits;
    default:
        memcpy(&number, &bits, sizeof number);
        return isfinite(number) ? number : 0.5;
    }
}

static kedge_json_type draw_type(dice *what, size_t depth)
{
    size_t kinds = depth < DEPTH_MAX ? 6 : 4;
    return (kedge_json_type)(KEDGE_JSON_NULL + below(what, kinds));
}

/* ---- how it is spelled ---- */

static void spell_space(kedge_buffer *out, dice *how)
{
    static const char *const spaces[] = {"", "", "", " ", "\n\t", "\r\n  "};
    kedge_buffer_append_text(out, spaces[below(how, 6)]);
}

static void spell_character(kedge_buffer *out, uint32_t character, dice *how)
{
    char utf8[4];
    bool must_escape = character < 0x20 || character == '"' || character == '\\';
    if (!must_escape && below(how, 3) > 0) {
        kedge_buffer_append(out, utf8, kedge_json_encode_utf8(character, utf8));
    } else if (character == '\n' && below(how, 2) == 0) {
        kedge_buffer_append_text(out, "\\n");
    } else if ((character == '"' || character == '\\' || character == '/') && below(how, 2) == 0) {
        kedge_buffer_append_format(out, "\\%c", (char)character);
    } else if (character >= 0x10000) {
        kedge_buffer_append_format(out, "\\u%04x\\u%04X", 0xD800 + ((character - 0x10000) >> 10),
                                   0xDC00 + ((character - 0x10000) & 0x3FF));
    } else {
        kedge_buffer_append_format(out, below(how, 2) == 0 ? "\\u%04x" : "\\u%04X", character);
    }
}

static void spell_text(kedge_buffer *out, const drawn_text *text, dice *how)
{
    kedge_buffer_append_byte(out, '"');
    for (size_t i = 0; i < text->count; i++)
        spell_character(out, text->characters[i], how);
    kedge_buffer_append_byte(out, '"');
}

static void spell_number(kedge_buffer *out, double number, dice *how)
{
    char text[KEDGE_JSON_NUMBER_SIZE];
    switch (below(how, 4)) {
    case 0:
        kedge_buffer_append_format(out, "%.17g", number);
        break;
    case 1:
        kedge_buffer_append_format(out, "%.30E", number);
        break;
    case 2:
        kedge_buffer_append_format(out, "%.16e", number);
        break;
    default:
        kedge_json_format_number(number, text);
        kedge_buffer_append_text(out, text);
    }
}

static void spell_value(kedge_buffer *out, dice *what, dice *how, size_t depth);

static void spell_array(kedge_buffer *out, dice *what, dice *how, size_t depth)
{
    size_t count = below(what, 5);
    kedge_buffer_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) kedge_buffer_append_byte(out, ',');
        spell_space(out, how);
        spell_value(out, what, how, depth + 1);
        spell_space(out, how);
    }
    kedge_buffer_append_byte(out, ']');
}

static void spell_object(kedge_buffer *out, dice *what, dice *how, size_t depth)
{
    kedge_buffer members[MEMBERS_MAX];
    size_t count = below(what, MEMBERS_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        drawn_text key = draw_key(what, i);
        members[i] = kedge_buffer_make(&kedge_allocator_default);
        spell_space(&members[i], how);
        spell_text(&members[i], &key, how);
        spell_space(&members[i], how);
        kedge_buffer_append_byte(&members[i], ':');
        spell_space(&members[i], how);
        spell_value(&members[i], what, how, depth + 1);
        spell_space(&members[i], how);
    }
    kedge_buffer_append_byte(out, '{');
    for (size_t left = count; left > 0; left--) {
        size_t chosen = below(how, left);
        if (left < count) kedge_buffer_append_byte(out, ',');
        kedge_buffer_append_bytes(out, kedge_buffer_bytes(&members[chosen]));
        kedge_buffer_free(&members[chosen]);
        members[chosen] = members[left - 1];
    }
    kedge_buffer_append_byte(out, '}');
}

static void spell_value(kedge_buffer *out, dice *what, dice *how, size_t depth)
{
    drawn_text text;
    switch (draw_type(what, depth)) {
    case KEDGE_JSON_BOOLEAN:
        kedge_buffer_append_text(out, below(what, 2) == 0 ? "false" : "true");
        break;
    case KEDGE_JSON_NUMBER:
        spell_number(out, draw_number(what), how);
        break;
    case KEDGE_JSON_STRING:
        text = draw_text(what);
        spell_text(out, &text, how);
        break;
    case KEDGE_JSON_ARRAY:
        spell_array(out, what, how, depth);
        break;
    case KEDGE_JSON_OBJECT:
        spell_object(out, what, how, depth);
        break;
    default:
        kedge_buffer_append_text(out, "null");
    }
}

/* ---- reading it back ---- */

static void utf8_of(const drawn_text *text, char utf8[4 * CHARACTER_MAX + 1])
{
    size_t size = 0;
    for (size_t i = 0; i < text->count; i++) {
        size += kedge_json_encode_utf8(text->characters[i], utf8 + size);
    }
    utf8[size] = '\0';
}

static void assert_holds(kedge_bytes value, dice *what, size_t depth);

static void assert_holds_elements(kedge_bytes array, dice *what, size_t depth)
{
    kedge_bytes element;
    size_t count = below(what, 5);
    kedge_json_iterator elements = kedge_json_iterate(array);
    for (size_t i = 0; i < count; i++) {
        assert_true(kedge_json_next_element(&elements, &element));
        assert_holds(element, what, depth + 1);
    }
    assert_false(kedge_json_next_element(&elements, &element));
    assert_false(elements.failed);
}

static void assert_holds_members(kedge_bytes object, dice *what, size_t depth)
{
    kedge_bytes key;
    kedge_bytes value;
    size_t found = 0;
    size_t count = below(what, MEMBERS_MAX + 1);
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value))
        found++;
    assert_false(members.failed);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        char name[4 * CHARACTER_MAX + 1];
        drawn_text drawn = draw_key(what, i);
        utf8_of(&drawn, name);
        assert_true(kedge_json_member(object, name, &value));
        assert_holds(value, what, depth + 1);
    }
}

static void assert_holds_scalar(kedge_bytes value, kedge_json_type type, dice *what)
{
    bool truth;
    double number;
    char expected[4 * CHARACTER_MAX + 1];
    char text[4 * CHARACTER_MAX + 1];
    drawn_text drawn;
    switch (type) {
    case KEDGE_JSON_BOOLEAN:
        assert_true(kedge_json_to_boolean(value, &truth));
        assert_int_equal(truth, below(what, 2) != 0);
        break;
    case KEDGE_JSON_NUMBER:
        assert_true(kedge_json_to_number(value, &number));
        assert_true(number == draw_number(what));
        break;
    case KEDGE_JSON_STRING:
        drawn = draw_text(what);
        utf8_of(&drawn, expected);
        assert_true(kedge_json_to_chars(value, text, sizeof text));
        assert_string_equal(text, expected);
        assert_true(kedge_json_text_equals(value, expected));
        break;
    default:
        assert_true(kedge_bytes_equal_text(value, "null"));
    }
}

static void assert_holds(kedge_bytes value, dice *what, size_t depth)
{
    kedge_json_type type = draw_type(what, depth);
    assert_int_equal(kedge_json_type_of(value), type);
    if (type == KEDGE_JSON_ARRAY) {
        assert_holds_elements(value, what, depth);
    } else if (type == KEDGE_JSON_OBJECT) {
        assert_holds_members(value, what, depth);
    } else {
        assert_holds_scalar(value, type, what);
    }
}

/* ---- the properties ---- */

static kedge_buffer normalize(kedge_bytes text)
{
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    if (kedge_json_normalize(text, KEDGE_LIMIT_JSON_DEPTH, &out, &error) != KEDGE_OK) {
        fail_msg("%s: %.*s", error.message, (int)text.size, text.data);
    }
    return out;
}

static kedge_buffer spelled(uint64_t document, uint64_t spelling)
{
    dice what = {document};
    dice how = {spelling};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    spell_value(&text, &what, &how, 0);
    return text;
}

static void test_every_spelling_of_a_document_has_one_canonical_form(void **state)
{
    (void)state;
    for (uint64_t document = 0; document < DOCUMENTS; document++) {
        kedge_buffer one = spelled(document, 1000000 + document);
        kedge_buffer other = spelled(document, 2000000 + document);
        kedge_buffer canonical = normalize(kedge_buffer_bytes(&one));
        kedge_buffer same = normalize(kedge_buffer_bytes(&other));
        assert_string_equal(canonical.data, same.data);
        kedge_buffer_free(&one);
        kedge_buffer_free(&other);
        kedge_buffer_free(&canonical);
        kedge_buffer_free(&same);
    }
}

static void test_the_canonical_form_is_recognized_and_made_again_unchanged(void **state)
{
    (void)state;
    size_t already = 0;
    for (uint64_t document = 0; document < DOCUMENTS; document++) {
        bool is_canonical;
        kedge_buffer text = spelled(document, 1000000 + document);
        kedge_buffer canonical = normalize(kedge_buffer_bytes(&text));
        kedge_bytes bytes = kedge_buffer_bytes(&canonical);
        assert_int_equal(
            kedge_json_check_with(bytes, 64, &kedge_allocator_default, &is_canonical, NULL),
            KEDGE_OK);
        assert_true(is_canonical);

        kedge_json_check_with(kedge_buffer_bytes(&text), 64, &kedge_allocator_default,
                              &is_canonical, NULL);
        assert_int_equal(is_canonical, kedge_bytes_equal(bytes, kedge_buffer_bytes(&text)));
        already += is_canonical;

        kedge_buffer again = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(kedge_json_canonical(bytes, &again, NULL), KEDGE_OK);
        assert_string_equal(again.data, canonical.data);
        kedge_buffer_free(&again);
        kedge_buffer_free(&text);
        kedge_buffer_free(&canonical);
    }
    assert_in_range(already, 1, DOCUMENTS - 1);
}

static void test_the_canonical_form_holds_what_was_spelled(void **state)
{
    (void)state;
    for (uint64_t document = 0; document < DOCUMENTS; document++) {
        dice what = {document};
        kedge_buffer text = spelled(document, 3000000 + document);
        kedge_buffer canonical = normalize(kedge_buffer_bytes(&text));
        assert_holds(kedge_buffer_bytes(&canonical), &what, 0);
        kedge_buffer_free(&text);
        kedge_buffer_free(&canonical);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_spelling_of_a_document_has_one_canonical_form),
        cmocka_unit_test(test_the_canonical_form_is_recognized_and_made_again_unchanged),
        cmocka_unit_test(test_the_canonical_form_holds_what_was_spelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
