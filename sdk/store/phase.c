/* The store's points of no return, told to whoever asked: crash tests end the process there. */
#include "sdk/store/store_internal.h"

void kedge_store_phase(kedge_store *store, const char *phase)
{
    if (store->phase) store->phase(store->phase_context, phase);
}
