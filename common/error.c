/* Filling in a kedge_error, the names of the statuses, and the version of the library. */
#include "common/error.h"

#include "common/utf8.h"

#include <kedge/limits.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A rejection comes to the app as an error. */
_Static_assert(sizeof((kedge_error){0}.code) == KEDGE_LIMIT_REJECTION_CODE_BYTES + 1,
               "an error has room for the code of a rejection");
_Static_assert(sizeof((kedge_error){0}.message) == KEDGE_LIMIT_REJECTION_MESSAGE_BYTES + 1,
               "an error has room for the message of a rejection");

/* Makes clean text of what a format gave: whatever is no UTF-8 or a control character becomes '?',
 * since formats quote what a peer sent; a character that the end of the array cut is left out. */
static void clean(char *text, bool cut)
{
    size_t size = strlen(text);
    size_t at = 0;
    while (at < size) {
        size_t sequence = kedge_utf8_sequence(text + at, size - at);
        if (sequence == 0 && cut && size - at < 4 && (unsigned char)text[at] >= 0xC0) {
            text[at] = '\0';
            return;
        }
        bool control = (unsigned char)text[at] < 0x20 || text[at] == 0x7F;
        if (sequence == 0 || control) text[at] = '?';
        at += sequence == 0 ? 1 : sequence;
    }
}

kedge_status kedge_fail(kedge_error *error, kedge_status status, const char *code,
                        const char *format, ...)
{
    if (error == NULL) return status;

    /* The arguments may be fields of `error` itself, so it is written only at the end. */
    kedge_error filled = {.status = status};
    int code_size = snprintf(filled.code, sizeof filled.code, "%s", code);
    va_list arguments;
    va_start(arguments, format);
    int message_size = vsnprintf(filled.message, sizeof filled.message, format, arguments);
    va_end(arguments);
    clean(filled.code, code_size >= (int)sizeof filled.code);
    clean(filled.message, message_size >= (int)sizeof filled.message);
    *error = filled;
    return status;
}

kedge_status kedge_fail_no_memory(kedge_error *error)
{
    return kedge_fail(error, KEDGE_NO_MEMORY, "out-of-memory", "memory ran out");
}

bool kedge_error_equal(const kedge_error *a, const kedge_error *b)
{
    return a->status == b->status && strcmp(a->code, b->code) == 0 &&
           strcmp(a->message, b->message) == 0;
}

const char *kedge_status_name(kedge_status status)
{
    static const char names[][18] = {
        [KEDGE_OK] = "ok",
        [KEDGE_DONE] = "done",
        [KEDGE_NOT_FOUND] = "not-found",
        [KEDGE_REJECTED] = "rejected",
        [KEDGE_INVALID_ARGUMENT] = "invalid-argument",
        [KEDGE_INVALID_JSON] = "invalid-json",
        [KEDGE_LIMIT_EXCEEDED] = "limit-exceeded",
        [KEDGE_NO_MEMORY] = "no-memory",
        [KEDGE_IO] = "io",
        [KEDGE_DISK_FULL] = "disk-full",
        [KEDGE_BUSY] = "busy",
        [KEDGE_CORRUPT] = "corrupt",
        [KEDGE_NOT_A_DATABASE] = "not-a-database",
        [KEDGE_NEWER_DATABASE] = "newer-database",
        [KEDGE_REGISTRY_MISMATCH] = "registry-mismatch",
        [KEDGE_NETWORK] = "network",
        [KEDGE_TIMEOUT] = "timeout",
        [KEDGE_UNAUTHORIZED] = "unauthorized",
        [KEDGE_FORBIDDEN] = "forbidden",
        [KEDGE_PROTOCOL] = "protocol",
        [KEDGE_CONFLICT] = "conflict",
        [KEDGE_UNAVAILABLE] = "unavailable",
        [KEDGE_UNSUPPORTED] = "unsupported",
        [KEDGE_CANCELLED] = "cancelled",
        [KEDGE_INTERNAL] = "internal",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}

const char *kedge_library_version(void)
{
    return KEDGE_VERSION_STRING;
}
