/* The window: its header bar, its panes and its commands. */
#ifndef WINDOW_H
#define WINDOW_H

#include "desktop.h"

/* A button with a symbolic icon that runs a command of the window. */
GtkWidget *window_icon_button(const char *icon, const char *tooltip, const char *command);
/* A page that says that there is nothing, and what to do. */
GtkWidget *window_empty_page(const char *icon, const char *heading, const char *hint);

#endif
