/* Lost items: what a response says of them. */
#ifndef KEDGE_BACKEND_API_DAMAGE_H
#define KEDGE_BACKEND_API_DAMAGE_H

#include "backend/api/call.h"
#include "wire/patch.h"
#include "wire/pull.h"

/* The items that a response leaves out because the backend has lost them. */
typedef struct kedge_api_damage {
    int64_t count;            /* of items, also of those that are not named */
    kedge_buffer keys;        /* of the first ones: a JSON array without its end, or empty */
    kedge_buffer collections; /* those that cannot be read at all, in the same form */
    kedge_buffer key;         /* scratch */
    kedge_error cause;        /* of the last one */
} kedge_api_damage;

kedge_api_damage kedge_api_damage_make(const kedge_allocator *allocator);
void kedge_api_damage_free(kedge_api_damage *damage);
void kedge_api_damage_item(kedge_api_damage *damage, kedge_bytes collection, kedge_bytes id,
                           const kedge_error *cause);
void kedge_api_damage_collection(kedge_api_damage *damage, kedge_bytes collection, int64_t items,
                                 const kedge_error *cause);
/* A position to which the notes are rolled back when a part of the response is discarded. */
typedef struct kedge_api_damage_mark {
    int64_t count;
    size_t keys;
    size_t collections;
} kedge_api_damage_mark;
kedge_api_damage_mark kedge_api_damage_position(const kedge_api_damage *damage);
void kedge_api_damage_roll_back(kedge_api_damage *damage, kedge_api_damage_mark mark);
/* Reports the noted items to the front end, for its log and metrics, and in `told` to the client.
 * Call it last: nothing may be noted after it. */
kedge_status kedge_api_damage_tell(kedge_api_response *response, kedge_api_damage *damage,
                                   kedge_wire_damaged *told, kedge_error *error);

#endif
