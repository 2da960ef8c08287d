/* Checks the cache in the background, in slices; between two slices the thread does other work. The
 * host has one timer, which serves the core and the check. */
#include "sdk/driver/driver_internal.h"

#define FIRST_MS 1000  /* opening and resync come first */
#define SLICE_MS 20    /* a slice takes about one */
#define RETRY_MS 60000 /* the disk or the memory failed */

void kedge_driver_arm(kedge_driver *driver)
{
    int64_t at_ms = driver->core_timer_ms < driver->check_timer_ms ? driver->core_timer_ms
                                                                   : driver->check_timer_ms;
    if (at_ms != KEDGE_DRIVER_NEVER) driver->host.set_timer(driver->host.context, at_ms);
}

static void plan(kedge_driver *driver, int64_t delay_ms)
{
    const kedge_environment *environment = driver->environment;
    driver->check_timer_ms = environment->monotonic_ms(environment->context) + delay_ms;
    kedge_driver_arm(driver);
}

void kedge_driver_plan_check(kedge_driver *driver)
{
    if (driver->check_timer_ms != KEDGE_DRIVER_NEVER) return;
    if (kedge_store_check_is_due(driver->store)) plan(driver, FIRST_MS);
}

bool kedge_driver_check(kedge_driver *driver)
{
    kedge_change_set everything = {.all = true};
    kedge_status status = kedge_store_check_cache(driver->store, NULL);
    driver->check_timer_ms = KEDGE_DRIVER_NEVER;
    if (status == KEDGE_OK) {
        plan(driver, SLICE_MS);
    } else if (status == KEDGE_DONE) {
        kedge_driver_arm(driver);
    } else {
        plan(driver, status == KEDGE_CORRUPT ? FIRST_MS : RETRY_MS);
    }
    if (status == KEDGE_CORRUPT) driver->host.changed(driver->host.context, &everything);
    return status != KEDGE_CORRUPT;
}
