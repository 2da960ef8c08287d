/* The cookie of a pull: which version a client has. */
#ifndef KEDGE_WIRE_COOKIE_H
#define KEDGE_WIRE_COOKIE_H

#include "common/json.h"

#define KEDGE_WIRE_LINEAGE_SIZE 33 /* 32 hexadecimal digits and a NUL */

typedef enum kedge_wire_cookie_kind {
    KEDGE_WIRE_COOKIE_NULL, /* of a client that has nothing yet */
    KEDGE_WIRE_COOKIE_OURS, /* has the number and lineage of a version */
    KEDGE_WIRE_COOKIE_OTHER /* of another kind of backend: any number, string or object */
} kedge_wire_cookie_kind;

typedef struct kedge_wire_cookie {
    kedge_wire_cookie_kind kind;
    /* Of one that is OURS, and of one from elsewhere that is `ordered`. A Replicache client takes
     * no cookie whose order is not above its own, so it may run ahead of the version. */
    int64_t order; /* without its fraction */
    bool ordered;  /* the order is a number that ours compare with */
    /* Of one that is OURS. */
    int64_t version;
    char lineage[KEDGE_WIRE_LINEAGE_SIZE];
} kedge_wire_cookie;

/* The cookie of a version, whose number is the order. With an empty lineage it is null. */
kedge_wire_cookie kedge_wire_cookie_of(int64_t version, const char *lineage);
/* null or one that is OURS. */
void kedge_wire_cookie_write(kedge_json_writer *writer, const kedge_wire_cookie *cookie);
/* Reads a value from a checked text. Returns false when it is an array or a boolean, which no
 * backend uses as a cookie. */
bool kedge_wire_cookie_read(kedge_bytes value, kedge_wire_cookie *out);

#endif
