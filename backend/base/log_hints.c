/* Which segment of a log was the newest. */
#include "backend/base/log_hints.h"

#include "common/error.h"

#include <string.h>

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

/* An id is the start of a hash, so that any of its bytes are a hash of it. */
static kedge_log_hint *place_of(kedge_log_hints *hints, const uint8_t *id)
{
    return &hints->places[((size_t)id[0] << 8 | id[1]) % KEDGE_LOG_HINTS];
}

bool kedge_log_hint_find(kedge_log_hints *hints, kedge_log_hint *hint)
{
    pthread_mutex_lock(&hints->lock);
    const kedge_log_hint *place = place_of(hints, hint->id);
    bool found = memcmp(place->id, hint->id, sizeof hint->id) == 0;
    if (found) *hint = *place;
    pthread_mutex_unlock(&hints->lock);
    return found;
}

void kedge_log_hint_put(kedge_log_hints *hints, const kedge_log_hint *hint)
{
    pthread_mutex_lock(&hints->lock);
    *place_of(hints, hint->id) = *hint;
    pthread_mutex_unlock(&hints->lock);
}
