/* The JSON document: a rope, what was entered, and the count of work. */
#include "mutate/json_document.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define CHILD_COST 40 /* per child held, the same on every machine */

static const kedge_bytes none = {NULL, 0};

kedge_json_document kedge_json_document_make(const kedge_allocator *allocator,
                                             kedge_json_rope *rope, uint64_t cost_max)
{
    return (kedge_json_document){.allocator = allocator, .rope = rope, .cost_max = cost_max};
}

/* Recurses as deep as the longest pointer. */
static void leave(kedge_json_document *document, kedge_json_entered *entered)
{
    for (size_t i = 0; i < entered->count; i++)
        leave(document, &entered->inside[i]);
    kedge_release(document->allocator, entered->inside);
}

void kedge_json_document_free(kedge_json_document *document)
{
    leave(document, &document->top);
    kedge_json_rope_release(document->allocator, document->rope);
}

kedge_status kedge_json_document_charge(kedge_json_document *document, uint64_t cost,
                                        kedge_error *error)
{
    document->cost += cost;
    if (document->cost <= document->cost_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                      "the patch costs more work than a mutation may");
}

/* ---- what was entered ---- */

/* Where the place is in the list, or would be. */
static size_t index_of(const kedge_json_entered *around, size_t place)
{
    size_t low = 0, high = around->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (around->inside[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool was_entered(const kedge_json_entered *around, size_t place)
{
    size_t at = index_of(around, place);
    return at < around->count && around->inside[at].place == place;
}

/* Enters `container`. `*around` is the record of the container around it, and becomes the record of
 * `container` itself. Charges for the first time only. */
static kedge_status enter(kedge_json_document *document, kedge_json_entered **around, size_t place,
                          const kedge_json_part *container, kedge_error *error)
{
    kedge_json_entered *outer = *around;
    size_t at = index_of(outer, place);
    bool first = !was_entered(outer, place);
    const kedge_allocator *allocator = document->allocator;
    kedge_status status = KEDGE_OK;
    if (first)
        status = kedge_json_document_charge(document, kedge_json_part_size(container), error);
    /* What was entered as a part of a piece may have become a piece itself. */
    if (status == KEDGE_OK && container->rope != NULL)
        status = kedge_json_rope_open(allocator, container->rope, error);
    if (status == KEDGE_OK && first)
        status = kedge_json_document_charge(
            document, CHILD_COST * (uint64_t)kedge_json_part_count(container), error);
    if (status != KEDGE_OK) return status;
    if (first && outer->count == outer->capacity) {
        size_t capacity = 2 * outer->capacity + 1;
        kedge_json_entered *inside =
            allocator->reallocate(allocator->context, outer->inside, capacity * sizeof *inside);
        if (inside == NULL) return kedge_fail_no_memory(error);
        outer->inside = inside;
        outer->capacity = capacity;
    }
    kedge_json_entered *entered = &outer->inside[at];
    if (first) {
        memmove(entered + 1, entered, (outer->count++ - at) * sizeof *entered);
        *entered = (kedge_json_entered){.place = place};
    }
    *around = entered;
    return KEDGE_OK;
}

/* After a change of the child at the place: forgets what was entered of a child that was replaced
 * or removed, and shifts the places after it after an insertion or a removal. */
static void forget(kedge_json_document *document, kedge_json_entered *around, size_t place,
                   kedge_json_change_kind kind)
{
    size_t at = index_of(around, place);
    if (kind != KEDGE_JSON_INSERT && was_entered(around, place)) {
        kedge_json_entered *gone = &around->inside[at];
        leave(document, gone);
        memmove(gone, gone + 1, (--around->count - at) * sizeof *gone);
    }
    for (; kind != KEDGE_JSON_SET && at < around->count; at++)
        around->inside[at].place += kind == KEDGE_JSON_INSERT ? 1 : (size_t)-1;
}

/* ---- finding ---- */

kedge_status kedge_json_document_find(kedge_json_document *document,
                                      const kedge_json_pointer *pointer, kedge_json_place *place,
                                      kedge_error *error)
{
    size_t at = 0; /* of the container in the one around it */
    place->found = true;
    place->value = (kedge_json_part){document->rope, none};
    place->around = &document->top;
    place->parent = KEDGE_JSON_INVALID;
    place->count = 0;
    for (place->steps = 0; place->steps < pointer->count; place->steps++) {
        kedge_json_part container = place->value;
        kedge_json_type type = kedge_json_part_type(&container);
        size_t *next = &place->places[place->steps];
        bool enters = place->found && type >= KEDGE_JSON_ARRAY;
        *next = 0;
        place->found = false;
        place->parent = enters ? type : KEDGE_JSON_INVALID;
        if (!enters) return KEDGE_OK;
        kedge_status status = enter(document, &place->around, at, &container, error);
        if (status != KEDGE_OK) return status;
        place->count = kedge_json_part_count(&container);
        place->token = kedge_json_pointer_token(pointer, place->steps);
        if (type == KEDGE_JSON_OBJECT)
            place->found = kedge_json_part_find(&container, place->token, next, &place->value);
        else if (kedge_json_pointer_index(place->token, next) && *next < place->count)
            place->found = kedge_json_part_find(&container, none, next, &place->value);
        at = *next;
    }
    return KEDGE_OK;
}

kedge_status kedge_json_document_read(kedge_json_document *document, const kedge_json_place *place,
                                      kedge_error *error)
{
    size_t at = place->steps == 0 ? 0 : place->places[place->steps - 1];
    if (!was_entered(place->around, at)) return KEDGE_OK;
    return kedge_json_document_charge(document, kedge_json_part_size(&place->value), error);
}

/* ---- changes ---- */

static kedge_status change(kedge_json_document *document, const kedge_json_place *place,
                           kedge_json_change_kind kind, const kedge_json_part *value,
                           kedge_error *error)
{
    kedge_json_rope *changed;
    kedge_status status;
    size_t at = place->steps == 0 ? 0 : place->places[place->steps - 1];
    if (place->steps > 0) {
        kedge_json_change made = {.kind = kind, .places = place->places, .steps = place->steps};
        if (value != NULL) made.value = *value;
        if (place->parent == KEDGE_JSON_OBJECT) made.key = place->token;
        status =
            kedge_json_rope_change(document->allocator, document->rope, &made, &changed, error);
    } else if (value->rope != NULL) {
        changed = kedge_json_rope_share(value->rope);
        status = KEDGE_OK;
    } else {
        status = kedge_json_rope_make(document->allocator, value->text, &changed, error);
    }
    if (status != KEDGE_OK) return status;
    kedge_json_rope_release(document->allocator, document->rope);
    document->rope = changed;
    forget(document, place->around, at, kind);
    return KEDGE_OK;
}

kedge_status kedge_json_document_set(kedge_json_document *document, const kedge_json_place *place,
                                     const kedge_json_part *value, kedge_error *error)
{
    KEDGE_ASSERT(place->found || place->steps == 0);
    return change(document, place, KEDGE_JSON_SET, value, error);
}

kedge_status kedge_json_document_insert(kedge_json_document *document, kedge_json_place *place,
                                        size_t index, const kedge_json_part *value,
                                        kedge_error *error)
{
    uint64_t cost = CHILD_COST;
    if (place->parent == KEDGE_JSON_OBJECT)
        cost += place->token.size;
    else
        place->places[place->steps - 1] = index;
    cost += place->count - place->places[place->steps - 1];
    kedge_status status = kedge_json_document_charge(document, cost, error);
    return status == KEDGE_OK ? change(document, place, KEDGE_JSON_INSERT, value, error) : status;
}

kedge_status kedge_json_document_remove(kedge_json_document *document,
                                        const kedge_json_place *place, kedge_error *error)
{
    KEDGE_ASSERT(place->found && place->steps > 0);
    kedge_status status =
        kedge_json_document_charge(document, place->count - place->places[place->steps - 1], error);
    return status == KEDGE_OK ? change(document, place, KEDGE_JSON_REMOVE, NULL, error) : status;
}
