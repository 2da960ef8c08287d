/* The operations of a patch, and the items of a snapshot's page.
 *
 * Keys without an escape and values that are canonical already are borrowed from the body; the
 * others go into `text`. When `text` moves, the pieces that point into it are moved after it. */
#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"
#include "wire/key.h"
#include "wire/response.h"

#include <kedge/limits.h>
#include <stdlib.h>
#include <string.h>

enum { OP, KEY, VALUE, HASH, SIZE, MEMBERS };

/* ---- text that the body does not hold ---- */

static void move_piece(kedge_bytes *piece, uintptr_t from, size_t size, const char *to)
{
    uintptr_t at = (uintptr_t)piece->data;
    if (at >= from && at < from + size) piece->data = to + (at - from);
}

/* `text` was at `from` with `size` bytes before it grew. */
static void follow_text(kedge_wire_patch *patch, uintptr_t from, size_t size)
{
    if ((uintptr_t)patch->text.data == from || size == 0) return;
    for (size_t i = 0; i < patch->count; i++) {
        kedge_wire_patch_operation *operation = &patch->operations[i];
        move_piece(&operation->collection, from, size, patch->text.data);
        move_piece(&operation->id, from, size, patch->text.data);
        move_piece(&operation->value, from, size, patch->text.data);
    }
}

/* Canonical JSON of a value; borrowed when it is that already. */
static kedge_status take_value(kedge_wire_patch *patch, kedge_bytes text, kedge_bytes *out,
                               kedge_error *error)
{
    uintptr_t from = (uintptr_t)patch->text.data;
    size_t start = patch->text.size;
    kedge_status status = kedge_json_normalize(text, KEDGE_LIMIT_JSON_DEPTH, &patch->text, error);
    follow_text(patch, from, start);
    if (status != KEDGE_OK) return status;
    kedge_bytes canonical = {patch->text.data + start, patch->text.size - start};
    if (kedge_bytes_equal(canonical, text)) {
        kedge_buffer_truncate(&patch->text, start);
        canonical = text;
    }
    *out = canonical;
    return KEDGE_OK;
}

