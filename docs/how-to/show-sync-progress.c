/* How far a sync is, for a progress bar. */
#include <kedge/kedge.h>

/* One for each database. Only the callback uses it. */
typedef struct sync_progress {
    void (*show)(void *bar, int64_t done, int64_t total); /* 0, 0: everything is decided */
    void *bar;
    int64_t pending; /* when the callback ran last */
    int64_t total;   /* all edits since none were pending */
} sync_progress;

void show_progress(void *userdata, const kedge_sync_status *status);

/* The callback of kedge_watch_sync_status; `userdata` is a sync_progress. */
void show_progress(void *userdata, const kedge_sync_status *status)
{
    sync_progress *self = userdata;
    if (status->pending > self->pending) self->total += status->pending - self->pending;
    if (status->pending == 0) self->total = 0;
    self->pending = status->pending;
    self->show(self->bar, self->total - self->pending, self->total);
}
