/* The page of conflicts: each with what is mine, what is theirs, and three buttons. */
#ifndef INBOX_H
#define INBOX_H

#include "desktop.h"

inbox *inbox_new(desktop *app);
/* After the window is gone. */
void inbox_free(inbox *box);
GtkWidget *inbox_widget(inbox *box);
/* The button for the header bar, with the number of conflicts. */
GtkWidget *inbox_button(inbox *box);
/* Shows what is in the inbox now. */
void inbox_refresh(inbox *box);
/* Keeps a note that was deleted, as JSON, in case an edit of it is rejected. */
void inbox_remember(inbox *box, const char *id, const char *json);

#endif
