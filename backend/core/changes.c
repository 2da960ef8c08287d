/* What changed between two versions: the fold of the deltas, each key once, the newest change of
 * it. */
#include "backend/core/state_internal.h"

#include "backend/core/layout.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#define VERSIONS_PER_PAGE 64

static int compare_keys(const kedge_version_change *a, const kedge_version_change *b)
{
    int order = kedge_bytes_compare(a->collection, b->collection);
    return order != 0 ? order : kedge_bytes_compare(a->entry.id, b->entry.id);
}

/* Both sorted and free of doubles; on equal keys `newer` counts. `out` has room for both. */
static size_t merge(const kedge_version_change *newer, size_t newer_count,
                    const kedge_version_change *older, size_t older_count,
                    kedge_version_change *out)
{
    size_t n = 0;
    size_t o = 0;
    size_t count = 0;
    while (n < newer_count || o < older_count) {
        int order = n == newer_count   ? 1
                    : o == older_count ? -1
                                       : compare_keys(&newer[n], &older[o]);
        out[count++] = order <= 0 ? newer[n] : older[o];
        if (order <= 0) n++;
        if (order >= 0) o++;
    }
    return count;
}

/* Merges versions[first .. first + count) (newest first) by halves: n log v comparisons in all. */
static kedge_status fold(const kedge_allocator *allocator, const kedge_version *const *versions,
                         size_t count, kedge_version_change **changes, size_t *change_count,
                         kedge_error *error)
{
    kedge_version_change *newer = NULL;
    kedge_version_change *older = NULL;
    size_t newer_count = versions[0]->change_count;
    size_t older_count = 0;
    kedge_status status = KEDGE_OK;
    if (count > 1) {
        size_t half = count / 2;
        status = fold(allocator, versions, half, &newer, &newer_count, error);
        if (status == KEDGE_OK) {
            status = fold(allocator, versions + half, count - half, &older, &older_count, error);
        }
    }
    kedge_version_change *out = NULL;
    if (status == KEDGE_OK) {
        size_t room = newer_count + older_count;
        out = kedge_allocate(allocator, room * sizeof *out);
        if (out == NULL) status = kedge_fail_no_memory(error);
    }
    if (status == KEDGE_OK) {
        const kedge_version_change *first = count > 1 ? newer : versions[0]->changes;
        *change_count = merge(first, newer_count, older, older_count, out);
        *changes = out;
    }
    kedge_release(allocator, newer);
    kedge_release(allocator, older);
    return status;
}

/* The versions from + 1 .. the state's, newest first, all of them or a failure. */
static kedge_status load_versions(kedge_state *state, int64_t from, const kedge_version **versions,
                                  size_t *count, kedge_error *error)
{
    kedge_version_retain(state->version);
    versions[(*count)++] = state->version;
    while (versions[*count - 1]->number > from + 1) {
        int64_t below = versions[*count - 1]->number;
        int64_t left = below - from - 1;
        size_t found = 0;
        kedge_status status =
            kedge_version_list(state->backend, &state->ref, below,
                               (uint32_t)(left < VERSIONS_PER_PAGE ? left : VERSIONS_PER_PAGE),
                               versions + *count, &found, error);
        if (status != KEDGE_OK) return status;
        if (found == 0 || versions[*count]->number != below - 1) {
            *count += found;
            return kedge_fail(error, KEDGE_NOT_FOUND, "version-gone",
                              "version %lld is no longer there", (long long)(below - 1));
        }
        *count += found;
    }
    return KEDGE_OK;
}

kedge_status kedge_state_changes(kedge_state *state, int64_t from, kedge_changes *changes,
                                 kedge_error *error)
{
    const kedge_allocator *allocator = state->backend->allocator;
    kedge_changes made = {.allocator = allocator};
    int64_t to = state->version->number;
    if (from < 0 || from > to) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "version-order",
                          "version %lld is not before version %lld", (long long)from,
                          (long long)to);
    }
    if (from == to) {
        *changes = made;
        return KEDGE_OK;
    }
    made.versions = kedge_allocate(allocator, (size_t)(to - from) * sizeof *made.versions);
    if (made.versions == NULL) return kedge_fail_no_memory(error);
    kedge_status status = load_versions(state, from, made.versions, &made.version_count, error);
    if (status == KEDGE_OK) {
        status =
            fold(allocator, made.versions, made.version_count, &made.changes, &made.count, error);
    }
    for (size_t i = 0; i < made.version_count; i++) {
        if (made.versions[i]->project_changed) made.project_changed = true;
    }
    if (status != KEDGE_OK) {
        kedge_changes_free(&made);
        return status;
    }
    *changes = made;
    return KEDGE_OK;
}

void kedge_changes_free(kedge_changes *changes)
{
    for (size_t i = 0; i < changes->version_count; i++) {
        kedge_version_release(changes->versions[i]);
    }
    if (changes->allocator != NULL) {
        kedge_release(changes->allocator, changes->versions);
        kedge_release(changes->allocator, changes->changes);
    }
    memset(changes, 0, sizeof *changes);
}
