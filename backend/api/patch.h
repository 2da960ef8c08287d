/* The patch of a pull. */
#ifndef KEDGE_BACKEND_API_PATCH_H
#define KEDGE_BACKEND_API_PATCH_H

#include "backend/api/state_cursor.h"
#include "common/json.h"

typedef struct kedge_api_patch {
    kedge_json_writer writer;
    kedge_state *state; /* of the head */
    bool native;
    kedge_buffer scratch;
    kedge_api_damage damage;
    kedge_error *error;
    /* The last item that the cursor gave; borrowed from the state. */
    kedge_bytes collection;
    kedge_bytes id;
} kedge_api_patch;

/* These two append operations. KEDGE_OK: the last operation has brought the buffer above `limit`
 * bytes. KEDGE_DONE: no operation is left. An item whose body is lost is left out. */
kedge_status kedge_api_patch_items(kedge_api_patch *patch, kedge_api_cursor *cursor, size_t limit);
/* `*at` is the operation to begin with, 0 at first, and then the next one. */
kedge_status kedge_api_patch_changes(kedge_api_patch *patch, const kedge_changes *changes,
                                     size_t *at, size_t limit);
/* After KEDGE_OK of the two above, for a Replicache client: leaves the rest of the patch and the
 * end of the response to the next parts. KEDGE_LIMIT_EXCEEDED: the response would be too large. */
kedge_status kedge_api_patch_leave_items(kedge_api_call *call, kedge_api_patch *patch,
                                         const kedge_api_cursor *cursor);
kedge_status kedge_api_patch_leave_changes(kedge_api_call *call, kedge_api_patch *patch,
                                           int64_t from, const kedge_changes *changes, size_t at);

#endif
