/* Reading members of a response, with errors that name the member. Private to wire.
 *
 * Reading is strict: a response that is not exactly what docs/reference/wire.md says is
 * KEDGE_PROTOCOL and has no effect. A response as a whole may be nested deeper than
 * KEDGE_LIMIT_JSON_DEPTH allows a value, so its frame is read by the functions below, which check
 * every byte that they use, and each value is checked by itself. Unknown members are skipped. */
#ifndef KEDGE_WIRE_RESPONSE_H
#define KEDGE_WIRE_RESPONSE_H

#include "wire/cookie.h"
#include "wire/outcomes.h"
#include "wire/patch.h"
#include "wire/replay.h"

/* The place of an object in the response, for messages: "kedge.outcomes[3]". */
typedef struct kedge_wire_place {
    const char *name; /* "": the response itself */
    int64_t index;    /* -1: it is not in an array */
} kedge_wire_place;

#define KEDGE_WIRE_PLACE(text)           ((kedge_wire_place){(text), -1})
#define KEDGE_WIRE_PLACE_AT(text, count) ((kedge_wire_place){(text), (int64_t)(count)})

/* A member to look for. `value` has no data when the member is absent. */
typedef struct kedge_wire_member {
    const char *name;
    kedge_bytes value;
} kedge_wire_member;

/* Reads `object` once and fills the members that it finds. Fails when `object` is not an object,
 * when its text is malformed, or when a wanted member occurs twice. */
kedge_status kedge_wire_response_members(kedge_wire_place place, kedge_bytes object,
                                         kedge_wire_member *members, size_t count,
                                         kedge_error *error);

/* Returns KEDGE_PROTOCOL, "response-invalid": the member at this place is not `expected`, or is
 * missing. */
kedge_status kedge_wire_response_fail(kedge_wire_place place, const kedge_wire_member *member,
                                      const char *expected, kedge_error *error);

/* Typed reads of members that must be there. */
kedge_status kedge_wire_response_integer(kedge_wire_place place, const kedge_wire_member *member,
                                         int64_t least, int64_t *out, kedge_error *error);
kedge_status kedge_wire_response_boolean(kedge_wire_place place, const kedge_wire_member *member,
                                         bool *out, kedge_error *error);
kedge_status kedge_wire_response_chars(kedge_wire_place place, const kedge_wire_member *member,
                                       char *out, size_t out_size, kedge_error *error);
/* 2 * size lower-case hexadecimal digits, decoded. */
kedge_status kedge_wire_response_hex(kedge_wire_place place, const kedge_wire_member *member,
                                     uint8_t *out, size_t size, kedge_error *error);
kedge_status kedge_wire_response_lineage(kedge_wire_place place, const kedge_wire_member *member,
                                         char lineage[KEDGE_WIRE_LINEAGE_SIZE], kedge_error *error);
bool kedge_wire_response_is_null(const kedge_wire_member *member);

/* The array of outcomes in `member`, appended to `list`: ids ascend from those already there, each
 * at most `id_max` and decided at most in version `version_max`. `next` is the member
 * outcomes_next. */
kedge_status kedge_wire_outcomes_read(kedge_wire_place place, const kedge_wire_member *member,
                                      const kedge_wire_member *next, int64_t id_max,
                                      int64_t version_max, kedge_wire_outcomes *list,
                                      kedge_error *error);

/* The array of patch operations in `member`. `items`: it has the items of a snapshot, which have no
 * `op`. */
kedge_status kedge_wire_patch_read(kedge_wire_place place, const kedge_wire_member *member,
                                   bool items, kedge_wire_patch *patch, kedge_error *error);
/* The optional member `damaged`: what the server has lost. */
kedge_status kedge_wire_damaged_read(const kedge_wire_member *member, kedge_wire_damaged *damaged,
                                     kedge_error *error);

/* The optional member `log` of a response that leads from the version `from` to `version`. */
kedge_status kedge_wire_replay_read(const kedge_wire_member *member,
                                    const kedge_allocator *allocator, int64_t from, int64_t version,
                                    kedge_wire_replay *out, kedge_error *error);

#endif
