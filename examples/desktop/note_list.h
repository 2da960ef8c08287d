/* The list of notes, by folder. */
#ifndef NOTE_LIST_H
#define NOTE_LIST_H

#include "desktop.h"

/* Starts the watch of the query; note_list_stop ends it. */
note_list *note_list_new(desktop *app);
/* Ends the watch and takes nothing more from its widgets, which go with the window. */
void note_list_stop(note_list *list);
/* After the window is gone. */
void note_list_free(note_list *list);
GtkWidget *note_list_widget(note_list *list);

/* Selects the note of an id, also one that the query has not told yet; NULL: none. Does not open
 * it. */
void note_list_select(note_list *list, const char *id);
/* Shows the marks of marks_read. */
void note_list_mark(note_list *list, GHashTable *marks);
/* Puts the keyboard into the list. */
void note_list_focus(note_list *list);

#endif
