/* The rule of origins: a mutation that was renumbered or sent again is decided once.
 *
 * An origin is (client, id, digest) of the mutation as it was first made. It was decided when a
 * mutation was decided under that client and id with that digest, or when another one with the same
 * origin was. The rows of all versions up to the head are complete when this is asked, so that they
 * tell everything but what this push itself has decided. */
#include "backend/core/slice.h"

#include "backend/core/index.h"
#include "common/planted.h"

#include <string.h>

typedef struct lookup {
    const kedge_push_mutation *pushed;
    bool found;
} lookup;

static kedge_status compare_digest(void *context, int64_t version,
                                   const kedge_version_mutation *mutation, kedge_error *error)
{
    (void)version;
    (void)error;
    lookup *wanted = context;
    wanted->found = mutation->id == wanted->pushed->origin_id &&
                    memcmp(mutation->digest, wanted->pushed->digest, KEDGE_DIGEST_SIZE) == 0;
    return KEDGE_OK;
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

kedge_status kedge_slice_origin_is_decided(kedge_slice *slice, size_t position, bool *decided,
                                           kedge_error *error)
{
    const kedge_plan *plan = slice->plan;
    const kedge_push *push = slice->push;
    const kedge_push_mutation *pushed = &push->mutations[plan->apply[position]];
    const kedge_version *head = slice->head->version;
    *decided = false;
    if (KEDGE_PLANTED_BUG(KEDGE_PLANTED_ORIGIN_NOT_CHECKED)) return KEDGE_OK;
    for (size_t i = 0; i < position; i++) {
        if (is_same(&push->mutations[plan->apply[i]], pushed)) *decided = true;
    }
    if (*decided) return KEDGE_OK;
    kedge_status status =
        kedge_index_has_origin(slice->backend, slice->ref, head, pushed->origin_client,
                               pushed->origin_id, pushed->digest, decided, error);
    if (status != KEDGE_OK || *decided) return status;
    lookup wanted = {pushed, false};
    status = kedge_client_mutations(slice->backend, slice->ref, head, pushed->origin_client,
                                    pushed->origin_id, pushed->origin_id, 1, compare_digest,
                                    &wanted, NULL, error);
    *decided = wanted.found;
    return status;
}
