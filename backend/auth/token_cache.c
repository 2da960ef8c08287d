/* See token_cache.h: a table of what a result says, in as many bytes as that takes. */
#include "backend/auth/token_cache.h"

#include <pthread.h>
#include <string.h>

/* `texts`: user, role, organization and the projects, each with its NUL. */
typedef struct known_token {
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t generation;
    int64_t expires_ms;
    size_t project_count;
    bool all_projects;
    char texts[];
} known_token;

struct kedge_token_cache {
    const kedge_allocator *allocator;
    pthread_mutex_t mutex;
    known_token *places[KEDGE_TOKEN_CACHE_PLACES];
};

kedge_token_cache *kedge_token_cache_new(const kedge_allocator *allocator)
{
    kedge_token_cache *cache = kedge_allocate(allocator, sizeof *cache);
    if (!cache) return NULL;
    cache->allocator = allocator;
    pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

void kedge_token_cache_free(kedge_token_cache *cache)
{
    if (!cache) return;
    for (size_t i = 0; i < KEDGE_TOKEN_CACHE_PLACES; i++)
        kedge_release(cache->allocator, cache->places[i]);
    pthread_mutex_destroy(&cache->mutex);
    kedge_release(cache->allocator, cache);
}

static known_token **place_of(kedge_token_cache *cache, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    uint32_t number;
    memcpy(&number, hash, sizeof number);
    return &cache->places[number % KEDGE_TOKEN_CACHE_PLACES];
}

/* ---- finding ---- */

static const char *take_text(const char *from, char out[KEDGE_TOKEN_NAME_SIZE])
{
    size_t size = strlen(from) + 1;
    memcpy(out, from, size);
    return from + size;
}

static void fill(const known_token *known, kedge_auth_result *result)
{
    const char *at = take_text(known->texts, result->user);
    at = take_text(at, result->role);
    at = take_text(at, result->organization);
    for (size_t i = 0; i < known->project_count; i++) {
        at = take_text(at, result->projects[i]);
        result->project_list[i] = result->projects[i];
    }
    result->generation = known->generation;
    result->expires_ms = known->expires_ms;
    result->identity = (kedge_identity){
        .user = result->user,
        .role = result->role,
        .organization = result->organization,
        .projects = known->all_projects ? NULL : result->project_list,
        .project_count = known->project_count,
        .admin = strcmp(result->role, "admin") == 0,
    };
}

bool kedge_token_cache_find(kedge_token_cache *cache, const uint8_t hash[KEDGE_SHA256_SIZE],
                            uint64_t generation, int64_t now_ms, kedge_auth_result *result)
{
    pthread_mutex_lock(&cache->mutex);
    const known_token *known = *place_of(cache, hash);
    bool found = known != NULL && memcmp(known->hash, hash, KEDGE_SHA256_SIZE) == 0 &&
                 known->generation == generation && now_ms < known->expires_ms;
    if (found) fill(known, result);
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

/* ---- keeping ---- */

static size_t texts_size(const kedge_auth_result *result)
{
    size_t size = strlen(result->user) + strlen(result->role) + strlen(result->organization) + 3;
    for (size_t i = 0; i < result->identity.project_count; i++)
        size += strlen(result->projects[i]) + 1;
    return size;
}

static char *keep_text(char *at, const char *text)
{
    size_t size = strlen(text) + 1;
    memcpy(at, text, size);
    return at + size;
}

void kedge_token_cache_add(kedge_token_cache *cache, const uint8_t hash[KEDGE_SHA256_SIZE],
                           const kedge_auth_result *result)
{
    size_t size = texts_size(result);
    if (size > KEDGE_TOKEN_CACHE_CLAIMS) return;
    known_token *made = kedge_allocate(cache->allocator, sizeof *made + size);
    if (!made) return;
    memcpy(made->hash, hash, KEDGE_SHA256_SIZE);
    made->generation = result->generation;
    made->expires_ms = result->expires_ms;
    made->project_count = result->identity.project_count;
    made->all_projects = result->identity.projects == NULL;
    char *at = keep_text(made->texts, result->user);
    at = keep_text(at, result->role);
    at = keep_text(at, result->organization);
    for (size_t i = 0; i < made->project_count; i++)
        at = keep_text(at, result->projects[i]);

    pthread_mutex_lock(&cache->mutex);
    known_token **place = place_of(cache, hash);
    known_token *before = *place;
    *place = made;
    pthread_mutex_unlock(&cache->mutex);
    kedge_release(cache->allocator, before);
}
