/* Fields that take over another text while somebody types in them. */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include <gtk/gtk.h>

/* The buffer's text becomes `text`, changed only where it differs. The cursor and the selection
 * stay at the words where they were. */
void live_text_update(GtkTextBuffer *buffer, const char *text);
/* The same for a line. */
void live_line_update(GtkEditable *line, const char *text);
/* All of the buffer's text. Free it with g_free. */
char *live_text_of(GtkTextBuffer *buffer);

#endif
