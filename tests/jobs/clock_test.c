/* What kedge-admin does not remove by a clock that is not that of AWS. */
#include "tests/jobs/jobs_world.h"

#include "backend/admin/verbs.h"

/* ---- the stores ---- */

static int64_t skew_ms; /* above 0: this machine's clock is behind */

int64_t kedge_stores_skew_ms(const kedge_stores *stores)
{
    (void)stores;
    return skew_ms;
}

kedge_queue kedge_stores_queue(const kedge_stores *stores)
{
    (void)stores;
    return (kedge_queue){.vtable = NULL};
}

/* ---- the commands ---- */

typedef int (*admin_run)(const kedge_admin *admin);

static int run(test_world *world, admin_run command, int64_t behind_ms,
               const kedge_admin_line *line)
{
    kedge_admin_line whole = *line;
    whole.organization = "acme";
    whole.project = "notes";
    const kedge_admin admin = {.backend = world->backend,
                               .environment = &world->environment,
                               .allocator = world->environment.allocator,
                               .line = &whole};
    skew_ms = behind_ms;
    return command(&admin);
}

#define MINUTE_MS INT64_C(60000)

static void test_retention_by_days_needs_a_clock_that_is_not_ahead(void **state)
{
    const kedge_admin_line days = {.keep_days = "1", .remove = true};
    const kedge_admin_line versions = {.keep_versions = "1", .remove = true};
    assert_int_equal(run(*state, kedge_admin_retention, -59 * MINUTE_MS, &days), 0);
    assert_int_equal(run(*state, kedge_admin_retention, -60 * MINUTE_MS, &days),
                     KEDGE_ADMIN_NO_RESPONSE);
    assert_int_equal(run(*state, kedge_admin_retention, 600 * MINUTE_MS, &days), 0);
    assert_int_equal(run(*state, kedge_admin_retention, -600 * MINUTE_MS, &versions), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_retention_by_days_needs_a_clock_that_is_not_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
