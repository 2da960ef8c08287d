/* The address of a request: the parts of its path and the parameters of its query.
 *
 * Both come as they were sent. They are cut first and percent-decoded afterwards, each part by
 * itself, so that an encoded slash or ampersand belongs to a name. */
#ifndef KEDGE_WIRE_ADDRESS_H
#define KEDGE_WIRE_ADDRESS_H

#include "common/bytes.h"

#define KEDGE_WIRE_PATH_BYTES_MAX 4096 /* of a path, and of a parameter's value */
#define KEDGE_WIRE_PATH_PARTS_MAX 12

/* Where the events of a project are, and the tickets for them. */
#define KEDGE_WIRE_PATH_PROJECT "/v1/orgs/{o}/projects/{p}"
#define KEDGE_WIRE_PATH_EVENTS  KEDGE_WIRE_PATH_PROJECT "/events"
#define KEDGE_WIRE_PATH_TICKET  KEDGE_WIRE_PATH_PROJECT "/events/ticket"

/* What stands between the slashes, still encoded. Borrowed. */
typedef struct kedge_wire_path {
    kedge_bytes part[KEDGE_WIRE_PATH_PARTS_MAX];
    size_t count;
} kedge_wire_path;

/* Cuts `path` at its slashes. False when it does not start with one, or has too many parts. */
bool kedge_wire_path_cut(kedge_bytes path, kedge_wire_path *out);
/* The path has as many parts as the pattern, and the same ones where the pattern's do not start
 * with '{'. */
bool kedge_wire_path_matches(const kedge_wire_path *pattern, const kedge_wire_path *path);

/* The value of the one parameter of this name, still encoded. KEDGE_INVALID_ARGUMENT
 * "query-invalid" when it is given twice. An absent one leaves `*value` as it was. */
kedge_status kedge_wire_query_find(kedge_bytes query, const char *name, kedge_bytes *value,
                                   bool *present, kedge_error *error);
/* The same as a whole number from `least` on, at least 0, to `most`. */
kedge_status kedge_wire_query_integer(kedge_bytes query, const char *name, int64_t least,
                                      int64_t most, int64_t *value, kedge_error *error);
/* The same decoded, appended to `text`. */
kedge_status kedge_wire_query_text(kedge_bytes query, const char *name, kedge_buffer *text,
                                   bool *present, kedge_error *error);

/* "latest" or a number from 1 on, of a path or a query; `*number` is 0 for latest. */
bool kedge_wire_version_read(kedge_bytes text, int64_t *number);

#endif
