/* JSON numbers: text to double and back.
 *
 * Reading is correctly rounded. Up to 15 digits and a power of ten up to 22 are exact doubles, so
 * one multiplication or division of them rounds once. All others go through strtod, as digits and
 * an exponent without a point, which read the same in every locale. More than 767 significant
 * digits cannot decide a rounding; whether any of the rest is not zero can, and is kept as one last
 * digit.
 *
 * Writing gives the fewest digits that read back as the same double, of those the closest
 * (ECMA-262, Number::toString). A decimal of up to 15 digits survives the way to a double and back,
 * so that the closest 15 digits, without trailing zeros, are the shortest when they read back at
 * all. */
#include "common/json_tokens.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_DIGITS      15
#define EXACT_POWER       22
#define DECIDING_DIGITS   800
#define EXPONENT_MAX      INT64_C(1000000000000000)
#define CERTAINLY_FINITE  300
#define STRTOD_EXPONENT   100000 /* with 800 digits: infinite or zero for certain */
#define LAST_FIXED_POINT  21     /* 10^21 is written 1e+21 */
#define FIRST_FIXED_POINT (-6)   /* 10^-7 is written 1e-7 */
#define SHORTEST_DIGITS   17
#define INTEGER_MAX       9007199254740991.0 /* 2^53 - 1 */

/* ---- reading ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* `at` is after the e. NULL when no digit follows. */
static const char *read_exponent(const char *at, const char *end, int64_t *exponent)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !is_digit(*at)) return NULL;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++) {
        if (value < EXPONENT_MAX) value = value * 10 + (*at - '0');
    }
    if (value > EXPONENT_MAX) value = EXPONENT_MAX;
    *exponent = negative ? -value : value;
    return at;
}

const char *kedge_json_read_decimal(const char *at, const char *end, kedge_json_decimal *decimal)
{
    decimal->negative = at < end && *at == '-';
    if (decimal->negative) at++;
    const char *integer = at;
    at = at < end && *at == '0' ? at + 1 : skip_digits(at, end);
    if (at == integer) return NULL;
    decimal->integer = (kedge_bytes){integer, (size_t)(at - integer)};
    decimal->fraction = (kedge_bytes){at, 0};
    decimal->exponent = 0;
    decimal->has_exponent = false;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction, end);
        if (at == fraction) return NULL;
        decimal->fraction = (kedge_bytes){fraction, (size_t)(at - fraction)};
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        decimal->has_exponent = true;
        return read_exponent(at + 1, end, &decimal->exponent);
    }
    return at;
}

bool kedge_json_decimal_is_small(const kedge_json_decimal *decimal)
{
    return decimal->integer.size < CERTAINLY_FINITE && decimal->exponent < CERTAINLY_FINITE &&
           (int64_t)decimal->integer.size + decimal->exponent < CERTAINLY_FINITE;
}

static size_t leading_zeros(kedge_bytes digits)
{
    size_t zeros = 0;
    while (zeros < digits.size && digits.data[zeros] == '0')
        zeros++;
    return zeros;
}

bool kedge_json_decimal_is_short(const kedge_json_decimal *decimal)
{
    kedge_bytes integer = decimal->integer;
    kedge_bytes fraction = decimal->fraction;
    bool below_one = integer.data[0] == '0';
    if (decimal->has_exponent || integer.size + fraction.size > EXACT_DIGITS) return false;
    if (fraction.size == 0) return !(below_one && decimal->negative);
    if (fraction.data[fraction.size - 1] == '0') return false;
    return !below_one || leading_zeros(fraction) < (size_t)-FIRST_FIXED_POINT;
}

/* Significant digits, without zeros in front, and the power of ten that they are multiplied by. */
typedef struct digits {
    char text[DECIDING_DIGITS + 1];
    size_t count;
    int64_t power;
    bool rest_is_not_zero;
} digits;

static void collect(digits *all, kedge_bytes part)
{
    for (size_t i = 0; i < part.size; i++) {
        char digit = part.data[i];
        if (all->count == 0 && digit == '0') continue;
        if (all->count < DECIDING_DIGITS) {
            all->text[all->count++] = digit;
        } else {
            all->rest_is_not_zero |= digit != '0';
            all->power++;
        }
    }
}

static double read_with_strtod(const digits *all)
{
    char text[DECIDING_DIGITS + 32];
    int64_t power = all->power;
    if (power > STRTOD_EXPONENT) power = STRTOD_EXPONENT;
    if (power < -STRTOD_EXPONENT) power = -STRTOD_EXPONENT;
    snprintf(text, sizeof text, "%.*se%d", (int)all->count, all->text, (int)power);
    return strtod(text, NULL);
}

static bool read_exactly(const digits *all, double *value)
{
#if FLT_EVAL_METHOD == 0
    static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (all->count > EXACT_DIGITS || all->power > EXACT_POWER || all->power < -EXACT_POWER) {
        return false;
    }
    int64_t whole = 0;
    for (size_t i = 0; i < all->count; i++)
        whole = whole * 10 + (all->text[i] - '0');
    *value =
        all->power < 0 ? (double)whole / powers[-all->power] : (double)whole * powers[all->power];
    return true;
#else
    (void)all;
    (void)value;
    return false;
#endif
}

