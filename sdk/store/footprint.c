/* The footprints: keys with their uses, and mutations with their keys. */
#include "sdk/store/footprint.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"

#include <string.h>

void kedge_footprints_init(kedge_footprints *all, const kedge_allocator *allocator)
{
    *all = (kedge_footprints){.allocator = allocator,
                              .bytes_max = KEDGE_FOOTPRINTS_BYTES,
                              .value_bytes_max = KEDGE_FOOTPRINTS_VALUE_BYTES};
}

/* ---- memory ---- */

static void *take(kedge_footprints *all, size_t size)
{
    if (size > all->bytes_max || all->bytes > all->bytes_max - size) return NULL;
    void *block = kedge_allocate(all->allocator, size);
    if (block) all->bytes += size;
    return block;
}

static void give(kedge_footprints *all, void *block, size_t size)
{
    if (!block) return;
    KEDGE_ASSERT(all->bytes >= size);
    all->bytes -= size;
    kedge_release(all->allocator, block);
}

static bool copy(kedge_footprints *all, kedge_bytes text, kedge_bytes *out)
{
    char *block = take(all, text.size + 1);
    if (!block) return false;
    if (text.size > 0) memcpy(block, text.data, text.size);
    *out = (kedge_bytes){block, text.size};
    return true;
}

static void give_text(kedge_footprints *all, kedge_bytes text)
{
    give(all, (void *)(uintptr_t)text.data, text.size + 1);
}

/* ---- values of writes ---- */

static void drop_value(kedge_footprints *all, kedge_use *use)
{
    if (use->kind == KEDGE_USE_KEPT) all->value_bytes -= use->value.size;
    give_text(all, use->value);
    use->value = (kedge_bytes){NULL, 0};
}

kedge_status kedge_use_keep(kedge_footprints *all, kedge_use *use, const kedge_bytes *value,
                            kedge_error *error)
{
    kedge_bytes block = {NULL, 0};
    if (value && !copy(all, *value, &block)) return kedge_fail_no_memory(error);
    drop_value(all, use);
    use->kind = value ? KEDGE_USE_KEPT : KEDGE_USE_DELETED;
    use->value = block;
    all->value_bytes += block.size;
    return KEDGE_OK;
}

void kedge_use_show(kedge_footprints *all, kedge_use *use)
{
    drop_value(all, use);
    use->kind = KEDGE_USE_SHOWN;
}

void kedge_use_unwrite(kedge_footprints *all, kedge_use *use)
{
    drop_value(all, use);
    use->kind = KEDGE_USE_READ;
}

void kedge_use_thin(kedge_footprints *all, kedge_use *use)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes block;
    if (use->kind != KEDGE_USE_KEPT || use->value.size <= sizeof hash ||
        all->value_bytes <= all->value_bytes_max)
        return;
    kedge_sha256(use->value, hash);
    if (!copy(all, (kedge_bytes){(const char *)hash, sizeof hash}, &block)) return;
    drop_value(all, use);
    use->kind = KEDGE_USE_HASHED;
    use->value = block;
}

bool kedge_use_equals(const kedge_use *use, const kedge_bytes *shown, const kedge_bytes *value)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    switch (use->kind) {
    case KEDGE_USE_SHOWN:
        return (shown != NULL) == (value != NULL) && (!value || kedge_bytes_equal(*shown, *value));
    case KEDGE_USE_KEPT:
        return value && kedge_bytes_equal(use->value, *value);
    case KEDGE_USE_DELETED:
        return !value;
    case KEDGE_USE_HASHED:
        if (!value) return false;
        kedge_sha256(*value, hash);
        return memcmp(hash, use->value.data, sizeof hash) == 0;
    case KEDGE_USE_READ:
        break;
    }
    KEDGE_ASSERT(use->kind != KEDGE_USE_READ);
    return false;
}

/* ---- keys ---- */

static size_t key_bytes(kedge_bytes collection, kedge_bytes id)
{
    return sizeof(kedge_used_key) + collection.size + id.size;
}

kedge_used_key *kedge_footprints_find(const kedge_footprints *all, kedge_bytes collection,
                                      kedge_bytes id)
{
    return (kedge_used_key *)kedge_overlay_tree_find(all->keys, collection, id);
}

