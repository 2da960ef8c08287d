/* JSON Pointer (RFC 6901). */
#ifndef KEDGE_MUTATE_JSON_POINTER_H
#define KEDGE_MUTATE_JSON_POINTER_H

#include "common/bytes.h"

#include <kedge/limits.h>

/* A parsed pointer: its tokens, unescaped, and each written as a canonical JSON string, which is
 * how the keys of canonical objects are found. No document is deeper than the limit, so no pointer
 * that has more tokens can point at anything. */
typedef struct kedge_json_pointer {
    kedge_buffer tokens; /* one after another */
    size_t ends[KEDGE_LIMIT_JSON_DEPTH];
    size_t count;
} kedge_json_pointer;

kedge_json_pointer kedge_json_pointer_make(const kedge_allocator *allocator);
void kedge_json_pointer_free(kedge_json_pointer *pointer);
/* `value` is a JSON value. KEDGE_INVALID_ARGUMENT when it is no pointer; the message has no
 * subject, as "must be a string". KEDGE_NO_MEMORY. */
kedge_status kedge_json_pointer_parse(kedge_json_pointer *pointer, kedge_bytes value,
                                      kedge_error *error);
kedge_bytes kedge_json_pointer_token(const kedge_json_pointer *pointer, size_t at);
bool kedge_json_pointer_equal(const kedge_json_pointer *a, const kedge_json_pointer *b);
/* `child` points into what `parent` points at. */
bool kedge_json_pointer_is_below(const kedge_json_pointer *child, const kedge_json_pointer *parent);
/* The part of a canonical value that it leads to; false when there is none. */
bool kedge_json_pointer_find(const kedge_json_pointer *pointer, kedge_bytes text,
                             kedge_bytes *value);
/* A token as an array index: decimal digits without a leading zero. */
bool kedge_json_pointer_index(kedge_bytes token, size_t *index);

#endif
