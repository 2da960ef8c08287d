/* Filling in a kedge_error. */
#ifndef KEDGE_COMMON_ERROR_H
#define KEDGE_COMMON_ERROR_H

#include <kedge/error.h>

#include <stdbool.h>

/* Fills `error` (NULL is allowed) and returns `status`, so that a failing function can end with
 *
 *     return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "item-too-large",
 *                       "the item … is %zu bytes …", n);
 *
 * The code and the message are cut at a UTF-8 boundary. */
kedge_status kedge_fail(kedge_error *error, kedge_status status, const char *code,
                        const char *format, ...) KEDGE_PRINTF(4, 5);
kedge_status kedge_fail_no_memory(kedge_error *error); /* KEDGE_NO_MEMORY, "out-of-memory" */
bool kedge_error_equal(const kedge_error *a, const kedge_error *b);

#endif
