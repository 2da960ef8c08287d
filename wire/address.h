/* The address of a request: the parts of its path and the parameters of its query.
 *
 * Path and query are first split and then percent-decoded, each part by itself, so that an encoded
 * slash or ampersand belongs to a name. */
#ifndef KEDGE_WIRE_ADDRESS_H
#define KEDGE_WIRE_ADDRESS_H

#include "common/bytes.h"

#define KEDGE_WIRE_PATH_BYTES_MAX 4096 /* of a path, and of a parameter's value */
#define KEDGE_WIRE_PATH_PARTS_MAX 12

/* The paths of a project's event stream, and of the tickets for it. */
#define KEDGE_WIRE_PATH_PROJECT "/v1/orgs/{o}/projects/{p}"
#define KEDGE_WIRE_PATH_EVENTS  KEDGE_WIRE_PATH_PROJECT "/events"
#define KEDGE_WIRE_PATH_TICKET  KEDGE_WIRE_PATH_PROJECT "/events/ticket"
/* The same of a log. */
#define KEDGE_WIRE_PATH_LOG        KEDGE_WIRE_PATH_PROJECT "/logs/{g}"
#define KEDGE_WIRE_PATH_LOG_EVENTS KEDGE_WIRE_PATH_LOG "/events"
#define KEDGE_WIRE_PATH_LOG_TICKET KEDGE_WIRE_PATH_LOG "/events/ticket"

/* A client without a token names its user here, percent-encoded. Only a server in open mode, which
 * listens on loopback alone, believes it. */
#define KEDGE_WIRE_USER_HEADER "Kedge-User"

/* The parts between the slashes, still encoded. Borrowed. */
typedef struct kedge_wire_path {
    kedge_bytes part[KEDGE_WIRE_PATH_PARTS_MAX];
    size_t count;
} kedge_wire_path;

/* Splits `path` at its slashes. Returns false when it does not start with a slash, or has too many
 * parts. */
bool kedge_wire_path_cut(kedge_bytes path, kedge_wire_path *out);
/* Returns true when the path has as many parts as the pattern, and each part equals that of the
 * pattern unless the latter starts with '{'. */
bool kedge_wire_path_matches(const kedge_wire_path *pattern, const kedge_wire_path *path);

/* The value of the one parameter of this name, still encoded. KEDGE_INVALID_ARGUMENT
 * "query-invalid" when it is given twice. `*value` is not changed when it is absent. */
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
