/* Order keys: they stand between their neighbours, stay short, and refuse what is none. */
#include <kedge/order.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef char order_key[KEDGE_ORDER_KEY_SIZE];

static void between(const char *before, const char *after, uint32_t random, order_key key)
{
    kedge_error error = {0};
    kedge_status status = kedge_order_between(before, after, random, key, &error);
    if (status != KEDGE_OK) fail_msg("\"%s\", \"%s\": %s", before, after, error.message);
    if (before[0] != '\0' && strcmp(before, key) >= 0) fail_msg("%s is not behind %s", key, before);
    if (after[0] != '\0' && strcmp(key, after) >= 0)
        fail_msg("%s is not in front of %s", key, after);
}

static void assert_between(const char *before, const char *after, const char *expected)
{
    order_key key;
    between(before, after, 0, key);
    assert_string_equal(key, expected);
}

static void test_keys_at_the_ends_count_and_between_two_are_a_middle(void **state)
{
    (void)state;
    assert_between("", "", "a0");
    assert_between("a0", "", "a1");
    assert_between("az", "", "b00");
    assert_between("bzz", "", "c000");
    assert_between("", "a0", "Zz");
    assert_between("", "Z0", "Yzz");
    assert_between("", "a0V", "a0");
    assert_between("a0", "a1", "a0V");
    assert_between("a0", "a2", "a1");
    assert_between("a0V", "a1", "a0k");
    assert_between("a0", "a0V", "a0F");
    assert_between("a0", "a01", "a00V");
    assert_between("a0z", "a1", "a0zV");
    assert_between("a0V", "a0W5", "a0W");
    assert_between("Zz", "a0", "ZzV");
    assert_between("", "b00", "az");
}

/* Splitmix64. */
static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#define ITEMS 2000

static void test_items_put_anywhere_stay_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static order_key keys[ITEMS];
        uint64_t random = seed;
        size_t count = 0, longest = 0;
        while (count < ITEMS - 1) {
            size_t at = (size_t)(next(&random) % (count + 1));
            if (next(&random) % 4 == 0) at = next(&random) % 2 == 0 ? 0 : count;
            memmove(keys[at + 1], keys[at], (count - at) * sizeof *keys);
            between(at == 0 ? "" : keys[at - 1], at == count ? "" : keys[at + 1],
                    seed % 2 == 0 ? (uint32_t)next(&random) : 0, keys[at]);
            if (strlen(keys[at]) > longest) longest = strlen(keys[at]);
            count++;
        }
        for (size_t i = 1; i < count; i++)
            assert_true(strcmp(keys[i - 1], keys[i]) < 0);
        assert_in_range(longest, 2, seed % 2 == 0 ? 160 : 40);
    }
}

static void test_a_million_items_at_one_end_have_short_keys(void **state)
{
    (void)state;
    order_key up = "", down = "", key;
    for (int i = 0; i < 1000000; i++) {
        between(up, "", 0, key);
        memcpy(up, key, sizeof key);
        between("", down, 0, key);
        memcpy(down, key, sizeof key);
    }
    assert_in_range(strlen(up), 2, 6);
    assert_in_range(strlen(down), 2, 6);
}

/* An integer of 26 digits, all of them `digit`, and a fraction. */
static void extreme(char letter, char digit, const char *fraction, order_key key)
{
    key[0] = letter;
    memset(key + 1, digit, 26);
    snprintf(key + 27, KEDGE_ORDER_KEY_SIZE - 27, "%s", fraction);
}

static void test_the_integers_end_and_fractions_go_on(void **state)
{
    (void)state;
    order_key highest, lowest, expected, key;
    kedge_error error = {0};
    extreme('z', 'z', "", highest);
    extreme('z', 'z', "V", expected);
    assert_between(highest, "", expected);
    extreme('A', '0', "", lowest);
    extreme('A', '0', "V", key);
    assert_between("", key, lowest);
    assert_int_equal(kedge_order_between("", lowest, 0, key, &error), KEDGE_LIMIT_EXCEEDED);
    assert_string_equal(key, "");
}

/* Halving one place again and again ends with an error, never with a wrong key. */
static void test_a_place_without_room_says_so(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        order_key low = "a0", high = "a1", key, other;
        kedge_error error = {0};
        int steps = 0, without_random = 0;
        while (kedge_order_between(low, high, 0, key, &error) == KEDGE_OK) {
            assert_true(strcmp(low, key) < 0 && strcmp(key, high) < 0);
            /* A key with random bits needs more room, and has it or fails in the same way. */
            if (kedge_order_between(low, high, 0x2a5f3, other, &error) == KEDGE_OK)
                assert_true(strcmp(low, other) < 0 && strcmp(other, high) < 0);
            else
                without_random++;
            memcpy(side == 0 ? low : high, key, sizeof key);
            steps++;
        }
        assert_in_range(without_random, 10, 100);
        assert_in_range(steps, 1000, 20000);
        assert_int_equal(error.status, KEDGE_LIMIT_EXCEEDED);
        assert_string_equal(error.code, "order-key-too-long");
        assert_string_equal(key, "");
    }
}

static void test_random_bits_tell_copies_apart(void **state)
{
    (void)state;
    static const char *const places[][2] = {
        {"", ""}, {"a0", ""}, {"", "a0"}, {"a0", "a1"}, {"a0", "a01"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        order_key a, b, again;
        between(places[i][0], places[i][1], 0x12345, a);
        between(places[i][0], places[i][1], 0x12346, b);
        between(places[i][0], places[i][1], 0x12345, again);
        assert_string_not_equal(a, b);
        assert_string_equal(a, again);
        assert_in_range(strlen(a), 3, 9);
    }
}

static void test_what_is_no_key_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0",        "a",     "b0",  "a0-", "a00",
        "a0V0",     "a 0",   "?00", "[1",  "{111111111111111111111111111",
        "\xc3\xa4", "a0\xff"};
    order_key key, long_key;
    kedge_error error = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(kedge_order_between(wrong[i], NULL, 0, key, &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_string_equal(error.code, "order-invalid");
        assert_non_null(strstr(error.message, "before"));
        assert_int_equal(kedge_order_between(NULL, wrong[i], 7, key, &error),
                         KEDGE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "after"));
    }
    char text[KEDGE_ORDER_KEY_SIZE + 1];
    memset(text, '1', sizeof text - 1);
    text[0] = 'a';
    text[sizeof text - 1] = '\0';
    assert_int_equal(kedge_order_between(text, "", 0, long_key, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_order_between("a1", "a1", 0, key, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_order_between("a2", "a1", 0, key, &error), KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "not in front of"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_at_the_ends_count_and_between_two_are_a_middle),
        cmocka_unit_test(test_items_put_anywhere_stay_in_order),
        cmocka_unit_test(test_a_million_items_at_one_end_have_short_keys),
        cmocka_unit_test(test_the_integers_end_and_fractions_go_on),
        cmocka_unit_test(test_a_place_without_room_says_so),
        cmocka_unit_test(test_random_bits_tell_copies_apart),
        cmocka_unit_test(test_what_is_no_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
