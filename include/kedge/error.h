/* Errors: a status that functions return, and details in a struct that the caller owns.
 *
 * Every function that can fail returns kedge_status and takes `kedge_error *error` as its last
 * parameter, except kedge_close, which takes no error. The parameter may be NULL. A function that
 * fails fills the struct and does not change its other outputs, unless its comment says otherwise.
 * A function that succeeds does not change the struct. */
#ifndef KEDGE_ERROR_H
#define KEDGE_ERROR_H

#include <kedge/base.h>

KEDGE_BEGIN_DECLS

typedef enum kedge_status {
    KEDGE_OK = 0,
    KEDGE_DONE = 1,               /* an iteration has no more rows: not an error */
    KEDGE_NOT_FOUND = 2,          /* no such item, mutation, version or project */
    KEDGE_REJECTED = 3,           /* a mutator refused; error.code is the mutator's own */
    KEDGE_INVALID_ARGUMENT = 4,   /* a parameter is outside what the function allows */
    KEDGE_INVALID_JSON = 5,       /* text is not I-JSON (RFC 7493) */
    KEDGE_LIMIT_EXCEEDED = 6,     /* over a limit of kedge/limits.h */
    KEDGE_NO_MEMORY = 7,          /* the allocator returned NULL */
    KEDGE_IO = 8,                 /* the disk failed */
    KEDGE_DISK_FULL = 9,          /* the disk is full */
    KEDGE_BUSY = 10,              /* another process or thread holds what is needed; try again */
    KEDGE_CORRUPT = 11,           /* a file's contents are damaged */
    KEDGE_NOT_A_DATABASE = 12,    /* the folder or file is something else */
    KEDGE_NEWER_DATABASE = 13,    /* written by a newer Kedge than this one */
    KEDGE_REGISTRY_MISMATCH = 14, /* another process opened the database with other mutators */
    KEDGE_NETWORK = 15,           /* the server could not be reached, or the connection broke */
    KEDGE_TIMEOUT = 16,           /* a deadline passed */
    KEDGE_UNAUTHORIZED = 17,      /* the token is missing, expired or not accepted */
    KEDGE_FORBIDDEN = 18,         /* the token does not give this right */
    KEDGE_PROTOCOL = 19,          /* the response is not one of Kedge's protocol */
    KEDGE_CONFLICT = 20,          /* a condition did not hold: another writer was first */
    KEDGE_UNAVAILABLE = 21,       /* a transient fault, or an unknown outcome; retry */
    KEDGE_UNSUPPORTED = 22,       /* this build or this server cannot do it */
    KEDGE_CANCELLED = 23,         /* ended by the caller or by closing */
    KEDGE_INTERNAL = 24           /* an invariant of Kedge itself did not hold: a bug */
} kedge_status;

/* `code` is stable and machine-readable: lower-case words joined by '-' ("item-too-large").
 * `message` is one English sentence that says what was wrong and what is allowed. Both are UTF-8,
 * NUL-terminated, and cut at a character boundary when too long. */
typedef struct kedge_error {
    kedge_status status;
    char code[64];
    char message[256];
} kedge_error;

/* Returns the name of a status, for example "disk-full"; "unknown" for a number that is none of the
 * above. The text is static. Any thread. */
KEDGE_API const char *kedge_status_name(kedge_status status);

KEDGE_END_DECLS

#endif
