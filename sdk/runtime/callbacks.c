/* The list of running callbacks, which is short: one for each thread of the app's dispatcher. */
#include "sdk/runtime/callbacks.h"

#include <stddef.h>

void kedge_callbacks_init(kedge_callbacks *callbacks)
{
    pthread_mutex_init(&callbacks->lock, NULL);
    callbacks->running = NULL;
}

void kedge_callbacks_destroy(kedge_callbacks *callbacks)
{
    pthread_mutex_destroy(&callbacks->lock);
}

void kedge_callbacks_enter(kedge_callbacks *callbacks, kedge_callback_frame *frame)
{
    frame->thread = pthread_self();
    pthread_mutex_lock(&callbacks->lock);
    frame->next = callbacks->running;
    callbacks->running = frame;
    pthread_mutex_unlock(&callbacks->lock);
}

void kedge_callbacks_leave(kedge_callbacks *callbacks, kedge_callback_frame *frame)
{
    pthread_mutex_lock(&callbacks->lock);
    kedge_callback_frame **place = &callbacks->running;
    while (*place != frame) {
        place = &(*place)->next;
    }
    *place = frame->next;
    pthread_mutex_unlock(&callbacks->lock);
}

bool kedge_callbacks_run_here(kedge_callbacks *callbacks)
{
    bool here = false;
    pthread_mutex_lock(&callbacks->lock);
    for (kedge_callback_frame *frame = callbacks->running; frame != NULL; frame = frame->next) {
        here = here || pthread_equal(frame->thread, pthread_self());
    }
    pthread_mutex_unlock(&callbacks->lock);
    return here;
}
