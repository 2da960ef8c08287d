/* Hands libkedge's callbacks to GLib's main loop: each becomes an idle source with the priority of
 * input, so that redrawing does not delay it. */
#include "dispatch.h"

#include <glib.h>

typedef struct job {
    void (*work)(void *argument);
    void *argument;
} job;

static gboolean run(gpointer data)
{
    const job *due = data;
    due->work(due->argument);
    return G_SOURCE_REMOVE;
}

/* g_main_context_invoke would be shorter, but on the main thread it runs the work at once, inside
 * of whatever the app is doing. */
void dispatch_to_main_loop(void *userdata, void (*work)(void *argument), void *argument)
{
    (void)userdata;
    job *due = g_new(job, 1);
    *due = (job){work, argument};
    g_idle_add_full(G_PRIORITY_DEFAULT, run, due, g_free);
}

void dispatch_finish(void)
{
    while (g_main_context_iteration(NULL, FALSE)) {
    }
}