/* `string` is in quotes and was checked. */
static kedge_status take_string(kedge_wire_patch *patch, kedge_bytes string, kedge_bytes *out,
                                kedge_error *error)
{
    if (memchr(string.data, '\\', string.size) == NULL) {
        *out = (kedge_bytes){string.data + 1, string.size - 2};
        return KEDGE_OK;
    }
    uintptr_t from = (uintptr_t)patch->text.data;
    size_t start = patch->text.size;
    bool decoded = kedge_json_to_text(string, &patch->text);
    follow_text(patch, from, start);
    kedge_status status = kedge_buffer_status(&patch->text, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(decoded);
    *out = (kedge_bytes){patch->text.data + start, patch->text.size - start};
    return KEDGE_OK;
}

/* ---- one operation ---- */

static kedge_status read_key(kedge_wire_place place, const kedge_wire_member *member,
                             kedge_wire_patch *patch, kedge_wire_patch_operation *operation,
                             kedge_error *error)
{
    kedge_bytes key;
    if (kedge_json_check_string(member->value, NULL) != KEDGE_OK) {
        return kedge_wire_response_fail(place, member, "a string", error);
    }
    kedge_status status = take_string(patch, member->value, &key, error);
    if (status != KEDGE_OK) return status;
    kedge_wire_key_split(key, &operation->collection, &operation->id);
    if (kedge_check_item_id(operation->id, NULL) != KEDGE_OK) {
        return kedge_wire_response_fail(place, member, "a key with an id of at most 512 bytes",
                                        error);
    }
    return KEDGE_OK;
}

static kedge_status read_put(kedge_wire_place place, kedge_wire_member *members,
                             kedge_wire_patch *patch, kedge_wire_patch_operation *operation,
                             kedge_error *error)
{
    if (members[VALUE].value.data != NULL) {
        if (members[HASH].value.data != NULL) {
            return kedge_wire_response_fail(place, &members[HASH], "absent beside a value", error);
        }
        kedge_status status = take_value(patch, members[VALUE].value, &operation->value, error);
        if (status == KEDGE_OK || status == KEDGE_NO_MEMORY) return status;
        return kedge_wire_response_fail(place, &members[VALUE], "an I-JSON value", error);
    }
    if (members[HASH].value.data == NULL) {
        return kedge_wire_response_fail(place, &members[VALUE], "a value", error);
    }
    if (operation->collection.size == 0) {
        return kedge_wire_response_fail(place, &members[HASH],
                                        "of an item: the project record is small", error);
    }
    operation->kind = KEDGE_WIRE_PATCH_PUT_HASH;
    kedge_status status =
        kedge_wire_response_hex(place, &members[HASH], operation->hash, KEDGE_SHA256_SIZE, error);
    if (status == KEDGE_OK) {
        status =
            kedge_wire_response_integer(place, &members[SIZE], 1, &operation->size_bytes, error);
    }
    if (status == KEDGE_OK && operation->size_bytes > KEDGE_LIMIT_ITEM_BYTES) {
        status =
            kedge_wire_response_fail(place, &members[SIZE], "within the limit of an item", error);
    }
    return status;
}

static kedge_status read_kind(kedge_wire_place place, kedge_wire_member *members, size_t index,
                              kedge_wire_patch_kind *kind, kedge_error *error)
{
    if (kedge_bytes_equal_text(members[OP].value, "\"put\"")) {
        *kind = KEDGE_WIRE_PATCH_PUT;
    } else if (kedge_bytes_equal_text(members[OP].value, "\"del\"")) {
        *kind = KEDGE_WIRE_PATCH_DELETE;
    } else if (kedge_bytes_equal_text(members[OP].value, "\"clear\"") && index == 0) {
        *kind = KEDGE_WIRE_PATCH_CLEAR;
    } else {
        return kedge_wire_response_fail(place, &members[OP],
                                        "'put', 'del', or 'clear' as the first one", error);
    }
    return KEDGE_OK;
}

static kedge_status read_operation(kedge_wire_place place, kedge_bytes object, bool item,
                                   kedge_wire_patch *patch, kedge_wire_patch_operation *operation,
                                   kedge_error *error)
{
    kedge_wire_member members[MEMBERS] = {[OP] = {.name = "op"},
                                          [KEY] = {.name = "key"},
                                          [VALUE] = {.name = "value"},
                                          [HASH] = {.name = "hash"},
                                          [SIZE] = {.name = "size"}};
    operation->kind = KEDGE_WIRE_PATCH_PUT;
    kedge_status status = kedge_wire_response_members(place, object, members, MEMBERS, error);
    if (status == KEDGE_OK && !item) {
        status = read_kind(place, members, patch->count, &operation->kind, error);
    }
    if (status != KEDGE_OK || operation->kind == KEDGE_WIRE_PATCH_CLEAR) return status;
    status = read_key(place, &members[KEY], patch, operation, error);
    if (status != KEDGE_OK || operation->kind == KEDGE_WIRE_PATCH_DELETE) return status;
    /* The key may be in `text`, which may move when the value is appended. */
    patch->operations[patch->count++] = *operation;
    status = read_put(place, members, patch, operation, error);
    patch->count--;
    operation->collection = patch->operations[patch->count].collection;
    operation->id = patch->operations[patch->count].id;
    return status;
}

/* ---- all of them ---- */

static kedge_status grow(kedge_wire_patch *patch, kedge_error *error)
{
    if (patch->count < patch->capacity) return KEDGE_OK;
    const kedge_allocator *allocator = patch->text.allocator;
    size_t capacity = patch->capacity == 0 ? 16 : patch->capacity * 2;
    void *operations = allocator->reallocate(allocator->context, patch->operations,
                                             capacity * sizeof *patch->operations);
    if (operations == NULL) return kedge_fail_no_memory(error);
    patch->operations = operations;
    patch->capacity = capacity;
    return KEDGE_OK;
}

static int compare_keys(const kedge_wire_patch_operation *a, const kedge_wire_patch_operation *b)
{
    int order = kedge_bytes_compare(a->collection, b->collection);
    return order != 0 ? order : kedge_bytes_compare(a->id, b->id);
}

static int compare_pointers(const void *a, const void *b)
{
    return compare_keys(*(const kedge_wire_patch_operation *const *)a,
                        *(const kedge_wire_patch_operation *const *)b);
}

/* Checks that each key occurs once. Operations are usually in order, and then one pass is
 * enough. */
static kedge_status check_keys(kedge_wire_place place, const kedge_wire_member *member,
                               const kedge_wire_patch *patch, kedge_error *error)
{
    size_t first = patch->count > 0 && patch->operations[0].kind == KEDGE_WIRE_PATCH_CLEAR ? 1 : 0;
    bool ordered = true;
    for (size_t i = first + 1; i < patch->count && ordered; i++) {
        ordered = compare_keys(&patch->operations[i - 1], &patch->operations[i]) < 0;
    }
    if (ordered) return KEDGE_OK;

    size_t count = patch->count - first;
    const kedge_allocator *allocator = patch->text.allocator;
    const kedge_wire_patch_operation **sorted = kedge_allocate(allocator, count * sizeof *sorted);
    if (sorted == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &patch->operations[first + i];
    qsort(sorted, count, sizeof *sorted, compare_pointers);
    bool twice = false;
    for (size_t i = 1; i < count && !twice; i++)
        twice = compare_keys(sorted[i - 1], sorted[i]) == 0;
    kedge_release(allocator, sorted);
    if (twice) return kedge_wire_response_fail(place, member, "of different keys", error);
    return KEDGE_OK;
}

kedge_status kedge_wire_patch_read(kedge_wire_place place, const kedge_wire_member *member,
                                   bool items, kedge_wire_patch *patch, kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes object;
    while (kedge_json_next_element(&iterator, &object)) {
        kedge_wire_patch_operation operation = {0};
        kedge_status status = grow(patch, error);
        if (status == KEDGE_OK) {
            status = read_operation(KEDGE_WIRE_PLACE_AT(member->name, patch->count), object, items,
                                    patch, &operation, error);
        }
        if (status != KEDGE_OK) return status;
        patch->operations[patch->count++] = operation;
    }
    if (iterator.failed) return kedge_wire_response_fail(place, member, "an array", error);
    return check_keys(place, member, patch, error);
}

kedge_status kedge_wire_patch_set_body(kedge_wire_patch *patch, size_t operation, kedge_bytes body,
                                       kedge_error *error)
{
    kedge_wire_patch_operation *target = &patch->operations[operation];
    uint8_t hash[KEDGE_SHA256_SIZE];
    bool named = (int64_t)body.size == target->size_bytes;
    if (named) kedge_sha256(body, hash);
    if (!named || memcmp(hash, target->hash, sizeof hash) != 0) {
        return kedge_fail(error, KEDGE_PROTOCOL, "body-hash",
                          "a body of %zu bytes is not the one of its hash", body.size);
    }
    kedge_buffer copy = kedge_buffer_make(patch->text.allocator);
    kedge_status status = kedge_json_normalize(body, KEDGE_LIMIT_JSON_DEPTH, &copy, error);
    if (status != KEDGE_NO_MEMORY &&
        (status != KEDGE_OK || !kedge_bytes_equal(kedge_buffer_bytes(&copy), body)))
        status = kedge_fail(error, KEDGE_PROTOCOL, "body-invalid", "a body is no canonical JSON");
    if (status != KEDGE_OK) {
        kedge_buffer_free(&copy);
        return status;
    }
    target->kind = KEDGE_WIRE_PATCH_PUT;
    target->value = kedge_buffer_bytes(&copy);
    target->owned = copy.data;
    return KEDGE_OK;
}

void kedge_wire_patch_leave_out(kedge_wire_patch *patch, size_t operation)
{
    kedge_wire_patch_operation *place = &patch->operations[operation];
    kedge_release(patch->text.allocator, place->owned);
    patch->count--;
    memmove(place, place + 1, (patch->count - operation) * sizeof *place);
}

void kedge_wire_patch_free(kedge_wire_patch *patch)
{
    const kedge_allocator *allocator = patch->text.allocator;
    for (size_t i = 0; i < patch->count; i++)
        kedge_release(allocator, patch->operations[i].owned);
    kedge_release(allocator, patch->operations);
    kedge_buffer_free(&patch->text);
    *patch = (kedge_wire_patch){.text = kedge_buffer_make(allocator)};
}

/* ---- what is left out ---- */

kedge_status kedge_wire_damaged_read(const kedge_wire_member *member, kedge_wire_damaged *damaged,
                                     kedge_error *error)
{
    enum { COUNT, KEYS, COLLECTIONS, ALL };
    kedge_wire_place place = KEDGE_WIRE_PLACE("damaged");
    kedge_wire_member members[ALL] = {[COUNT] = {.name = "count"},
                                      [KEYS] = {.name = "keys"},
                                      [COLLECTIONS] = {.name = "collections"}};
    kedge_bytes key;
    if (member->value.data == NULL) return KEDGE_OK;
    kedge_status status = kedge_wire_response_members(place, member->value, members, ALL, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[COUNT], 1, &damaged->count, error);
    if (status != KEDGE_OK) return status;
    kedge_json_iterator iterator = kedge_json_iterate(members[KEYS].value);
    while (kedge_json_next_element(&iterator, &key)) {
        if (kedge_json_check_string(key, NULL) != KEDGE_OK) {
            return kedge_wire_response_fail(place, &members[KEYS], "an array of keys", error);
        }
    }
    if (iterator.failed)
        return kedge_wire_response_fail(place, &members[KEYS], "an array of keys", error);
    damaged->keys = members[KEYS].value;
    damaged->collections = members[COLLECTIONS].value;
    return KEDGE_OK;
}
