/* See unlisted.h. */
#include "backend/base/unlisted.h"

#include "common/hash.h"

#include <string.h>

void kedge_unlisted_open(kedge_unlisted *unlisted, const kedge_environment *environment)
{
    memset(unlisted->places, 0, sizeof unlisted->places);
    unlisted->environment = environment;
    pthread_mutex_init(&unlisted->lock, NULL);
}

void kedge_unlisted_close(kedge_unlisted *unlisted)
{
    pthread_mutex_destroy(&unlisted->lock);
}

/* The slash is in no organization. */
static uint64_t hash_of(kedge_bytes organization, kedge_bytes id)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t number = 0;
    const kedge_bytes pieces[] = {organization, KEDGE_BYTES("/"), id};
    kedge_sha256_of(pieces, 3, hash);
    memcpy(&number, hash, sizeof number);
    return number == 0 ? 1 : number;
}

bool kedge_unlisted_has(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id)
{
    uint64_t project = hash_of(organization, id);
    int64_t now_ms = unlisted->environment->monotonic_ms(unlisted->environment->context);
    pthread_mutex_lock(&unlisted->lock);
    const kedge_unlisted_place *place = &unlisted->places[project % KEDGE_UNLISTED_PLACES];
    bool has = place->project == project && now_ms < place->until_ms;
    pthread_mutex_unlock(&unlisted->lock);
    return has;
}

void kedge_unlisted_note(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id)
{
    uint64_t project = hash_of(organization, id);
    int64_t now_ms = unlisted->environment->monotonic_ms(unlisted->environment->context);
    pthread_mutex_lock(&unlisted->lock);
    unlisted->places[project % KEDGE_UNLISTED_PLACES] =
        (kedge_unlisted_place){project, now_ms + KEDGE_UNLISTED_MS};
    pthread_mutex_unlock(&unlisted->lock);
}

void kedge_unlisted_forget(kedge_unlisted *unlisted, kedge_bytes organization, kedge_bytes id)
{
    uint64_t project = hash_of(organization, id);
    pthread_mutex_lock(&unlisted->lock);
    kedge_unlisted_place *place = &unlisted->places[project % KEDGE_UNLISTED_PLACES];
    if (place->project == project) place->project = 0;
    pthread_mutex_unlock(&unlisted->lock);
}
