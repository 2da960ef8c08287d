/* Damaged documents: valid ones with bytes changed, cut, doubled and mixed, the same in
 * every run. Each is copied to a block of exactly its size, so that the address sanitizer
 * sees a read outside. */
#include "common/json.h"

#include <kedge/limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS   100000
#define TEXT_MAX 600

static const char *const seeds[] = {
    "{\"a\":[1,2.5,-3e10,true,false,null],\"b\":{\"c\":\"text\",\"d\":\"\\u00e9\\n\"}}",
    " { \"z\" : \"\\ud83d\\ude00\" , \"y\" : [ [ ] , { } ] , \"\\u0061\" : 0.1 } ",
    "[9007199254740993,1e-7,123456789012345678901234567890,0.30000000000000004,5e-324]",
    "{\"\xC3\xA9\":1,\"\xF0\x9F\x98\x80\":2,\"\xEE\x80\x80\":3,\"a\\\"b\":4,\"\\\\\":5}",
    "{\"mutations\":[{\"clientID\":\"c\",\"id\":1,\"name\":\"kedge.put\",\"args\":{\"id\":\"x\"}}]"
    "}",
    "[[[[[[[[[[\"deep\"]]]]]]]]]]",
    "{\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9,\"k10\":1,"
    "\"k11\":1,\"k12\":1,\"k13\":1,\"k14\":1,\"k15\":1,\"k16\":1,\"k17\":1,\"k18\":1}",
};
#define SEEDS (sizeof seeds / sizeof seeds[0])

static const char *const pieces[] = {
    "\"",       "\\", "\\u", "\\ud800", "\\u0000", "{",        "}",       "[",    "]",
    ":",        ",",  "-",   "0",       "e",       ".",        "1e999",   "\xC3", "\xF0\x9F",
    "\xED\xA0", " ",  "\n",  "true",    "nul",     "\"a\":1,", "\\u0061", "\x01", "\xFF"};
#define PIECES (sizeof pieces / sizeof pieces[0])

static uint64_t random_state;

/* xorshift64* */
static size_t below(size_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (size_t)((random_state * UINT64_C(2685821657736338717)) >> 33) % limit;
}

typedef struct text {
    char bytes[TEXT_MAX];
    size_t size;
} text;

static void insert(text *into, size_t at, const char *bytes, size_t size)
{
    if (into->size + size > TEXT_MAX) return;
    memmove(into->bytes + at + size, into->bytes + at, into->size - at);
    memcpy(into->bytes + at, bytes, size);
    into->size += size;
}

static void damage(text *victim)
{
    size_t at = below(victim->size + 1);
    size_t length = below(victim->size - at + 1);
    const char *piece = pieces[below(PIECES)];
    char copy[TEXT_MAX];
    switch (below(5)) {
    case 0:
        if (at < victim->size) victim->bytes[at] = (char)below(256);
        break;
    case 1:
        victim->size = at;
        break;
    case 2:
        memmove(victim->bytes + at, victim->bytes + at + length, victim->size - at - length);
        victim->size -= length;
        break;
    case 3:
        memcpy(copy, victim->bytes + at, length);
        insert(victim, below(victim->size + 1), copy, length);
        break;
    default:
        insert(victim, at, piece, strlen(piece));
    }
}

/* All readers on text that nobody checked. Their answers do not matter; where they read does. */
static size_t visit_values(kedge_bytes value, size_t depth, kedge_buffer *scratch)
{
    bool truth;
    int64_t integer;
    double number;
    char chars[16];
    kedge_bytes key;
    kedge_bytes inside;
    size_t seen = 0;
    seen += kedge_json_to_boolean(value, &truth);
    seen += kedge_json_to_integer(value, &integer);
    seen += kedge_json_to_number(value, &number);
    seen += kedge_json_to_text(value, scratch);
    seen += kedge_json_to_chars(value, chars, sizeof chars);
    seen += kedge_json_text_equals(value, "a");
    seen += kedge_json_member(value, "a", &inside);
    kedge_buffer_clear(scratch);
    kedge_json_canonical(value, scratch, NULL);
    if (depth == 0) return seen;
    kedge_json_iterator members = kedge_json_iterate(value);
    while (kedge_json_next_member(&members, &key, &inside)) {
        seen += visit_values(key, 0, scratch) + visit_values(inside, depth - 1, scratch);
    }
    kedge_json_iterator elements = kedge_json_iterate(value);
    while (kedge_json_next_element(&elements, &inside))
        seen += visit_values(inside, depth - 1, scratch);
    return seen;
}

static void assert_sound(kedge_bytes accepted)
{
    kedge_bytes value;
    kedge_bytes rest;
    kedge_buffer once = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer twice = kedge_buffer_make(&kedge_allocator_default);
    assert_true(kedge_json_skip(accepted, &value, &rest));
    assert_false(kedge_json_skip(rest, &value, &rest));
    assert_int_equal(kedge_json_normalize(accepted, KEDGE_LIMIT_JSON_DEPTH, &once, NULL), KEDGE_OK);
    assert_int_equal(kedge_json_check(kedge_buffer_bytes(&once), KEDGE_LIMIT_JSON_DEPTH,
                                      &kedge_allocator_default, NULL),
                     KEDGE_OK);
    assert_int_equal(
        kedge_json_normalize(kedge_buffer_bytes(&once), KEDGE_LIMIT_JSON_DEPTH, &twice, NULL),
        KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&once), kedge_buffer_bytes(&twice)));
    kedge_buffer_clear(&twice);
    assert_int_equal(kedge_json_canonical(accepted, &twice, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&once), kedge_buffer_bytes(&twice)));
    kedge_buffer_free(&once);
    kedge_buffer_free(&twice);
}

static void test_no_damage_makes_a_reader_leave_its_text(void **state)
{
    (void)state;
    size_t accepted = 0;
    size_t read = 0;
    kedge_buffer scratch = kedge_buffer_make(&kedge_allocator_default);
    random_state = 20240229;
    for (int round = 0; round < ROUNDS; round++) {
        text victim;
        const char *seed = seeds[below(SEEDS)];
        victim.size = strlen(seed);
        memcpy(victim.bytes, seed, victim.size);
        for (size_t times = 1 + below(3); times > 0; times--)
            damage(&victim);

        char *exact = malloc(victim.size == 0 ? 1 : victim.size);
        assert_non_null(exact);
        memcpy(exact, victim.bytes, victim.size);
        kedge_bytes bytes = {exact, victim.size};
        kedge_bytes value;
        if (kedge_json_check(bytes, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) ==
            KEDGE_OK) {
            assert_sound(bytes);
            accepted++;
        }
        if (kedge_json_skip(bytes, &value, NULL)) read += visit_values(value, 3, &scratch);
        read += visit_values(bytes, 3, &scratch);
        free(exact);
    }
    kedge_buffer_free(&scratch);
    assert_in_range(accepted, ROUNDS / 100, ROUNDS / 2);
    assert_true(read > ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_damage_makes_a_reader_leave_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
