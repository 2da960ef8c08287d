/* Calls the `phase` hook at the store's points of no return, where crash tests end the process. */
#include "sdk/store/store_internal.h"

void kedge_store_phase(kedge_store *store, const char *phase)
{
    if (store->phase) store->phase(store->phase_context, phase);
}
