/* The rule of origins: a mutation that was renumbered or sent again is decided once.
 *
 * An origin is (client, id, digest) of the mutation as it was first made. It was decided when a
 * mutation was decided under that client and id with that digest, or when another one with the same
 * origin was. The rows of all versions up to the head are complete when this is asked, so that they
 * tell everything but what this push itself has decided. */
#include "backend/versioned/commit/slice.h"

#include "backend/versioned/index/index.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

typedef struct lookup {
    kedge_slice *slice;
    int64_t id;
    const uint8_t *digest;
    kedge_version_mutation *mutation; /* to be made a duplicate */
    bool found;
} lookup;

static kedge_status repeat(lookup *wanted, const kedge_version_mutation *decided,
                           kedge_error *error)
{
    kedge_arena *arena = &wanted->slice->object->arena;
    kedge_version_mutation *mutation = wanted->mutation;
    KEDGE_ASSERT(!wanted->found);
    mutation->outcome = KEDGE_MUTATION_DUPLICATE;
    wanted->found = true;
    bool fine = kedge_arena_copy(arena, decided->code, &mutation->code) &&
                kedge_arena_copy(arena, decided->message, &mutation->message);
    return fine ? KEDGE_OK : kedge_fail_no_memory(error);
}

static kedge_status compare(void *context, int64_t version, const kedge_version_mutation *decided,
                            kedge_error *error)
{
    (void)version;
    lookup *wanted = context;
    if (decided->id != wanted->id ||
        memcmp(decided->digest, wanted->digest, KEDGE_DIGEST_SIZE) != 0) {
        return KEDGE_OK;
    }
    return repeat(wanted, decided, error);
}

/* Looks in the versions up to the head for what was decided as mutation `id` of `client`. */
static kedge_status look_up(lookup *wanted, kedge_bytes client, int64_t id, kedge_error *error)
{
    kedge_slice *slice = wanted->slice;
    wanted->id = id;
    return kedge_client_mutations(slice->project, slice->head->version, client, id, id, 1, compare,
                                  wanted, NULL, error);
}

/* `earlier` was made under the origin's own name, or has the same origin. */
static bool is_same(const kedge_push_mutation *earlier, const kedge_push_mutation *pushed)
{
    if (memcmp(earlier->digest, pushed->digest, KEDGE_DIGEST_SIZE) != 0) return false;
    return (earlier->id == pushed->origin_id &&
            kedge_bytes_equal(earlier->client, pushed->origin_client)) ||
           (earlier->origin_client.size > 0 && earlier->origin_id == pushed->origin_id &&
            kedge_bytes_equal(earlier->origin_client, pushed->origin_client));
}

static kedge_status look_in_push(lookup *wanted, size_t position, kedge_error *error)
{
    const kedge_slice *slice = wanted->slice;
    const kedge_plan *plan = slice->plan;
    const kedge_push *push = slice->push;
    const kedge_push_mutation *pushed = &push->mutations[plan->apply[position]];
    const kedge_version *version = &slice->object->version;
    KEDGE_ASSERT(position >= version->mutation_count);
    size_t first = position - version->mutation_count; /* of this slice */
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < position && !wanted->found && status == KEDGE_OK; i++) {
        const kedge_push_mutation *earlier = &push->mutations[plan->apply[i]];
        if (!is_same(earlier, pushed)) continue;
        status = i < first ? look_up(wanted, earlier->client, earlier->id, error)
                           : repeat(wanted, &version->mutations[i - first], error);
    }
    return status;
}

kedge_status kedge_slice_find_origin(kedge_slice *slice, size_t position,
                                     kedge_version_mutation *mutation, bool *decided,
                                     kedge_error *error)
{
    const kedge_push_mutation *pushed = &slice->push->mutations[slice->plan->apply[position]];
    lookup wanted = {.slice = slice, .digest = pushed->digest, .mutation = mutation};
    kedge_origin_row row;
    KEDGE_ASSERT(position < slice->plan->apply_count);
    KEDGE_ASSERT(pushed->origin_client.size > 0 && pushed->origin_id >= 1);
    *decided = false;
    kedge_status status = look_in_push(&wanted, position, error);
    if (status != KEDGE_OK || wanted.found) goto out;
    status = kedge_index_origin(slice->project, slice->head->version, pushed->origin_client,
                                pushed->origin_id, pushed->digest, &row, error);
    if (status == KEDGE_OK && row.found)
        status = look_up(&wanted, kedge_bytes_of(row.client), row.id, error);
    if (status == KEDGE_OK && !wanted.found)
        status = look_up(&wanted, pushed->origin_client, pushed->origin_id, error);
    /* The row alone proves that the mutation must not be applied again. */
    if (status == KEDGE_OK && row.found && !wanted.found) {
        mutation->outcome = KEDGE_MUTATION_DUPLICATE;
        wanted.found = true;
    }
out:
    *decided = wanted.found;
    return status;
}