kedge_used_key *kedge_footprints_next(const kedge_footprints *all, kedge_bytes collection,
                                      bool from_start, kedge_bytes after)
{
    kedge_bytes from = from_start ? (kedge_bytes){NULL, 0} : after;
    kedge_overlay_node *node =
        from_start ? kedge_overlay_tree_find(all->keys, collection, from) : NULL;
    if (!node) node = kedge_overlay_tree_after(all->keys, collection, from);
    bool found = node && kedge_bytes_equal(node->entry.collection, collection);
    return found ? (kedge_used_key *)node : NULL;
}

static kedge_used_key *find_or_add(kedge_footprints *all, kedge_bytes collection, kedge_bytes id)
{
    kedge_used_key *key = kedge_footprints_find(all, collection, id);
    if (key) return key;
    key = take(all, key_bytes(collection, id));
    if (!key) return NULL;
    char *text = (char *)(key + 1);
    if (collection.size > 0) memcpy(text, collection.data, collection.size);
    if (id.size > 0) memcpy(text + collection.size, id.data, id.size);
    key->node.entry.collection = (kedge_bytes){text, collection.size};
    key->node.entry.id = (kedge_bytes){text + collection.size, id.size};
    all->keys = kedge_overlay_tree_insert(all->keys, &key->node);
    return key;
}

static void drop_key(kedge_footprints *all, kedge_used_key *key)
{
    KEDGE_ASSERT(key->first == key->count);
    all->keys = kedge_overlay_tree_remove(all->keys, &key->node);
    give(all, key->uses, key->capacity * sizeof *key->uses);
    give(all, key, key_bytes(key->node.entry.collection, key->node.entry.id));
}

