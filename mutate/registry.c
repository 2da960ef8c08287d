/* The registry: the built-in mutators and the app's in one array, sorted by name. */
#include "mutate/registry.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "mutate/builtin.h"

#include <stdio.h>
#include <string.h>

#define BUILTIN "kedge." /* what the names of the built-in ones start with */

typedef struct entry {
    kedge_mutator mutator;
    bool client_only;
    bool forbidden;
} entry;

struct kedge_registry {
    const kedge_allocator *allocator;
    size_t count;
    entry entries[];
};

static kedge_status check_mutator(const kedge_mutator *mutator, kedge_error *error)
{
    if (mutator->name == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "a mutator's name is NULL");
    }
    kedge_status status = kedge_check_name("mutator", kedge_bytes_of(mutator->name), error);
    if (status != KEDGE_OK) return status;
    if (strncmp(mutator->name, BUILTIN, strlen(BUILTIN)) == 0) {
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
        int order =
            kedge_bytes_compare(kedge_bytes_of(registry->entries[middle].mutator.name), name);
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

static kedge_status add(kedge_registry *registry, const kedge_mutator *mutator, bool client_only,
                        kedge_error *error)
{
    bool found;
    size_t place = place_of(registry, kedge_bytes_of(mutator->name), &found);
    if (found) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutator-invalid",
                          "the mutator \"%s\" is given twice", mutator->name);
    }
    entry *at = &registry->entries[place];
    memmove(at + 1, at, (registry->count - place) * sizeof *at);
    *at = (entry){*mutator, client_only, false};
    registry->count++;
    return KEDGE_OK;
}

static kedge_status add_all(kedge_registry *registry, const kedge_mutator *mutators, size_t count,
                            bool client_only, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = check_mutator(&mutators[i], error);
        if (status == KEDGE_OK) status = add(registry, &mutators[i], client_only, error);
    }
    return status;
}

kedge_status kedge_registry_new(const kedge_allocator *allocator, const kedge_mutator *mutators,
                                size_t count, kedge_registry **registry, kedge_error *error)
{
    return kedge_registry_new_for_client(allocator, mutators, count, NULL, 0, registry, error);
}

kedge_status kedge_registry_new_for_client(const kedge_allocator *allocator,
                                           const kedge_mutator *mutators, size_t count,
                                           const kedge_mutator *client_only, size_t client_count,
                                           kedge_registry **registry, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (count > KEDGE_LIMIT_MUTATORS || client_count > KEDGE_LIMIT_MUTATORS - count) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-mutators",
                          "%zu mutators are given; at most %d are allowed", count + client_count,
                          KEDGE_LIMIT_MUTATORS);
    }
    size_t total = kedge_builtin_mutator_count + count + client_count;
    kedge_registry *made =
        kedge_allocate(allocator, sizeof *made + total * sizeof made->entries[0]);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    for (size_t i = 0; i < kedge_builtin_mutator_count; i++) {
        status = add(made, &kedge_builtin_mutators[i], false, error);
        KEDGE_ASSERT(status == KEDGE_OK);
    }
    status = add_all(made, mutators, count, false, error);
    if (status == KEDGE_OK) status = add_all(made, client_only, client_count, true, error);
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
    return found ? &registry->entries[place].mutator : NULL;
}

static bool is_client_only(const kedge_registry *registry, kedge_bytes name, bool *known)
{
    size_t place = place_of(registry, name, known);
    return *known && registry->entries[place].client_only;
}

bool kedge_registry_is_client_only(const kedge_registry *registry, kedge_bytes name,
                                   kedge_bytes args)
{
    bool known, any = false;
    kedge_batch_part part;
    if (!kedge_bytes_equal_text(name, KEDGE_BATCH_MUTATOR))
        return is_client_only(registry, name, &known);
    if (kedge_batch_check(args, NULL) != KEDGE_OK) return false;
    kedge_json_iterator parts = kedge_batch_iterate(args);
    while (kedge_batch_next(&parts, &part)) {
        any = is_client_only(registry, kedge_bytes_of(part.name), &known) || any;
        if (!known) return false;
    }
    return any;
}

static bool lacks_one(const kedge_registry *registry, kedge_bytes name, int64_t version)
{
    const kedge_mutator *mutator = kedge_registry_find(registry, name);
    return mutator == NULL || (int64_t)mutator->version < version;
}

bool kedge_registry_lacks(const kedge_registry *registry, kedge_bytes name, int64_t version,
                          kedge_bytes args, kedge_batch_part *lack)
{
    if (lacks_one(registry, name, version)) {
        *lack = (kedge_batch_part){.version = version};
        snprintf(lack->name, sizeof lack->name, "%.*s", (int)name.size, name.data);
        return true;
    }
    if (!kedge_bytes_equal_text(name, KEDGE_BATCH_MUTATOR) ||
        kedge_batch_check(args, NULL) != KEDGE_OK)
        return false;
    kedge_json_iterator parts = kedge_batch_iterate(args);
    while (kedge_batch_next(&parts, lack)) {
        if (lacks_one(registry, kedge_bytes_of(lack->name), lack->version)) return true;
    }
    return false;
}

/* ---- what may be pushed ---- */

void kedge_registry_forbid_builtins(kedge_registry *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        const char *name = registry->entries[i].mutator.name;
        bool builtin = strncmp(name, BUILTIN, strlen(BUILTIN)) == 0;
        registry->entries[i].forbidden = builtin && strcmp(name, "kedge.noop") != 0;
    }
}

bool kedge_registry_allow_builtin(kedge_registry *registry, kedge_bytes name)
{
    bool found;
    size_t place = place_of(registry, name, &found);
    if (!found || !kedge_bytes_start_with(name, KEDGE_BYTES(BUILTIN))) return false;
    registry->entries[place].forbidden = false;
    return true;
}

static const char *forbidden_one(const kedge_registry *registry, kedge_bytes name)
{
    bool found;
    size_t place = place_of(registry, name, &found);
    const entry *at = &registry->entries[place];
    return found && at->forbidden ? at->mutator.name : NULL;
}

const char *kedge_registry_forbidden(const kedge_registry *registry, kedge_bytes name,
                                     kedge_bytes args)
{
    kedge_batch_part part;
    const char *forbidden = forbidden_one(registry, name);
    if (forbidden != NULL || !kedge_bytes_equal_text(name, KEDGE_BATCH_MUTATOR) ||
        kedge_batch_check(args, NULL) != KEDGE_OK)
        return forbidden;
    kedge_json_iterator parts = kedge_batch_iterate(args);
    while (forbidden == NULL && kedge_batch_next(&parts, &part))
        forbidden = forbidden_one(registry, kedge_bytes_of(part.name));
    return forbidden;
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
        kedge_json_chars(&writer, registry->entries[i].mutator.name);
        kedge_json_integer(&writer, registry->entries[i].mutator.version);
        if (registry->entries[i].client_only) kedge_json_chars(&writer, "client");
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
    return kedge_buffer_status(out, error);
}
