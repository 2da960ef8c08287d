/* The past of a note: the project's versions, asked from the server, and their mutations made once
 * more, in their order, in a database of its own. The mutators are the same, and so is what they
 * give. It waits for the server, so it does not run on the thread of the window. */
#ifndef REPLAY_H
#define REPLAY_H

#include "edits.h"

#include <gio/gio.h>

/* The newest versions that are asked for. A note that is older appears from its first edit among
 * them that can be made again. */
#define REPLAY_VERSIONS_MAX 1000

typedef struct note_version {
    int64_t version;
    int64_t created_ms; /* since 1970 */
    bool own;           /* this copy made it */
    bool deleted;       /* the note was deleted in it; `value` is "" */
    char *what;         /* for example "Text edited" */
    note value;
} note_version;

/* The versions that changed the note `id`, oldest first; NULL when they cannot be had, also because
 * `cancel` was cancelled. Free the array with g_ptr_array_unref. */
GPtrArray *replay_note(kedge_db *db, const char *id, GCancellable *cancel, kedge_error *error);

#endif
