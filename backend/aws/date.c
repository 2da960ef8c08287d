/* Reading a date without the locale and without the time zone of the process. */
#include "backend/aws/date.h"

#include <string.h>

#define DATE_BYTES      29
#define TIMESTAMP_BYTES 19 /* up to the seconds */

static bool read_digits(const char *text, size_t count, int64_t *number)
{
    int64_t read = 0;
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        read = read * 10 + (text[i] - '0');
    }
    *number = read;
    return true;
}

static bool read_month(const char *text, int64_t *month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int64_t i = 0; i < 12; i++) {
        if (memcmp(text, names + i * 3, 3) == 0) {
            *month = i + 1;
            return true;
        }
    }
    return false;
}

/* Days from 1970-01-01 in the Gregorian calendar; years start in March, so that the day of a leap
 * year comes last. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    if (month <= 2) year--;
    int64_t era = year / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

/* A day and a time of day; false when one is none. */
static bool combine(const int64_t part[6], int64_t *time_ms)
{
    int64_t year = part[0], month = part[1], day = part[2];
    int64_t hour = part[3], minute = part[4], second = part[5];
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
        return false;
    }
    int64_t days = days_from_civil(year, month, day);
    *time_ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    return true;
}

bool kedge_aws_date_read(kedge_bytes text, int64_t *time_ms)
{
    int64_t part[6];
    const char *at = text.data;
    if (text.size != DATE_BYTES || memcmp(at + 3, ", ", 2) != 0 ||
        memcmp(at + 25, " GMT", 4) != 0 || at[19] != ':' || at[22] != ':') {
        return false;
    }
    return read_digits(at + 5, 2, &part[2]) && read_month(at + 8, &part[1]) &&
           read_digits(at + 12, 4, &part[0]) && read_digits(at + 17, 2, &part[3]) &&
           read_digits(at + 20, 2, &part[4]) && read_digits(at + 23, 2, &part[5]) &&
           combine(part, time_ms);
}

/* "Z", "+01:00" or "-01:00", and nothing else: how far the time is ahead of UTC. */
static bool read_offset(kedge_bytes text, int64_t *offset_ms)
{
    int64_t hours, minutes;
    if (kedge_bytes_equal_text(text, "Z")) {
        *offset_ms = 0;
        return true;
    }
    if (text.size != 6 || (text.data[0] != '+' && text.data[0] != '-') || text.data[3] != ':' ||
        !read_digits(text.data + 1, 2, &hours) || !read_digits(text.data + 4, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *offset_ms = (hours * 60 + minutes) * (text.data[0] == '-' ? -60000 : 60000);
    return true;
}

/* The digits of a fraction of a second, in milliseconds; `rest` goes on after them. */
static bool read_fraction(kedge_bytes *rest, int64_t *fraction_ms)
{
    size_t digits = 1; /* and the point */
    *fraction_ms = 0;
    for (; digits < rest->size && rest->data[digits] >= '0' && rest->data[digits] <= '9';
         digits++) {
        static const int64_t weights_ms[] = {100, 10, 1};
        if (digits <= 3) *fraction_ms += (rest->data[digits] - '0') * weights_ms[digits - 1];
    }
    *rest = (kedge_bytes){rest->data + digits, rest->size - digits};
    return digits > 1;
}

bool kedge_aws_timestamp_read(kedge_bytes text, int64_t *time_ms)
{
    static const size_t starts[] = {0, 5, 8, 11, 14, 17};
    int64_t part[6], local_ms, offset_ms, fraction_ms = 0;
    const char *at = text.data;
    if (text.size <= TIMESTAMP_BYTES || at[4] != '-' || at[7] != '-' || at[10] != 'T' ||
        at[13] != ':' || at[16] != ':') {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        if (!read_digits(at + starts[i], i == 0 ? 4 : 2, &part[i])) return false;
    }
    kedge_bytes rest = {at + TIMESTAMP_BYTES, text.size - TIMESTAMP_BYTES};
    if (rest.data[0] == '.' && !read_fraction(&rest, &fraction_ms)) return false;
    if (!read_offset(rest, &offset_ms) || !combine(part, &local_ms)) return false;
    *time_ms = local_ms - offset_ms + fraction_ms;
    return true;
}
