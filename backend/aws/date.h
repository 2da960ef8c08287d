/* The Date of a response (RFC 9110, 5.6.7), in the one form that is sent today, and the times in
 * responses (RFC 3339). */
#ifndef KEDGE_BACKEND_AWS_DATE_H
#define KEDGE_BACKEND_AWS_DATE_H

#include "common/bytes.h"

/* "Sun, 06 Nov 1994 08:49:37 GMT" in milliseconds since 1970; false for anything else. */
bool kedge_aws_date_read(kedge_bytes text, int64_t *time_ms);
/* "1994-11-06T08:49:37Z", also with a fraction, which is cut after milliseconds, and with "+01:00"
 * for "Z". */
bool kedge_aws_timestamp_read(kedge_bytes text, int64_t *time_ms);

#endif