/* The place of the first use of a sequence that is not below this one. */
static size_t place_of(const kedge_used_key *key, int64_t sequence)
{
    size_t low = key->first, high = key->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key->uses[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

kedge_use *kedge_key_use_after(const kedge_used_key *key, int64_t sequence)
{
    size_t at = place_of(key, sequence + 1);
    return at < key->count ? &key->uses[at] : NULL;
}

kedge_use *kedge_key_use_of(const kedge_used_key *key, int64_t sequence)
{
    size_t at = place_of(key, sequence);
    return at < key->count && key->uses[at].sequence == sequence ? &key->uses[at] : NULL;
}

kedge_use *kedge_key_write_before(const kedge_used_key *key, int64_t sequence)
{
    for (size_t at = place_of(key, sequence); at > key->first; at--)
        if (key->uses[at - 1].kind != KEDGE_USE_READ) return &key->uses[at - 1];
    return NULL;
}

static bool has_room(kedge_footprints *all, kedge_used_key *key)
{
    if (key->count < key->capacity) return true;
    size_t kept = key->count - key->first;
    size_t capacity = kept < 2 ? kept + 1 : 2 * kept;
    kedge_use *uses = take(all, capacity * sizeof *uses);
    if (!uses) return false;
    if (kept > 0) memcpy(uses, key->uses + key->first, kept * sizeof *uses);
    give(all, key->uses, key->capacity * sizeof *key->uses);
    key->uses = uses;
    key->first = 0;
    key->count = kept;
    key->capacity = capacity;
    return true;
}

/* The mutation's use of the key, a new one if need be; NULL: no memory. */
static kedge_use *use_of(kedge_footprints *all, kedge_used_key *key, int64_t sequence)
{
    kedge_use *there = kedge_key_use_of(key, sequence);
    if (there) return there;
    if (!has_room(all, key)) return NULL;
    size_t at = place_of(key, sequence);
    memmove(&key->uses[at + 1], &key->uses[at], (key->count - at) * sizeof *key->uses);
    key->uses[at] = (kedge_use){.sequence = sequence};
    key->count++;
    return &key->uses[at];
}

static void remove_use(kedge_footprints *all, kedge_used_key *key, int64_t sequence)
{
    kedge_use *use = kedge_key_use_of(key, sequence);
    if (!use) return;
    drop_value(all, use);
    size_t at = (size_t)(use - key->uses);
    if (at == key->first) {
        key->first++;
    } else {
        memmove(use, use + 1, (key->count - at - 1) * sizeof *use);
        key->count--;
    }
    if (key->first == key->count) drop_key(all, key);
}

/* ---- footprints ---- */

static void drop_ranges(kedge_footprints *all, kedge_footprint *row)
{
    if (row->range_count > 0) all->ranged--;
    for (size_t i = 0; i < row->range_count; i++) {
        give_text(all, row->ranges[i].collection);
        give_text(all, row->ranges[i].after);
        give_text(all, row->ranges[i].through);
    }
    give(all, row->ranges, row->range_count * sizeof *row->ranges);
    row->ranges = NULL;
    row->range_count = 0;
}

static bool copy_ranges(kedge_footprints *all, kedge_footprint *row, const kedge_recording *read)
{
    if (read->range_count == 0) return true;
    row->ranges = take(all, read->range_count * sizeof *row->ranges);
    if (!row->ranges) return false;
    row->range_count = read->range_count;
    all->ranged++;
    for (size_t i = 0; i < read->range_count; i++) {
        const kedge_range *from = &read->ranges[i];
        kedge_range *to = &row->ranges[i];
        to->from_start = from->from_start;
        to->to_end = from->to_end;
        if (!copy(all, from->collection, &to->collection) || !copy(all, from->after, &to->after) ||
            !copy(all, from->through, &to->through))
            return false;
    }
    return true;
}

static bool use_key(kedge_footprints *all, kedge_footprint *row, size_t *count,
                    const kedge_overlay_entry *entry, bool reads)
{
    kedge_used_key *key = find_or_add(all, entry->collection, entry->id);
    kedge_use *use = key ? use_of(all, key, row->sequence) : NULL;
    if (!use) {
        if (key && key->first == key->count) drop_key(all, key);
        return false;
    }
    use->reads = use->reads || reads;
    row->keys[(*count)++] = key;
    return true;
}

/* Gives the row the keys of both overlays, which it must not have yet. */
static bool use_keys(kedge_footprints *all, kedge_footprint *row, const kedge_overlay *read,
                     const kedge_overlay *written)
{
    size_t most = kedge_overlay_count(read) + kedge_overlay_count(written);
    kedge_overlay_entry entry, at, other;
    if (most == 0) return true;
    row->keys = take(all, most * sizeof(kedge_used_key *));
    if (!row->keys) return false;
    size_t count = 0;
    bool ok = true;
    for (bool more = kedge_overlay_next(read, NULL, &entry); more && ok;
         more = kedge_overlay_next(read, &at, &entry)) {
        at = entry;
        ok = use_key(all, row, &count, &entry, true);
    }
    for (bool more = kedge_overlay_next(written, NULL, &entry); more && ok;
         more = kedge_overlay_next(written, &at, &entry)) {
        at = entry;
        if (kedge_overlay_get(read, entry.collection, entry.id, &other)) continue;
        ok = use_key(all, row, &count, &entry, false);
    }
    /* The block is counted by the number of keys. */
    all->bytes -= (most - count) * sizeof(kedge_used_key *);
    row->key_count = count;
    return ok;
}

static void drop_row(kedge_footprints *all, kedge_footprint *row)
{
    for (size_t i = 0; i < row->key_count; i++)
        remove_use(all, row->keys[i], row->sequence);
    give(all, row->keys, row->key_count * sizeof(kedge_used_key *));
    drop_ranges(all, row);
}

void kedge_footprints_drop_first(kedge_footprints *all)
{
    KEDGE_ASSERT(all->first < all->count);
    drop_row(all, &all->rows[all->first++]);
}

/* Also frees what a failure has left half made. */
static void free_keys(kedge_footprints *all, kedge_overlay_node *node)
{
    if (!node) return;
    kedge_used_key *key = (kedge_used_key *)node;
    free_keys(all, node->left);
    free_keys(all, node->right);
    for (size_t i = key->first; i < key->count; i++)
        drop_value(all, &key->uses[i]);
    give(all, key->uses, key->capacity * sizeof *key->uses);
    give(all, key, key_bytes(node->entry.collection, node->entry.id));
}

void kedge_footprints_clear(kedge_footprints *all)
{
    free_keys(all, all->keys);
    for (size_t i = all->first; i < all->count; i++) {
        kedge_footprint *row = &all->rows[i];
        give(all, row->keys, row->key_count * sizeof(kedge_used_key *));
        drop_ranges(all, row);
    }
    give(all, all->rows, all->capacity * sizeof *all->rows);
    KEDGE_ASSERT(all->bytes == 0 && all->value_bytes == 0);
    *all = (kedge_footprints){.allocator = all->allocator,
                              .bytes_max = all->bytes_max,
                              .value_bytes_max = all->value_bytes_max};
}

kedge_footprint *kedge_footprints_first(const kedge_footprints *all)
{
    return all->first < all->count ? &all->rows[all->first] : NULL;
}

kedge_footprint *kedge_footprints_from(const kedge_footprints *all, int64_t sequence)
{
    size_t low = all->first, high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->rows[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->count ? &all->rows[low] : NULL;
}

static kedge_footprint *new_row(kedge_footprints *all)
{
    if (all->count == all->capacity) {
        size_t kept = all->count - all->first;
        size_t capacity = kept < 8 ? 16 : 2 * kept;
        kedge_footprint *rows = take(all, capacity * sizeof *rows);
        if (!rows) return NULL;
        if (kept > 0) memcpy(rows, all->rows + all->first, kept * sizeof *rows);
        give(all, all->rows, all->capacity * sizeof *all->rows);
        all->rows = rows;
        all->first = 0;
        all->count = kept;
        all->capacity = capacity;
    }
    return &all->rows[all->count];
}

/* What was the last write of the key is not seen any more, so its value is kept. */
static kedge_status supersede(kedge_footprints *all, const kedge_used_key *key, int64_t sequence,
                              kedge_state_reader before, kedge_error *error)
{
    kedge_use *last = kedge_key_write_before(key, sequence);
    if (!last || last->kind != KEDGE_USE_SHOWN) return KEDGE_OK;
    kedge_buffer value = kedge_buffer_make(all->allocator);
    const kedge_overlay_entry *entry = &key->node.entry;
    kedge_status status = before.get(before.context, entry->collection, entry->id, &value, error);
    kedge_bytes found = kedge_buffer_bytes(&value);
    if (status == KEDGE_OK || status == KEDGE_NOT_FOUND)
        status = kedge_use_keep(all, last, status == KEDGE_OK ? &found : NULL, error);
    if (status == KEDGE_OK) kedge_use_thin(all, last);
    kedge_buffer_free(&value);
    return status;
}

static kedge_status show_writes(kedge_footprints *all, const kedge_footprint *row,
                                const kedge_overlay *written, kedge_state_reader before,
                                kedge_error *error)
{
    kedge_overlay_entry entry;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < row->key_count && status == KEDGE_OK; i++) {
        kedge_used_key *key = row->keys[i];
        const kedge_overlay_entry *at = &key->node.entry;
        if (!kedge_overlay_get(written, at->collection, at->id, &entry)) continue;
        status = supersede(all, key, row->sequence, before, error);
        kedge_key_use_of(key, row->sequence)->kind = KEDGE_USE_SHOWN;
    }
    return status;
}

kedge_status kedge_footprints_add(kedge_footprints *all, int64_t sequence, int64_t id,
                                  const kedge_recording *read, const kedge_overlay *written,
                                  kedge_state_reader before, kedge_error *error)
{
    kedge_footprint *row = read->no_memory ? NULL : new_row(all);
    if (!row) return kedge_fail_no_memory(error);
    KEDGE_ASSERT(all->first == all->count || row[-1].sequence < sequence);
    *row = (kedge_footprint){.sequence = sequence, .id = id};
    all->count++;
    if (!use_keys(all, row, read->keys, written) || !copy_ranges(all, row, read))
        return kedge_fail_no_memory(error);
    return show_writes(all, row, written, before, error);
}

kedge_status kedge_footprint_replace(kedge_footprints *all, kedge_footprint *row,
                                     const kedge_recording *read, const kedge_overlay *written,
                                     kedge_error *error)
{
    kedge_used_key **former = row->keys;
    size_t former_count = row->key_count;
    kedge_overlay_entry entry;
    if (read->no_memory) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < former_count; i++)
        kedge_key_use_of(former[i], row->sequence)->reads = false;
    row->keys = NULL;
    row->key_count = 0;
    bool ok = use_keys(all, row, read->keys, written);
    for (size_t i = 0; i < former_count; i++) {
        const kedge_overlay_entry *at = &former[i]->node.entry;
        if (!kedge_overlay_get(read->keys, at->collection, at->id, &entry) &&
            !kedge_overlay_get(written, at->collection, at->id, &entry))
            remove_use(all, former[i], row->sequence);
    }
    give(all, former, former_count * sizeof(kedge_used_key *));
    drop_ranges(all, row);
    return ok && copy_ranges(all, row, read) ? KEDGE_OK : kedge_fail_no_memory(error);
}
