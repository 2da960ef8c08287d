/* A cursor over the members of a canonical object, or the elements of an array, that can look at
 * the next one. Members of canonical objects are sorted, so two objects are gone through side by
 * side, like sorted lists. */
#ifndef KEDGE_MUTATE_JSON_MEMBERS_H
#define KEDGE_MUTATE_JSON_MEMBERS_H

#include "common/json.h"

typedef struct kedge_json_members {
    kedge_json_iterator iterator;
    kedge_bytes key; /* of an element: empty, in front of its value */
    kedge_bytes value;
    bool elements;
    bool more;
} kedge_json_members;

kedge_json_members kedge_json_members_start(kedge_bytes container);
void kedge_json_members_advance(kedge_json_members *members);
size_t kedge_json_members_count(kedge_bytes container);

#endif
