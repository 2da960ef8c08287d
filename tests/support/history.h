/* Every mutation of a project, as the server tells its history. */
#ifndef KEDGE_TESTS_SUPPORT_HISTORY_H
#define KEDGE_TESTS_SUPPORT_HISTORY_H

#include "common/bytes.h"

#include <kedge/kedge.h>

/* Gets one mutation, as kedge_history describes it: a JSON object, borrowed for the call. */
typedef void (*history_visitor)(void *context, kedge_bytes mutation);

/* Calls `visit` for every mutation, from the newest version to the first. Each request may take
 * `timeout_ms`. Errors: those of kedge_history. */
kedge_status history_visit(kedge_db *db, int32_t timeout_ms, history_visitor visit, void *context,
                           kedge_error *error);

#endif
