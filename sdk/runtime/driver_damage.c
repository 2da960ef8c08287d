/* See driver_damage.h. */
#include "sdk/runtime/driver_damage.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define KEYS_SHOWN_BYTES 160

static size_t find(const kedge_driver_damage *damage, kedge_bytes key)
{
    size_t at = 0;
    while (at < damage->count && !kedge_bytes_equal_text(key, damage->keys[at]))
        at++;
    return at;
}

void kedge_driver_damage_add(kedge_driver_damage *damage, kedge_bytes key)
{
    if (find(damage, key) < damage->count) return;
    if (damage->count == KEDGE_DRIVER_DAMAGED_MAX || key.size >= KEDGE_DRIVER_KEY_SIZE) {
        damage->others++;
        return;
    }
    char *place = damage->keys[damage->count++];
    if (key.size > 0) memcpy(place, key.data, key.size);
    place[key.size] = '\0';
}

void kedge_driver_damage_add_told(kedge_driver_damage *damage, const kedge_damaged_items *told)
{
    char key[KEDGE_DRIVER_KEY_SIZE];
    kedge_bytes text;
    int64_t named = 0;
    kedge_json_iterator walk = kedge_json_iterate(told->keys);
    while (named < told->count && kedge_json_next_element(&walk, &text)) {
        if (!kedge_json_to_chars(text, key, sizeof key)) continue;
        kedge_driver_damage_add(damage, kedge_bytes_of(key));
        named++;
    }
    damage->others += told->count - named;
}

void kedge_driver_damage_add_all(kedge_driver_damage *damage, const kedge_driver_damage *more)
{
    for (size_t i = 0; i < more->count; i++)
        kedge_driver_damage_add(damage, kedge_bytes_of(more->keys[i]));
    damage->others += more->others;
}

void kedge_driver_damage_heal(kedge_driver_damage *damage, kedge_bytes key)
{
    size_t at = find(damage, key);
    if (at == damage->count) return;
    damage->count--;
    if (at < damage->count)
        memmove(damage->keys[at], damage->keys[damage->count], KEDGE_DRIVER_KEY_SIZE);
}

void kedge_driver_damage_tell(const kedge_driver_damage *damage, kedge_error *error)
{
    char shown[KEYS_SHOWN_BYTES] = "";
    size_t used = 0;
    size_t at = 0;
    int64_t total = (int64_t)damage->count + damage->others;
    *error = (kedge_error){.status = KEDGE_OK};
    if (total == 0) return;
    for (; at < damage->count; at++) {
        size_t size = strlen(damage->keys[at]);
        if (used + size + sizeof ", …" > sizeof shown) break;
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%s", at == 0 ? "" : ", ",
                                 damage->keys[at]);
    }
    const char *more = (int64_t)at < total ? (at > 0 ? ", …" : "…") : "";
    kedge_fail(error, KEDGE_CORRUPT, "items-damaged",
               "the server has lost items, and left them out (%lld): %s%s", (long long)total, shown,
               more);
}
