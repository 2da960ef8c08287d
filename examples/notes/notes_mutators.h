/* The mutators of the notes app: one copy, linked into the app and into the plugin for the server.
 *
 * Collection `notes`, one item a note:
 *   {"title": "…", "text": "…", "folder": "…", "kept": [{"by": client, "field": "…", "value": "…"},
 * …]} `kept` holds what a later edit of the same field, made without knowledge of it, has covered:
 * nothing that anybody wrote goes away unseen. */
#ifndef NOTES_MUTATORS_H
#define NOTES_MUTATORS_H

#include <kedge/mutator.h>

#define NOTES_COLLECTION  "notes"
#define NOTES_ID_SIZE     33
#define NOTES_TITLE_SIZE  257
#define NOTES_TEXT_SIZE   65537
#define NOTES_FOLDER_SIZE 65
#define NOTES_KEPT_MAX    8

/* notes.add {id, title, text, folder}; notes.edit {id, field, value, was}; notes.move {id, folder};
 * notes.delete {id}; notes.settle {id}: forget what was kept. */
extern const kedge_mutator notes_mutators[];
extern const size_t notes_mutator_count;

#endif
