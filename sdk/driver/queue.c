/* The events that wait for the core while another one is carried out, in the order in which they
 * came. */
#include "sdk/driver/driver_internal.h"

void kedge_driver_tell(kedge_driver *driver, const kedge_core_event *event)
{
    if (driver->event_count == KEDGE_DRIVER_EVENTS_MAX) return;
    size_t at = (driver->event_first + driver->event_count) % KEDGE_DRIVER_EVENTS_MAX;
    driver->events[at] = *event;
    driver->event_count++;
}

bool kedge_driver_next_event(kedge_driver *driver, kedge_core_event *event)
{
    if (driver->event_count == 0) return false;
    *event = driver->events[driver->event_first];
    driver->event_first = (driver->event_first + 1) % KEDGE_DRIVER_EVENTS_MAX;
    driver->event_count--;
    return true;
}
