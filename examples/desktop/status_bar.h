/* The state of sync below the list, and the switch for it. */
#ifndef STATUS_BAR_H
#define STATUS_BAR_H

#include "desktop.h"

/* Starts the watch of the status; status_bar_stop ends it. */
status_bar *status_bar_new(desktop *app);
/* Ends the watch and takes nothing more from its widgets, which go with the window. */
void status_bar_stop(status_bar *bar);
/* After the window is gone. */
void status_bar_free(status_bar *bar);
GtkWidget *status_bar_widget(status_bar *bar);
/* Offline when it is online, and the other way round. */
void status_bar_toggle(status_bar *bar);

#endif
