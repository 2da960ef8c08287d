/* A cursor over the members of a canonical object that can look at the next one. Members of
 * canonical objects are sorted, so two objects are gone through side by side, like sorted lists. */
#ifndef KEDGE_MUTATE_JSON_MEMBERS_H
#define KEDGE_MUTATE_JSON_MEMBERS_H

#include "common/json.h"

typedef struct kedge_json_members {
    kedge_json_iterator iterator;
    kedge_bytes key;
    kedge_bytes value;
    bool more;
} kedge_json_members;

static inline void kedge_json_members_advance(kedge_json_members *members)
{
    members->more = kedge_json_next_member(&members->iterator, &members->key, &members->value);
}

static inline kedge_json_members kedge_json_members_start(kedge_bytes object)
{
    kedge_json_members members = {.iterator = kedge_json_iterate(object)};
    kedge_json_members_advance(&members);
    return members;
}

#endif
