/* The cursor over the children of a container. */
#include "mutate/json_members.h"

void kedge_json_members_advance(kedge_json_members *members)
{
    if (members->elements) {
        members->more = kedge_json_next_element(&members->iterator, &members->value);
        members->key = (kedge_bytes){members->value.data, 0};
    } else {
        members->more = kedge_json_next_member(&members->iterator, &members->key, &members->value);
    }
}

kedge_json_members kedge_json_members_start(kedge_bytes container)
{
    kedge_json_members members = {.iterator = kedge_json_iterate(container),
                                  .elements = kedge_json_type_of(container) == KEDGE_JSON_ARRAY};
    kedge_json_members_advance(&members);
    return members;
}

size_t kedge_json_members_count(kedge_bytes container)
{
    size_t count = 0;
    kedge_json_members members = kedge_json_members_start(container);
    for (; members.more; kedge_json_members_advance(&members))
        count++;
    return count;
}
