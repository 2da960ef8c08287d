/* The edits that the window makes. Each is a group of its own for undo, with a label for the menu,
 * and is on the disk and visible when its function returns. */
#ifndef EDITS_H
#define EDITS_H

#include "notes_mutators.h"

#include <kedge/kedge.h>

/* A note as it is now. Free it with note_clear. */
typedef struct note {
    char *title;
    char *text;
    char *folder;
} note;

/* KEDGE_NOT_FOUND when there is none. */
kedge_status note_read(kedge_db *db, const char *id, note *into, kedge_error *error);
/* The note that `json` is, with "" for what it lacks. */
void note_from_json(const char *json, note *into);
void note_clear(note *read);
/* The title, or what a list shows for a note without one. Borrowed. */
const char *note_name(const note *read);

/* A note of the id; `id` is filled when it is "". */
kedge_status edit_add(kedge_db *db, char id[NOTES_ID_SIZE], const note *value, kedge_error *error);
kedge_status edit_delete(kedge_db *db, const char *id, kedge_error *error);
kedge_status edit_folder(kedge_db *db, const char *id, const char *folder, kedge_error *error);

/* The title was `base` and becomes `title`. When somebody renames the note before the server
 * decides, this edit is rejected and waits in the inbox: of two titles a person chooses. When the
 * other title is here already, the words are merged. */
kedge_status edit_title(kedge_db *db, const char *id, const char *base, const char *title,
                        kedge_error *error);

/* What was `base` becomes `text`, merged with what others have written since. `base` NULL: what is
 * there now. `field` is "title" or "text". */
kedge_status edit_merged(kedge_db *db, const char *id, const char *field, const char *base,
                         const char *text, kedge_error *error);

/* The note becomes `value`, by one batch of what differs. Its text is merged with what others write
 * before the server decides. */
kedge_status edit_restore(kedge_db *db, const char *id, const note *value, kedge_error *error);

#endif
