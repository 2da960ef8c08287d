/* A cursor over a state. */
#ifndef KEDGE_BACKEND_API_STATE_CURSOR_H
#define KEDGE_BACKEND_API_STATE_CURSOR_H

#include "backend/api/damage.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/state.h"

/* A place in a state, in key order: the project record, then each collection's items. */
typedef struct kedge_api_cursor {
    kedge_state *state;
    const kedge_version *version;
    bool at_project;   /* the project record comes next */
    size_t collection; /* index of the one where it stands */
    bool from_start;   /* the first item of the collection comes next; else the one after `after` */
    kedge_bytes after;
    /* notes collections that cannot be read, which are skipped; NULL: such a collection ends the
     * cursor with its error */
    kedge_api_damage *damage;
    bool begun; /* an earlier part has items of the collection, so it cannot be skipped any more */
} kedge_api_cursor;

kedge_api_cursor kedge_api_cursor_from_start(kedge_state *state);
kedge_api_cursor kedge_api_cursor_behind(kedge_state *state, kedge_bytes collection,
                                         kedge_bytes id);
/* Returns KEDGE_DONE when there are no more. The project record has two empty names and its
 * body. */
kedge_status kedge_api_cursor_next(kedge_api_cursor *cursor, kedge_bytes *collection,
                                   kedge_entry *entry, kedge_error *error);

#endif
