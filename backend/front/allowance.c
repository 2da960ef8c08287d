/* See allowance.h. A line moves `used_until_ms` on by the time after which one more is allowed. */
#include "backend/front/allowance.h"

#define SPAN_MS (60000 / KEDGE_ALLOWANCE_PER_MINUTE)

bool kedge_allowance_take(kedge_allowance *allowance, int64_t now_ms, uint64_t *omitted)
{
    int_fast64_t used = atomic_load(&allowance->used_until_ms);
    int_fast64_t next;
    do {
        next = (used > now_ms ? used : now_ms) + SPAN_MS;
        if (next - now_ms > (int_fast64_t)KEDGE_ALLOWANCE_BURST * SPAN_MS) {
            atomic_fetch_add(&allowance->omitted, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&allowance->used_until_ms, &used, next));
    *omitted = atomic_exchange(&allowance->omitted, 0);
    return true;
}
