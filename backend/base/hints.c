/* See hints.h. */
#include "backend/base/hints.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"

#include <string.h>

/* ---- kinds of projects ---- */

kedge_status kedge_project_kinds_open(kedge_project_kinds *kinds, const kedge_allocator *allocator,
                                      kedge_error *error)
{
    kinds->allocator = allocator;
    kinds->places = kedge_allocate(allocator, KEDGE_PROJECT_KINDS * sizeof *kinds->places);
    if (kinds->places == NULL) return kedge_fail_no_memory(error);
    pthread_mutex_init(&kinds->lock, NULL);
    return KEDGE_OK;
}

void kedge_project_kinds_close(kedge_project_kinds *kinds)
{
    pthread_mutex_destroy(&kinds->lock);
    kedge_release(kinds->allocator, kinds->places);
}

static kedge_known_kind *kind_place(kedge_project_kinds *kinds, const kedge_project_ref *ref)
{
    return &kinds->places[kedge_project_ref_hash(ref) % KEDGE_PROJECT_KINDS];
}

bool kedge_project_kinds_find(kedge_project_kinds *kinds, const kedge_project_ref *ref, int *kind)
{
    pthread_mutex_lock(&kinds->lock);
    const kedge_known_kind *place = kind_place(kinds, ref);
    bool found = kedge_bytes_equal_text(ref->organization, place->organization) &&
                 kedge_bytes_equal_text(ref->project, place->project);
    if (found) *kind = place->kind;
    pthread_mutex_unlock(&kinds->lock);
    return found;
}

static void copy_name(kedge_bytes name, char out[KEDGE_LIMIT_NAME_BYTES + 1])
{
    KEDGE_ASSERT(name.size > 0 && name.size <= KEDGE_LIMIT_NAME_BYTES);
    memcpy(out, name.data, name.size);
    out[name.size] = '\0';
}

void kedge_project_kinds_put(kedge_project_kinds *kinds, const kedge_project_ref *ref, int kind)
{
    pthread_mutex_lock(&kinds->lock);
    kedge_known_kind *place = kind_place(kinds, ref);
    copy_name(ref->organization, place->organization);
    copy_name(ref->project, place->project);
    place->kind = kind;
    pthread_mutex_unlock(&kinds->lock);
}

/* ---- projects without an access list ---- */

void kedge_unlisted_open(kedge_unlisted *unlisted, const kedge_environment *environment)
{
    memset(unlisted->places, 0, sizeof unlisted->places);
    unlisted->forgotten = 0;
    unlisted->environment = environment;
    pthread_mutex_init(&unlisted->lock, NULL);
}

void kedge_unlisted_close(kedge_unlisted *unlisted)
{
    pthread_mutex_destroy(&unlisted->lock);
}

/* The slash separates: no name of an organization contains one. 0 marks a place as empty. */
static uint64_t hash_of(kedge_bytes organization, kedge_bytes id)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t number = 0;
    const kedge_bytes pieces[] = {organization, KEDGE_BYTES("/"), id};
    kedge_sha256_of(pieces, 3, hash);
    memcpy(&number, hash, sizeof number);
    return number == 0 ? 1 : number;
}

bool kedge_unlisted_has(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id,
                        uint64_t *since)
{
    uint64_t project = hash_of(organization, id);
    int64_t now_ms = unlisted->environment->monotonic_ms(unlisted->environment->context);
    pthread_mutex_lock(&unlisted->lock);
    const kedge_unlisted_place *place = &unlisted->places[project % KEDGE_UNLISTED_PLACES];
    bool has = place->project == project && now_ms < place->until_ms;
    *since = unlisted->forgotten;
    pthread_mutex_unlock(&unlisted->lock);
    return has;
}

void kedge_unlisted_note(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id,
                         uint64_t since)
{
    uint64_t project = hash_of(organization, id);
    int64_t now_ms = unlisted->environment->monotonic_ms(unlisted->environment->context);
    pthread_mutex_lock(&unlisted->lock);
    if (unlisted->forgotten == since) {
        unlisted->places[project % KEDGE_UNLISTED_PLACES] =
            (kedge_unlisted_place){project, now_ms + KEDGE_UNLISTED_MS};
    }
    pthread_mutex_unlock(&unlisted->lock);
}

void kedge_unlisted_forget(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id)
{
    uint64_t project = hash_of(organization, id);
    pthread_mutex_lock(&unlisted->lock);
    kedge_unlisted_place *place = &unlisted->places[project % KEDGE_UNLISTED_PLACES];
    if (place->project == project) place->project = 0;
    unlisted->forgotten++;
    pthread_mutex_unlock(&unlisted->lock);
}

/* ---- snapshots of log projects ---- */

void kedge_remakes_open(kedge_remakes *remakes, const kedge_environment *environment)
{
    memset(remakes->places, 0, sizeof remakes->places);
    remakes->environment = environment;
    pthread_mutex_init(&remakes->lock, NULL);
}

void kedge_remakes_close(kedge_remakes *remakes)
{
    pthread_mutex_destroy(&remakes->lock);
}

bool kedge_remakes_may_begin(kedge_remakes *remakes, const kedge_project_ref *ref)
{
    uint64_t project = kedge_project_ref_hash(ref);
    int64_t now_ms = remakes->environment->monotonic_ms(remakes->environment->context);
    pthread_mutex_lock(&remakes->lock);
    const kedge_remake *place = &remakes->places[project % KEDGE_REMAKES];
    bool may = place->project != project || now_ms >= place->until_ms;
    pthread_mutex_unlock(&remakes->lock);
    return may;
}

void kedge_remakes_ended(kedge_remakes *remakes, const kedge_project_ref *ref)
{
    uint64_t project = kedge_project_ref_hash(ref);
    int64_t now_ms = remakes->environment->monotonic_ms(remakes->environment->context);
    pthread_mutex_lock(&remakes->lock);
    remakes->places[project % KEDGE_REMAKES] = (kedge_remake){project, now_ms + KEDGE_REMAKE_MS};
    pthread_mutex_unlock(&remakes->lock);
}

/* ---- the newest segments of logs ---- */

kedge_status kedge_log_hints_open(kedge_log_hints *hints, const kedge_allocator *allocator,
                                  kedge_error *error)
{
    hints->allocator = allocator;
    hints->places = kedge_allocate(allocator, KEDGE_LOG_HINTS * sizeof *hints->places);
    if (hints->places == NULL) return kedge_fail_no_memory(error);
    pthread_mutex_init(&hints->lock, NULL);
    return KEDGE_OK;
}

void kedge_log_hints_close(kedge_log_hints *hints)
{
    pthread_mutex_destroy(&hints->lock);
    kedge_release(hints->allocator, hints->places);
}

/* An id is the start of a hash, so its first bytes choose the place. */
static kedge_log_hint *hint_place(kedge_log_hints *hints, const uint8_t *id)
{
    return &hints->places[((size_t)id[0] << 8 | id[1]) % KEDGE_LOG_HINTS];
}

bool kedge_log_hint_find(kedge_log_hints *hints, kedge_log_hint *hint)
{
    pthread_mutex_lock(&hints->lock);
    const kedge_log_hint *place = hint_place(hints, hint->id);
    bool found = memcmp(place->id, hint->id, sizeof hint->id) == 0;
    if (found) *hint = *place;
    pthread_mutex_unlock(&hints->lock);
    return found;
}

void kedge_log_hint_put(kedge_log_hints *hints, const kedge_log_hint *hint)
{
    pthread_mutex_lock(&hints->lock);
    *hint_place(hints, hint->id) = *hint;
    pthread_mutex_unlock(&hints->lock);
}
