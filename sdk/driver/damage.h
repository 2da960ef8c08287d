/* The items that the server has lost, as reported to the app. */
#ifndef KEDGE_SDK_DRIVER_DAMAGE_H
#define KEDGE_SDK_DRIVER_DAMAGE_H

#include "wire/patch.h"

#include <kedge/limits.h>

#define KEDGE_DRIVER_DAMAGED_MAX   1024
#define KEDGE_DRIVER_DAMAGED_NAMES 16
#define KEDGE_DRIVER_KEY_SIZE      (KEDGE_LIMIT_NAME_BYTES + 1 + KEDGE_LIMIT_ITEM_ID_BYTES + 1)

/* The first lost items are known by checksums of their wire keys, and the first of these also by
 * the keys themselves, for the message. Of the others only the number is known, as of those that
 * the server does not name. */
typedef struct kedge_driver_damage {
    size_t count;
    uint64_t keys[KEDGE_DRIVER_DAMAGED_MAX]; /* checksums */
    size_t name_count;
    char names[KEDGE_DRIVER_DAMAGED_NAMES][KEDGE_DRIVER_KEY_SIZE];
    int64_t others;
    int64_t written; /* items that were written since, and are none of `keys` */
} kedge_driver_damage;

/* One item, by its wire key. A key that is known already counts once. */
void kedge_driver_damage_add(kedge_driver_damage *damage, kedge_bytes key);
/* Adds the lost items of a response, or of another list. */
void kedge_driver_damage_add_told(kedge_driver_damage *damage, const kedge_wire_damaged *told);
void kedge_driver_damage_add_all(kedge_driver_damage *damage, const kedge_driver_damage *more);
/* Notes that an item was written again or deleted, so that it is no longer lost. Lost items without
 * a known key cannot be matched; they count as repaired when as many other items were written. */
void kedge_driver_damage_heal(kedge_driver_damage *damage, kedge_bytes key);
static inline bool kedge_driver_damage_any(const kedge_driver_damage *damage)
{
    return damage->count > 0 || damage->others > 0;
}
/* For the status: "items-damaged" with the number and the first keys; KEDGE_OK when none is. */
void kedge_driver_damage_tell(const kedge_driver_damage *damage, kedge_error *error);

#endif
