/* The changes of the records in memory. */
#include "backend/memory/changes.h"

#include "common/hash.h"

#include <stdio.h>
#include <string.h>

static kedge_memory_shard *shard_at(const kedge_memory_changes *changes, size_t i)
{
    return changes->shards.entries[i];
}

kedge_memory_changes *kedge_memory_changes_new(const kedge_environment *environment,
                                               pthread_mutex_t *mutex)
{
    const kedge_allocator *allocator = environment->allocator;
    kedge_memory_changes *made = kedge_allocate(allocator, sizeof *made);
    kedge_memory_shard *first = kedge_allocate(allocator, sizeof *first);
    if (made != NULL) made->shards.allocator = allocator;
    if (made == NULL || first == NULL || !kedge_memory_list_reserve(&made->shards, 1)) {
        kedge_release(allocator, first);
        kedge_release(allocator, made);
        return NULL;
    }
    made->environment = environment;
    made->mutex = mutex;
    made->visible_through = UINT64_MAX;
    snprintf(first->id, sizeof first->id, "shard-0");
    first->changes.allocator = allocator;
    kedge_memory_list_insert(&made->shards, 0, first);
    return made;
}

void kedge_memory_changes_free(kedge_memory_changes *changes)
{
    if (changes == NULL) return;
    for (size_t i = 0; i < changes->shards.count; i++)
        kedge_memory_list_free(&shard_at(changes, i)->changes);
    kedge_memory_list_free(&changes->shards);
    kedge_release(changes->environment->allocator, changes);
}

bool kedge_memory_changes_reserve(kedge_memory_changes *changes, size_t count)
{
    for (size_t i = 0; i < changes->shards.count; i++) {
        kedge_memory_shard *shard = shard_at(changes, i);
        if (!shard->closed && !kedge_memory_list_reserve(&shard->changes, count)) return false;
    }
    return true;
}

kedge_memory_change *kedge_memory_change_make(const kedge_memory_changes *changes,
                                              kedge_stream_change_kind kind,
                                              const kedge_record_key *key, kedge_bytes attributes)
{
    const kedge_environment *environment = changes->environment;
    size_t size = key->partition.size + key->sort.size + attributes.size + 3;
    kedge_memory_change *made = kedge_allocate(environment->allocator, sizeof *made + size);
    if (made == NULL) return NULL;
    char *at = (char *)(made + 1);
    made->kind = kind;
    made->at_ms = environment->now_ms(environment->context);
    made->key.partition = kedge_memory_place_bytes(&at, key->partition);
    made->key.sort = kedge_memory_place_bytes(&at, key->sort);
    made->attributes = kedge_memory_place_bytes(&at, attributes);
    return made;
}

static bool holds(const kedge_memory_shard *shard, uint32_t hash)
{
    uint32_t mask = shard->depth == 0 ? 0 : UINT32_MAX >> (32 - shard->depth);
    return !shard->closed && (hash & mask) == shard->bits;
}

void kedge_memory_changes_add(kedge_memory_changes *changes, kedge_memory_change *change)
{
    uint8_t digest[KEDGE_SHA256_SIZE];
    uint32_t hash;
    kedge_sha256(change->key.partition, digest);
    memcpy(&hash, digest, sizeof hash);
    change->sequence = ++changes->sequence;
    size_t i = 0;
    while (!holds(shard_at(changes, i), hash))
        i++;
    kedge_memory_shard *shard = shard_at(changes, i);
    kedge_memory_list_insert(&shard->changes, shard->changes.count, change);
}