static double value_of(digits *all)
{
    double value = 0;
    if (all->count == 0) return 0;
    if (all->rest_is_not_zero) {
        all->text[all->count++] = '1';
        all->power--;
    }
    if (read_exactly(all, &value)) return value;
    return read_with_strtod(all);
}

double kedge_json_decimal_value(const kedge_json_decimal *decimal)
{
    digits all;
    all.count = 0;
    all.rest_is_not_zero = false;
    all.power = decimal->exponent - (int64_t)decimal->fraction.size;
    collect(&all, decimal->integer);
    collect(&all, decimal->fraction);
    double value = value_of(&all);
    return decimal->negative ? -value : value;
}

/* ---- writing ---- */

/* The closest decimal of `count` digits: value = 0.DIGITS × 10^point. */
typedef struct shortest {
    char text[SHORTEST_DIGITS + 1];
    size_t count;
    int point;
} shortest;

static void closest(double value, size_t count, shortest *out)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", (int)count - 1, value);
    out->count = 0;
    const char *at = text;
    /* The locale's decimal point, whatever it is, is no digit. */
    for (; *at != 'e'; at++) {
        if (is_digit(*at) && out->count < SHORTEST_DIGITS) out->text[out->count++] = *at;
    }
    out->point = (int)strtol(at + 1, NULL, 10) + 1;
}

static bool reads_back(const shortest *candidate, double value)
{
    digits all;
    memcpy(all.text, candidate->text, candidate->count);
    all.count = candidate->count;
    all.power = candidate->point - (int64_t)candidate->count;
    all.rest_is_not_zero = false;
    return value_of(&all) == value;
}

static void add_one_at_the_end(shortest *number)
{
    size_t at = number->count;
    while (at > 0 && number->text[at - 1] == '9')
        number->text[--at] = '0';
    if (at > 0) {
        number->text[at - 1]++;
        return;
    }
    number->text[0] = '1';
    number->point++;
}

/* Of a normal double: its fraction bits are 0. */
static bool is_power_of_two(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & ((UINT64_C(1) << 52) - 1)) == 0;
}

/* Tries `count` digits. Above a power of two doubles lie twice as far apart as below it: the
 * closest decimal may be a too small one that does not read back, while the next larger does. */
static bool try_digits(double value, size_t count, shortest *out)
{
    closest(value, count, out);
    if (reads_back(out, value)) return true;
    if (!is_power_of_two(value)) return false;
    add_one_at_the_end(out);
    return reads_back(out, value);
}

static void find_shortest(double value, shortest *out)
{
    size_t count = value < DBL_MIN ? 1 : EXACT_DIGITS;
    while (count < SHORTEST_DIGITS && !try_digits(value, count, out))
        count++;
    if (count == SHORTEST_DIGITS) closest(value, SHORTEST_DIGITS, out);
    while (out->count > 1 && out->text[out->count - 1] == '0')
        out->count--;
}

static size_t write_exponential(const shortest *number, char *out)
{
    size_t size = 0;
    out[size++] = number->text[0];
    if (number->count > 1) {
        out[size++] = '.';
        memcpy(out + size, number->text + 1, number->count - 1);
        size += number->count - 1;
    }
    int written = snprintf(out + size, 8, "e%+d", number->point - 1);
    return size + (size_t)written;
}

static size_t write_fixed(const shortest *number, char *out)
{
    size_t size = 0;
    if (number->point <= 0) {
        size_t zeros = (size_t)-number->point;
        memcpy(out, "0.000000", zeros + 2);
        size = zeros + 2;
        memcpy(out + size, number->text, number->count);
        return size + number->count;
    }
    size_t point = (size_t)number->point;
    size_t before = number->count < point ? number->count : point;
    memcpy(out, number->text, before);
    memset(out + before, '0', point - before);
    size = point;
    if (number->count > point) {
        out[size++] = '.';
        memcpy(out + size, number->text + point, number->count - point);
        size += number->count - point;
    }
    return size;
}

static size_t write_integer(uint64_t whole, char *out)
{
    char reversed[20];
    size_t count = 0;
    do {
        reversed[count++] = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    for (size_t i = 0; i < count; i++)
        out[i] = reversed[count - 1 - i];
    return count;
}

size_t kedge_json_format_number(double number, char out[KEDGE_JSON_NUMBER_SIZE])
{
    size_t size = 0;
    double value = fabs(number);
    if (!isfinite(number)) { /* has no text; null is what ECMA-262 makes of it */
        memcpy(out, "null", sizeof "null");
        return sizeof "null" - 1;
    }
    if (number < 0) out[size++] = '-';
    if (value <= INTEGER_MAX && value == (double)(uint64_t)value) {
        size += write_integer((uint64_t)value, out + size);
    } else {
        shortest digits_of;
        find_shortest(value, &digits_of);
        bool fixed = digits_of.point > FIRST_FIXED_POINT && digits_of.point <= LAST_FIXED_POINT;
        size +=
            fixed ? write_fixed(&digits_of, out + size) : write_exponential(&digits_of, out + size);
    }
    out[size] = '\0';
    return size;
}
