/* The past of the open note: a slider over its versions, below the text. */
#ifndef HISTORY_H
#define HISTORY_H

#include "desktop.h"

history *history_new(desktop *app);
/* Wants nothing more of what is still being read. */
void history_stop(history *past);
/* After the window is gone and the database is closed: waits for what was still being read. */
void history_free(history *past);
GtkWidget *history_widget(history *past);

/* Opens the slider for the note that the editor shows. */
void history_open(history *past);
/* Closes it; the editor shows the present again. Nothing happens when it is closed. */
void history_close(history *past);
bool history_is_open(const history *past);
/* The shown version becomes the present, by one edit. */
void history_restore(history *past);

#endif
