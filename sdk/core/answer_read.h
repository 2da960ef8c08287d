/* Reading members of an answer, with errors that name the member. Private to sdk/core.
 *
 * An answer as a whole may be nested deeper than KEDGE_LIMIT_JSON_DEPTH allows a value, so its
 * frame is walked by the reader below, which checks every byte that it uses, and each value is
 * checked by itself. Members that the wire does not name are stepped over. */
#ifndef KEDGE_SDK_CORE_ANSWER_READ_H
#define KEDGE_SDK_CORE_ANSWER_READ_H

#include "sdk/core/answer.h"

/* Where in the answer an object stands, for messages: "kedge.outcomes[3]". */
typedef struct kedge_place {
    const char *name; /* "": the answer itself */
    int64_t index;    /* -1: it stands in no array */
} kedge_place;

#define KEDGE_PLACE(text)           ((kedge_place){(text), -1})
#define KEDGE_PLACE_AT(text, count) ((kedge_place){(text), (int64_t)(count)})

/* A member that is looked for. `value` has no data when it is absent. */
typedef struct kedge_member {
    const char *name;
    kedge_bytes value;
} kedge_member;

/* Walks `object` once and fills the members found. Fails when it is no object, when its text is
 * malformed, or when a member that is looked for stands there twice. */
kedge_status kedge_answer_members(kedge_place place, kedge_bytes object, kedge_member *members,
                                  size_t count, kedge_error *error);

/* KEDGE_PROTOCOL, "answer-invalid": the member at this place is not `expected`, or is missing. */
kedge_status kedge_answer_fail(kedge_place place, const kedge_member *member, const char *expected,
                               kedge_error *error);

/* Typed reads of members that must be there. */
kedge_status kedge_answer_integer(kedge_place place, const kedge_member *member, int64_t least,
                                  int64_t *out, kedge_error *error);
kedge_status kedge_answer_boolean(kedge_place place, const kedge_member *member, bool *out,
                                  kedge_error *error);
kedge_status kedge_answer_chars(kedge_place place, const kedge_member *member, char *out,
                                size_t out_size, kedge_error *error);
/* 2 * size lower-case hexadecimal digits, decoded. */
kedge_status kedge_answer_hex(kedge_place place, const kedge_member *member, uint8_t *out,
                              size_t size, kedge_error *error);
kedge_status kedge_answer_lineage(kedge_place place, const kedge_member *member, char lineage[33],
                                  kedge_error *error);
bool kedge_answer_is_null(const kedge_member *member);

/* The array of outcomes in `member`, appended to `list`: ids ascend from those already there, each
 * at most `id_max` and decided at most in version `version_max`. `next` is the member
 * outcomes_next. */
kedge_status kedge_answer_outcomes(kedge_place place, const kedge_member *member,
                                   const kedge_member *next, int64_t id_max, int64_t version_max,
                                   kedge_outcome_list *list, kedge_error *error);

/* The array of patch operations in `member` (`items`: of a snapshot's items,
 * which have no `op`). */
kedge_status kedge_answer_patch(kedge_place place, const kedge_member *member, bool items,
                                kedge_patch *patch, kedge_error *error);
/* The optional member `damaged`: what the server has lost. */
kedge_status kedge_answer_damaged(const kedge_member *member, kedge_damaged_items *damaged,
                                  kedge_error *error);
void kedge_patch_free(kedge_patch *patch);
void kedge_outcome_list_free(kedge_outcome_list *list);

#endif
