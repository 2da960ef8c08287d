/* The tail of confirmed mutations, for the files that move rows into it and out of it; private to
 * sdk/store. */
#ifndef KEDGE_SDK_STORE_TAIL_H
#define KEDGE_SDK_STORE_TAIL_H

#include "sdk/store/store_internal.h"

/* The bytes of the arguments in the tail. */
kedge_status kedge_outbox_count_tail(kedge_store_db *db, int64_t *bytes, kedge_error *error);
/* Outcomes of mutations below `lowest`, the first pending id: all of these were decided before, and
 * one that was decided otherwise moves from the tail to the inbox, or back. In a transaction;
 * changes `meta` and does not write it. */
kedge_status kedge_outbox_decide_again(kedge_store *store, kedge_outbox_meta *meta,
                                       const kedge_wire_outcomes *outcomes, int64_t lowest,
                                       kedge_error *error);

#endif
