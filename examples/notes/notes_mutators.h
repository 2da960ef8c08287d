/* The mutators of the notes app: one copy, linked into the app and into the plugin for the server.
 *
 * Collection `notes`, one item a note:
 *   {"title": "…", "text": "…", "folder": "…"}
 * Title and text are edited with the built-in mutator kedge.text, which merges what two copies
 * write at the same time. */
#ifndef NOTES_MUTATORS_H
#define NOTES_MUTATORS_H

#include <kedge/mutator.h>

#define NOTES_COLLECTION  "notes"
#define NOTES_ID_SIZE     33
#define NOTES_TITLE_SIZE  257
#define NOTES_TEXT_SIZE   65537
#define NOTES_FOLDER_SIZE 65

/* notes.add {id, title, text, folder}; notes.move {id, folder}; notes.delete {id}. */
extern const kedge_mutator notes_mutators[];
extern const size_t notes_mutator_count;

#endif
