/* The requests that the transport has: one push and one step of a pull at most, each known by its
 * number. A response with another number is one to a request that was given up. */
#include "sdk/driver/driver_internal.h"

kedge_status kedge_driver_hand_over(kedge_driver *driver, kedge_request_kind kind,
                                    kedge_driver_request *request, kedge_error *error)
{
    request->number = ++driver->last_number;
    kedge_status status = driver->transport.send(driver->transport.context, request, error);
    if (status != KEDGE_OK) return status;
    if (kind == KEDGE_REQUEST_PUSH) {
        driver->push_number = request->number;
    } else {
        driver->pull_number = request->number;
        driver->pull_kind = kind;
    }
    return KEDGE_OK;
}

void kedge_driver_give_up(kedge_driver *driver, kedge_request_kind kind)
{
    uint64_t *number = kind == KEDGE_REQUEST_PUSH ? &driver->push_number : &driver->pull_number;
    if (*number != 0) driver->transport.cancel(driver->transport.context, *number);
    *number = 0;
}

bool kedge_driver_take_back(kedge_driver *driver, uint64_t number, kedge_request_kind *kind)
{
    if (number == 0) return false;
    if (number == driver->push_number) {
        *kind = KEDGE_REQUEST_PUSH;
        driver->push_number = 0;
        return true;
    }
    if (number != driver->pull_number) return false;
    *kind = driver->pull_kind;
    driver->pull_number = 0;
    return true;
}
