/* See damage.h. */
#include "sdk/driver/damage.h"

#include "common/checksum.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define KEYS_SHOWN_BYTES 160

/* 64 bits, of two checksums: two keys with the same checksum would count as one lost item, and the
 * repair of one would hide the loss of the other. */
static uint64_t checksum_of(kedge_bytes key)
{
    kedge_checksum high = kedge_checksum_begin(0), low = kedge_checksum_begin(1);
    kedge_checksum_bytes(&high, key);
    kedge_checksum_bytes(&low, key);
    return (uint64_t)kedge_checksum_end(&high) << 32 | (uint64_t)kedge_checksum_end(&low);
}

static size_t find(const kedge_driver_damage *damage, uint64_t key)
{
    size_t at = 0;
    while (at < damage->count && damage->keys[at] != key)
        at++;
    return at;
}

static size_t find_name(const kedge_driver_damage *damage, kedge_bytes name)
{
    size_t at = 0;
    while (at < damage->name_count && !kedge_bytes_equal_text(name, damage->names[at]))
        at++;
    return at;
}

static void add_others(kedge_driver_damage *damage, int64_t count)
{
    damage->others += count;
    if (count > 0) damage->written = 0;
}

static void add_key(kedge_driver_damage *damage, uint64_t key)
{
    if (find(damage, key) < damage->count) return;
    if (damage->count == KEDGE_DRIVER_DAMAGED_MAX)
        add_others(damage, 1);
    else
        damage->keys[damage->count++] = key;
}

static void add_name(kedge_driver_damage *damage, kedge_bytes name)
{
    if (damage->name_count == KEDGE_DRIVER_DAMAGED_NAMES || name.size >= KEDGE_DRIVER_KEY_SIZE ||
        find_name(damage, name) < damage->name_count)
        return;
    char *place = damage->names[damage->name_count++];
    if (name.size > 0) memcpy(place, name.data, name.size);
    place[name.size] = '\0';
}

void kedge_driver_damage_add(kedge_driver_damage *damage, kedge_bytes key)
{
    uint64_t checksum = checksum_of(key);
    add_key(damage, checksum);
    if (find(damage, checksum) < damage->count) add_name(damage, key);
}

void kedge_driver_damage_add_told(kedge_driver_damage *damage, const kedge_wire_damaged *told)
{
    char key[KEDGE_DRIVER_KEY_SIZE];
    kedge_bytes text;
    int64_t named = 0;
    kedge_json_iterator iterator = kedge_json_iterate(told->keys);
    while (named < told->count && kedge_json_next_element(&iterator, &text)) {
        if (!kedge_json_to_chars(text, key, sizeof key)) continue;
        kedge_driver_damage_add(damage, kedge_bytes_of(key));
        named++;
    }
    add_others(damage, told->count - named);
}

void kedge_driver_damage_add_all(kedge_driver_damage *damage, const kedge_driver_damage *more)
{
    for (size_t i = 0; i < more->name_count; i++)
        kedge_driver_damage_add(damage, kedge_bytes_of(more->names[i]));
    for (size_t i = 0; i < more->count; i++)
        add_key(damage, more->keys[i]);
    add_others(damage, more->others);
}

void kedge_driver_damage_heal(kedge_driver_damage *damage, kedge_bytes key)
{
    size_t at = find(damage, checksum_of(key));
    if (at == damage->count) {
        if (++damage->written >= damage->others) damage->others = 0;
        return;
    }
    damage->keys[at] = damage->keys[--damage->count];
    size_t name = find_name(damage, key);
    if (name == damage->name_count) return;
    damage->name_count--;
    if (name < damage->name_count)
        memmove(damage->names[name], damage->names[damage->name_count], KEDGE_DRIVER_KEY_SIZE);
}

void kedge_driver_damage_tell(const kedge_driver_damage *damage, kedge_error *error)
{
    char shown[KEYS_SHOWN_BYTES] = "";
    size_t used = 0;
    size_t at = 0;
    int64_t total = (int64_t)damage->count + damage->others;
    *error = (kedge_error){.status = KEDGE_OK};
    if (total == 0) return;
    for (; at < damage->name_count; at++) {
        size_t size = strlen(damage->names[at]);
        if (used + size + sizeof ", …" > sizeof shown) break;
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%s", at == 0 ? "" : ", ",
                                 damage->names[at]);
    }
    const char *more = (int64_t)at < total ? (at > 0 ? ", …" : "…") : "";
    kedge_fail(error, KEDGE_CORRUPT, "items-damaged",
               "the server has lost items, and left them out (%lld): %s%s", (long long)total, shown,
               more);
}
