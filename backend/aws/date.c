/* Reading a date without the locale and without the time zone of the process. */
#include "backend/aws/date.h"

#include <string.h>

#define DATE_BYTES 29

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

bool kedge_aws_date_read(kedge_bytes text, int64_t *time_ms)
{
    int64_t day, month, year, hour, minute, second;
    const char *at = text.data;
    if (text.size != DATE_BYTES || memcmp(at + 3, ", ", 2) != 0 ||
        memcmp(at + 25, " GMT", 4) != 0 || at[19] != ':' || at[22] != ':') {
        return false;
    }
    if (!read_digits(at + 5, 2, &day) || !read_month(at + 8, &month) ||
        !read_digits(at + 12, 4, &year) || !read_digits(at + 17, 2, &hour) ||
        !read_digits(at + 20, 2, &minute) || !read_digits(at + 23, 2, &second)) {
        return false;
    }
    if (day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return false;
    int64_t days = days_from_civil(year, month, day);
    *time_ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    return true;
}
