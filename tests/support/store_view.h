/* What a store holds, as checks compare it: more than an app can read. */
#ifndef KEDGE_TESTS_SUPPORT_STORE_VIEW_H
#define KEDGE_TESTS_SUPPORT_STORE_VIEW_H

#include "sdk/store/store.h"

/* All visible, or all canonical, items as canonical JSON text {"collection/id": value, …} in key
 * order. */
kedge_status store_dump(kedge_store *store, bool canonical, kedge_buffer *out, kedge_error *error);

/* The canonical value of an item, without the pending mutations. KEDGE_NOT_FOUND: there is none. */
kedge_status store_get_canonical(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                 kedge_buffer *value, kedge_error *error);

/* Whether both copies of the outbox's meta row count `pending` and `rejected` as they are. */
bool store_counts_are_right(kedge_store *store);

#endif
