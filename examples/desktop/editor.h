/* The open note: title, folder and text. */
#ifndef EDITOR_H
#define EDITOR_H

#include "desktop.h"
#include "edits.h"

/* How long nobody types before what was typed becomes an edit. */
#define EDITOR_PAUSE_MS 500

/* Starts the watch of the notes; editor_stop ends it. */
editor *editor_new(desktop *app);
/* Ends the watch and takes nothing more from its widgets, which go with the window. */
void editor_stop(editor *open);
/* After the window is gone. */
void editor_free(editor *open);
GtkWidget *editor_widget(editor *open);

/* Shows the note of an id, or the page for none with NULL. Call editor_commit first. */
void editor_show(editor *open, const char *id);
/* The id of the open note, "" for none. Borrowed. */
const char *editor_note(const editor *open);
/* Makes edits of what was typed since the last one. False when one fails: then what was typed stays
 * in the fields, and the user was told. */
bool editor_commit(editor *open);
/* Shows the note as it was, to be read only; what `text_before` lacks stands out. Until
 * editor_show_present nothing is typed, and nothing that others write is shown. */
void editor_show_past(editor *open, const note *past, const char *text_before);
void editor_show_present(editor *open);
/* Shows the marks of marks_read. */
void editor_mark(editor *open, GHashTable *marks);
/* Puts the keyboard into the title, with all of it selected, or into the text. */
void editor_focus_title(editor *open);
void editor_focus_text(editor *open);

#endif
