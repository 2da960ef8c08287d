/* The registry: the built-in mutators and the app's in one array, sorted by name. */
#include "mutate/registry.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "mutate/builtin.h"

#include <string.h>

struct kedge_registry {
    const kedge_allocator *allocator;
    size_t count;
    kedge_mutator mutators[];
};

static kedge_status check_mutator(const kedge_mutator *mutator, kedge_error *error)
{
    if (mutator->name == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "a mutator's name is NULL");
    }
    kedge_status status = kedge_check_name("mutator", kedge_bytes_of(mutator->name), error);
    if (status != KEDGE_OK) return status;
    if (strncmp(mutator->name, "kedge.", strlen("kedge.")) == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "the mutator name \"%s\" starts with \"kedge.\", which is reserved for "
                          "the built-in ones",
                          mutator->name);
    }
    if (mutator->version == 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "the mutator \"%s\" has version 0; versions start at 1", mutator->name);
    }
    if (mutator->function == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "the mutator \"%s\" has no function", mutator->name);
    }
    return KEDGE_OK;
}

/* Where the name is, or where it belongs. */
static size_t place_of(const kedge_registry *registry, kedge_bytes name, bool *found)
{
    size_t low = 0;
    size_t high = registry->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kedge_bytes_compare(kedge_bytes_of(registry->mutators[middle].name), name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found = false;
    return low;
}

static kedge_status add(kedge_registry *registry, const kedge_mutator *mutator, kedge_error *error)
{
    bool found;
    size_t place = place_of(registry, kedge_bytes_of(mutator->name), &found);
    if (found) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "the mutator \"%s\" is given twice", mutator->name);
    }
    kedge_mutator *at = &registry->mutators[place];
    memmove(at + 1, at, (registry->count - place) * sizeof *at);
    *at = *mutator;
    registry->count++;
    return KEDGE_OK;
}

kedge_status kedge_registry_new(const kedge_allocator *allocator, const kedge_mutator *mutators,
                                size_t count, kedge_registry **registry, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (count > KEDGE_LIMIT_MUTATORS) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-mutators",
                          "%zu mutators are given; at most %d are allowed", count,
                          KEDGE_LIMIT_MUTATORS);
    }
    size_t total = kedge_builtin_mutator_count + count;
    kedge_registry *made =
        kedge_allocate(allocator, sizeof *made + total * sizeof made->mutators[0]);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    for (size_t i = 0; i < kedge_builtin_mutator_count; i++) {
        status = add(made, &kedge_builtin_mutators[i], error);
        KEDGE_ASSERT(status == KEDGE_OK);
    }
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = check_mutator(&mutators[i], error);
        if (status == KEDGE_OK) status = add(made, &mutators[i], error);
    }
    if (status != KEDGE_OK) {
        kedge_registry_free(made);
        return status;
    }
    *registry = made;
    return KEDGE_OK;
}

void kedge_registry_free(kedge_registry *registry)
{
    if (registry != NULL) kedge_release(registry->allocator, registry);
}

const kedge_mutator *kedge_registry_find(const kedge_registry *registry, kedge_bytes name)
{
    bool found;
    size_t place = place_of(registry, name, &found);
    return found ? &registry->mutators[place] : NULL;
}

bool kedge_registry_has_app(const kedge_registry *registry)
{
    return registry->count > kedge_builtin_mutator_count;
}

kedge_status kedge_registry_describe(const kedge_registry *registry, kedge_buffer *out,
                                     kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < registry->count; i++) {
        kedge_json_begin_array(&writer);
        kedge_json_chars(&writer, registry->mutators[i].name);
        kedge_json_integer(&writer, registry->mutators[i].version);
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
    return kedge_buffer_status(out, error);
}
