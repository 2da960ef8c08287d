/* The table of known tokens: which entry a hash finds, and what is not kept. */
#include "backend/auth/token_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kedge_token_cache *cache;
static kedge_auth_result result;

static int make_cache(void **state)
{
    (void)state;
    cache = kedge_token_cache_new(&kedge_allocator_default);
    return cache ? 0 : -1;
}

static int free_cache(void **state)
{
    (void)state;
    kedge_token_cache_free(cache);
    return 0;
}

/* A hash that differs from others with the same `place` only in its last byte. */
static const uint8_t *hash_of(uint8_t place, uint8_t last)
{
    static uint8_t hash[KEDGE_SHA256_SIZE];
    memset(hash, 7, sizeof hash);
    hash[0] = place;
    hash[sizeof hash - 1] = last;
    return hash;
}

static void keep(const uint8_t *hash, const char *user, uint64_t generation, int64_t expires_ms)
{
    static kedge_auth_result kept;
    memset(&kept, 0, sizeof kept);
    snprintf(kept.user, sizeof kept.user, "%s", user);
    kept.generation = generation;
    kept.expires_ms = expires_ms;
    kedge_token_cache_add(cache, hash, &kept);
}

static bool finds(const uint8_t *hash, uint64_t generation, int64_t now_ms)
{
    memset(&result, 0, sizeof result);
    return kedge_token_cache_find(cache, hash, generation, now_ms, &result);
}

static void test_a_hash_finds_only_its_own_token(void **state)
{
    (void)state;
    assert_false(finds(hash_of(1, 1), 1, 0));
    keep(hash_of(1, 1), "ann", 1, 100);
    assert_true(finds(hash_of(1, 1), 1, 99));
    assert_string_equal(result.identity.user, "ann");
    assert_false(finds(hash_of(1, 2), 1, 99));
    assert_false(finds(hash_of(2, 1), 1, 99));
    keep(hash_of(1, 2), "bob", 1, 100); /* takes the place */
    assert_false(finds(hash_of(1, 1), 1, 99));
    assert_true(finds(hash_of(1, 2), 1, 99));
    assert_string_equal(result.identity.user, "bob");
}

static void test_an_entry_is_of_its_generation_and_until_it_expires(void **state)
{
    (void)state;
    keep(hash_of(3, 1), "ann", 5, 100);
    assert_true(finds(hash_of(3, 1), 5, 99));
    assert_false(finds(hash_of(3, 1), 5, 100));
    assert_false(finds(hash_of(3, 1), 6, 99));
    assert_false(finds(hash_of(3, 1), 4, 99));
}

static void test_long_claims_are_not_kept(void **state)
{
    (void)state;
    static kedge_auth_result kept;
    for (size_t i = 0; i < KEDGE_TOKEN_PROJECTS_MAX; i++) {
        memset(kept.projects[i], 'p', KEDGE_TOKEN_NAME_SIZE - 1);
        kept.project_list[i] = kept.projects[i];
    }
    kept.expires_ms = 100;
    kept.identity.projects = kept.project_list;
    kept.identity.project_count = 3; /* 768 bytes, and three NULs */
    kedge_token_cache_add(cache, hash_of(4, 1), &kept);
    assert_true(finds(hash_of(4, 1), 0, 1));
    assert_int_equal(result.identity.project_count, 3);
    assert_string_equal(result.identity.projects[2], kept.projects[2]);
    kept.identity.project_count = 4; /* 1,024 bytes, and three NULs */
    kedge_token_cache_add(cache, hash_of(5, 1), &kept);
    assert_false(finds(hash_of(5, 1), 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hash_finds_only_its_own_token),
        cmocka_unit_test(test_an_entry_is_of_its_generation_and_until_it_expires),
        cmocka_unit_test(test_long_claims_are_not_kept),
    };
    return cmocka_run_group_tests(tests, make_cache, free_cache);
}
