/* The marks of the notes in the list: how many of the edits of each note the server has not
 * decided, and how many it has rejected. */
#ifndef MARKS_H
#define MARKS_H

#include <glib.h>
#include <kedge/kedge.h>

typedef struct note_marks {
    guint pending;
    guint rejected;
} note_marks;

/* Note id -> note_marks, of the notes that have any. Free it with g_hash_table_unref. NULL when
 * the lists cannot be read. */
GHashTable *marks_read(kedge_db *db, kedge_error *error);

/* Calls `each` for every note that an edit names: its own, those of a batch or a kedge.apply, and
 * those that an undo puts back. A note that is named twice is told twice. */
void marks_each_note(const char *args, void (*each)(void *userdata, const char *id),
                     void *userdata);

#endif
