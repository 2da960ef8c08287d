/* Conflicts: what the server has rejected, and the three ways out of it. Edits of the same field of
 * a note that were rejected one after the other are one conflict: the first one's base against the
 * last one's value. */
#ifndef CONFLICT_H
#define CONFLICT_H

#include "edits.h"

#include <glib.h>

typedef enum conflict_field {
    CONFLICT_TITLE,
    CONFLICT_TEXT,
    CONFLICT_FOLDER,
    CONFLICT_OTHER /* an edit of another kind, such as an undo: it is made again, or not */
} conflict_field;

typedef struct conflict {
    conflict_field field;
    char *note;   /* its id */
    char *name;   /* what the note is called */
    char *base;   /* the value that the edit began from */
    char *mine;   /* the value that was rejected */
    char *theirs; /* the value that is there; NULL: the note was deleted */
    char *reason;
    note last;         /* the note, as far as it is known: as it is, or as it was when deleted */
    GArray *sequences; /* int64_t: the rejected edits */
} conflict;

/* All conflicts of the inbox, in the order of their first edits; NULL when they cannot be read.
 * Free the array with g_ptr_array_unref. `deleted`: id -> JSON of notes that were deleted while the
 * app ran; a note that it lacks comes back with its text alone. */
GPtrArray *conflicts_read(kedge_db *db, GHashTable *deleted, kedge_error *error);

/* Each makes its edit, if it has one, and then takes the rejected ones out of the inbox. When it
 * fails, they stay there. */
kedge_status conflict_take_theirs(kedge_db *db, const conflict *of, kedge_error *error);
/* A note that was deleted comes back. */
kedge_status conflict_take_mine(kedge_db *db, const conflict *of, kedge_error *error);
/* Both values become one, by words. When the note was deleted, it stays so, and what was written
 * becomes a new note. `into` is the id of the note that has both. */
kedge_status conflict_merge(kedge_db *db, const conflict *of, char into[NOTES_ID_SIZE],
                            kedge_error *error);
/* Whether there is something to merge. */
bool conflict_can_merge(const conflict *of);

#endif
