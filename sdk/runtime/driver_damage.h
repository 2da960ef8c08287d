/* Items that the server has lost: what the app is told of them. */
#ifndef KEDGE_SDK_RUNTIME_DRIVER_DAMAGE_H
#define KEDGE_SDK_RUNTIME_DRIVER_DAMAGE_H

#include "sdk/core/answer.h"

/* So many are known by their keys; of the others only the number is. */
#define KEDGE_DRIVER_DAMAGED_MAX 16
#define KEDGE_DRIVER_KEY_SIZE    (KEDGE_LIMIT_NAME_BYTES + 1 + KEDGE_LIMIT_ITEM_ID_BYTES + 1)

typedef struct kedge_driver_damage {
    size_t count;
    char keys[KEDGE_DRIVER_DAMAGED_MAX][KEDGE_DRIVER_KEY_SIZE]; /* wire keys */
    int64_t others;
} kedge_driver_damage;

/* One item, by its wire key. A key that is known already counts once. */
void kedge_driver_damage_add(kedge_driver_damage *damage, kedge_bytes key);
/* What an answer says, or another damage. */
void kedge_driver_damage_add_told(kedge_driver_damage *damage, const kedge_damaged_items *told);
void kedge_driver_damage_add_all(kedge_driver_damage *damage, const kedge_driver_damage *more);
/* An item was written anew, or deleted: it is whole. */
void kedge_driver_damage_heal(kedge_driver_damage *damage, kedge_bytes key);
/* For the status: "items-damaged" with the number and the first keys; KEDGE_OK when none is. */
void kedge_driver_damage_tell(const kedge_driver_damage *damage, kedge_error *error);

#endif
