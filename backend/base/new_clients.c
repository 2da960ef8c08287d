/* See new_clients.h. A bucket holds what a minute brings, and is full at first. */
#include "backend/base/new_clients.h"

#include "common/error.h"
#include "common/hash.h"

#include <string.h>

#define MINUTE_MS 60000
#define TOKEN     1000 /* what one client costs, in thousandths */

kedge_status kedge_new_clients_open(kedge_new_clients *limit, const kedge_environment *environment,
                                    int64_t per_minute, kedge_error *error)
{
    const size_t count = KEDGE_NEW_CLIENTS_SETS * KEDGE_NEW_CLIENTS_WAYS;
    *limit = (kedge_new_clients){.environment = environment, .per_minute = per_minute};
    if (per_minute < 0 || per_minute > KEDGE_NEW_CLIENTS_PER_MINUTE_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "new-clients-invalid",
                          "the new clients per minute are a number from 0 to %d",
                          KEDGE_NEW_CLIENTS_PER_MINUTE_MAX);
    }
    if (per_minute == 0) return KEDGE_OK;
    limit->buckets = kedge_allocate(environment->allocator, count * sizeof *limit->buckets);
    if (limit->buckets == NULL) return kedge_fail_no_memory(error);
    pthread_mutex_init(&limit->lock, NULL);
    return KEDGE_OK;
}

void kedge_new_clients_close(kedge_new_clients *limit)
{
    if (limit->buckets == NULL) return;
    pthread_mutex_destroy(&limit->lock);
    kedge_release(limit->environment->allocator, limit->buckets);
    limit->buckets = NULL;
}

static uint64_t hash_user(kedge_bytes organization, const char *user)
{
    uint8_t parts[2 * KEDGE_SHA256_SIZE];
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t number = 0;
    kedge_sha256(organization, parts);
    kedge_sha256(kedge_bytes_of(user), parts + KEDGE_SHA256_SIZE);
    kedge_sha256((kedge_bytes){(const char *)parts, sizeof parts}, hash);
    memcpy(&number, hash, sizeof number);
    return number == 0 ? 1 : number;
}

/* Adds the tokens of the time that has passed. Time that is too short for a thousandth of a token
 * counts at the next call. */
static void fill(const kedge_new_clients *limit, kedge_client_bucket *bucket, int64_t now_ms)
{
    int64_t most = limit->per_minute * TOKEN;
    int64_t full_ms = (most - bucket->millis) * MINUTE_MS / most + 1;
    int64_t passed = now_ms - bucket->at_ms;
    int64_t gained = passed <= 0 || passed >= full_ms ? 0 : passed * most / MINUTE_MS;
    if (passed >= full_ms) {
        bucket->millis = most;
        bucket->at_ms = now_ms;
    } else {
        bucket->millis += gained;
        bucket->at_ms += gained * MINUTE_MS / most;
    }
}

/* The user's bucket, filled up to now; a new one is full. */
static kedge_client_bucket *find(kedge_new_clients *limit, uint64_t user, int64_t now_ms)
{
    kedge_client_bucket *set =
        limit->buckets + (user % KEDGE_NEW_CLIENTS_SETS) * KEDGE_NEW_CLIENTS_WAYS;
    kedge_client_bucket *fullest = NULL;
    for (size_t i = 0; i < KEDGE_NEW_CLIENTS_WAYS; i++) {
        kedge_client_bucket *bucket = &set[i];
        if (bucket->user != 0) fill(limit, bucket, now_ms);
        if (bucket->user == user) return bucket;
        if (fullest != NULL && fullest->user == 0) continue;
        if (fullest == NULL || bucket->user == 0 || bucket->millis > fullest->millis)
            fullest = bucket;
    }
    *fullest =
        (kedge_client_bucket){.user = user, .millis = limit->per_minute * TOKEN, .at_ms = now_ms};
    return fullest;
}

bool kedge_new_clients_take(kedge_new_clients *limit, kedge_bytes organization, const char *user,
                            size_t count, int64_t *wait_ms)
{
    *wait_ms = 0;
    if (limit->buckets == NULL || count == 0) return true;
    const kedge_environment *environment = limit->environment;
    uint64_t hash = hash_user(organization, user);
    int64_t most = limit->per_minute * TOKEN;
    int64_t price = (int64_t)count * TOKEN;
    int64_t needed = price < most ? price : most;
    pthread_mutex_lock(&limit->lock);
    kedge_client_bucket *bucket =
        find(limit, hash, environment->monotonic_ms(environment->context));
    bool enough = bucket->millis >= needed;
    if (enough) {
        bucket->millis -= price;
    } else {
        *wait_ms = (needed - bucket->millis) * MINUTE_MS / most + 1;
    }
    pthread_mutex_unlock(&limit->lock);
    return enough;
}
