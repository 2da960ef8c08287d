/* Order keys: <kedge/order.h>.
 *
 * A key is a number to the base 62: an integer and a fraction. The first letter tells how many
 * digits the integer has: 'a' one, 'b' two, … 'z' 26; such integers are not negative. The negative
 * ones have 'Z' for one digit, 'Y' for two, … 'A' for 26. So integers are in order as texts, and
 * those at the end of a list stay short. The fraction is what follows, without a 0 at its end.
 *
 * The digits are 0 to 9, A to Z and a to z, in the order of their bytes. */
#include <kedge/order.h>

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define BASE        62
#define RANDOM_BITS 18 /* of 32, so that a key has some three bytes more */

static const char digits[BASE + 1] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* -1: it is none. */
static int value_of(char digit)
{
    KEDGE_ASSERT(digit != '\0');
    const char *found = strchr(digits, digit);
    return found == NULL ? -1 : (int)(found - digits);
}

/* The bytes of the integer with its letter; 0: the letter is none. */
static size_t integer_size(char letter)
{
    if (letter >= 'a' && letter <= 'z') return (size_t)(letter - 'a') + 2;
    if (letter >= 'A' && letter <= 'Z') return (size_t)('Z' - letter) + 2;
    return 0;
}

static bool is_key(const char *text)
{
    size_t size = strlen(text);
    size_t integer = integer_size(text[0]);
    if (integer == 0 || size < integer || size >= KEDGE_ORDER_KEY_SIZE) return false;
    for (size_t i = 1; i < size; i++) {
        if (value_of(text[i]) < 0) return false;
    }
    return size == integer || text[size - 1] != '0';
}

/* ---- integers ---- */

/* Counts the integer of `size` bytes up by one; gives its new size, or 0 when there is none
 * higher. */
static size_t count_up(char *integer, size_t size)
{
    for (size_t i = size - 1; i > 0; i--) {
        int value = value_of(integer[i]);
        if (value + 1 < BASE) {
            integer[i] = digits[value + 1];
            return size;
        }
        integer[i] = '0';
    }
    if (integer[0] == 'z') return 0;
    bool negative = integer[0] < 'Z';
    integer[0] = integer[0] == 'Z' ? 'a' : (char)(integer[0] + 1);
    if (integer[0] != 'a') size = negative ? size - 1 : size + 1;
    memset(integer + 1, '0', size - 1);
    return size;
}

/* The same downwards. */
static size_t count_down(char *integer, size_t size)
{
    for (size_t i = size - 1; i > 0; i--) {
        int value = value_of(integer[i]);
        if (value > 0) {
            integer[i] = digits[value - 1];
            return size;
        }
        integer[i] = digits[BASE - 1];
    }
    if (integer[0] == 'A') return 0;
    bool negative = integer[0] <= 'Z';
    integer[0] = integer[0] == 'a' ? 'Z' : (char)(integer[0] - 1);
    if (integer[0] != 'Z') size = negative ? size + 1 : size - 1;
    memset(integer + 1, digits[BASE - 1], size - 1);
    return size;
}

/* ---- fractions ---- */

/* Appends a fraction between two: `low`, which may be "", and `high` (NULL: 1), which is above it.
 * False: there is no room. */
static bool append_middle(const char *low, const char *high, char *key, size_t size)
{
    for (; size < KEDGE_ORDER_KEY_SIZE - 1; size++) {
        int from = *low == '\0' ? 0 : value_of(*low);
        int to = high == NULL ? BASE : value_of(*high);
        KEDGE_ASSERT(from <= to);
        if (to - from > 1) {
            key[size] = digits[(from + to) / 2];
            key[size + 1] = '\0';
            return true;
        }
        if (to > from && high != NULL && high[1] != '\0') {
            key[size] = *high; /* below `high`, which goes on */
            key[size + 1] = '\0';
            return true;
        }
        key[size] = digits[from];
        if (to > from)
            high = NULL; /* any fraction after this digit is below it */
        else
            high++;
        if (*low != '\0') low++;
    }
    return false;
}

/* ---- keys ---- */

/* A key between two that are in order; "" is no bound. False: there is no room. */
static bool make_between(const char *before, const char *after, char key[KEDGE_ORDER_KEY_SIZE])
{
    char next[KEDGE_ORDER_KEY_SIZE] = "";
    if (before[0] == '\0' && after[0] == '\0') {
        memcpy(key, "a0", sizeof "a0");
        return true;
    }
    const char *start = before[0] != '\0' ? before : after;
    size_t integer = integer_size(start[0]);
    size_t other = integer_size(after[0]);
    memcpy(next, start, integer);
    if (before[0] == '\0') {
        size_t size = after[integer] != '\0' ? integer : count_down(next, integer);
        if (size == 0) { /* the lowest integer, and no fraction of `after` either */
            return false;
        }
        memcpy(key, next, size);
        key[size] = '\0';
        return true;
    }
    bool same = other == integer && memcmp(before, after, integer) == 0;
    size_t size = same ? 0 : count_up(next, integer);
    next[size] = '\0';
    if (size > 0 && (after[0] == '\0' || strcmp(next, after) < 0)) {
        memcpy(key, next, size + 1);
        return true;
    }
    memcpy(key, before, integer);
    return append_middle(before + integer, same ? after + integer : NULL, key, integer);
}

/* Goes from `key` towards `after` by a step for each bit: every step lies between. */
static bool add_random(const char *after, uint32_t random, char key[KEDGE_ORDER_KEY_SIZE])
{
    char low[KEDGE_ORDER_KEY_SIZE], high[KEDGE_ORDER_KEY_SIZE], middle[KEDGE_ORDER_KEY_SIZE];
    memcpy(low, key, KEDGE_ORDER_KEY_SIZE);
    bool fine = make_between(key, after, high);
    for (int i = 0; i < RANDOM_BITS && fine; i++) {
        fine = make_between(low, high, middle);
        if (fine) memcpy((random >> i) & 1 ? low : high, middle, KEDGE_ORDER_KEY_SIZE);
    }
    return fine && make_between(low, high, key);
}

static kedge_status refuse(kedge_error *error, const char *which, const char *why)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "order-invalid", "`%s` %s", which, why);
}

kedge_status kedge_order_between(const char *before, const char *after, uint32_t random,
                                 char key[KEDGE_ORDER_KEY_SIZE], kedge_error *error)
{
    char made[KEDGE_ORDER_KEY_SIZE] = "";
    if (before == NULL) before = "";
    if (after == NULL) after = "";
    bool wrong_before = before[0] != '\0' && !is_key(before);
    bool wrong_after = after[0] != '\0' && !is_key(after);
    bool ordered = before[0] == '\0' || after[0] == '\0' || strcmp(before, after) < 0;
    bool fine = !wrong_before && !wrong_after && ordered && make_between(before, after, made);
    if (fine && random != 0) fine = add_random(after, random, made);
    key[0] = '\0';
    if (wrong_before)
        return refuse(error, "before", "is no order key: one that this function made, or \"\"");
    if (wrong_after)
        return refuse(error, "after", "is no order key: one that this function made, or \"\"");
    if (!ordered) return refuse(error, "before", "is not in front of `after`");
    if (!fine)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "order-key-too-long",
                          "the key would have more than %d bytes: give the items new keys",
                          KEDGE_ORDER_KEY_SIZE - 1);
    memcpy(key, made, strlen(made) + 1);
    return KEDGE_OK;
}
