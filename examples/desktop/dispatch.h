/* The dispatcher: libkedge's callbacks run in GLib's main loop, on the thread of the window. */
#ifndef DISPATCH_H
#define DISPATCH_H

#include <kedge/kedge.h>

/* For kedge_options.dispatch. Any thread may call it. The work runs in the default main loop, one
 * after the other, and never inside of the call that gave it. */
void dispatch_to_main_loop(void *userdata, void (*work)(void *argument), void *argument);

/* Runs what is still there. Call it after kedge_close, when the main loop has ended: each piece of
 * work must run once. */
void dispatch_finish(void);

#endif
