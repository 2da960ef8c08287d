/* A set of keys: open addressing over their hashes, at most half full. */
#include "backend/jobs/key_set.h"

#include "common/error.h"
#include "common/hash.h"

#include <string.h>

#define CAPACITY_FIRST 1024

/* 0 marks a free slot. */
static uint64_t hash_of(kedge_bytes key)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t short_hash = 0;
    kedge_sha256(key, hash);
    memcpy(&short_hash, hash, sizeof short_hash);
    return short_hash == 0 ? 1 : short_hash;
}

static uint64_t *find(uint64_t *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (slots[at] != 0 && slots[at] != hash)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(kedge_key_set *set)
{
    size_t capacity = set->capacity == 0 ? CAPACITY_FIRST : set->capacity * 2;
    uint64_t *slots = kedge_allocate(set->allocator, capacity * sizeof *slots);
    if (slots == NULL) return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) *find(slots, capacity, set->slots[i]) = set->slots[i];
    }
    kedge_release(set->allocator, set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

kedge_status kedge_key_set_add(kedge_key_set *set, kedge_bytes key, bool *added, kedge_error *error)
{
    if (set->count * 2 >= set->capacity && !grow(set)) return kedge_fail_no_memory(error);
    uint64_t hash = hash_of(key);
    uint64_t *slot = find(set->slots, set->capacity, hash);
    bool is_new = *slot == 0;
    if (is_new) {
        *slot = hash;
        set->count++;
    }
    if (added != NULL) *added = is_new;
    return KEDGE_OK;
}

bool kedge_key_set_has(const kedge_key_set *set, kedge_bytes key)
{
    return set->capacity > 0 && *find(set->slots, set->capacity, hash_of(key)) != 0;
}

void kedge_key_set_free(kedge_key_set *set)
{
    kedge_release(set->allocator, set->slots);
    *set = (kedge_key_set){.allocator = set->allocator};
}
