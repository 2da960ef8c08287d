/* The list of running callbacks, which is short: one for each thread of the app's dispatcher. */
#include "sdk/runtime/callbacks.h"

#include <stddef.h>

void kedge_callbacks_init(kedge_callbacks *callbacks)
{
    pthread_mutex_init(&callbacks->lock, NULL);
    pthread_cond_init(&callbacks->ended, NULL);
    callbacks->running = NULL;
}

void kedge_callbacks_destroy(kedge_callbacks *callbacks)
{
    pthread_cond_destroy(&callbacks->ended);
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
    if (callbacks->running == NULL) pthread_cond_broadcast(&callbacks->ended);
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

void kedge_callbacks_wait(kedge_callbacks *callbacks)
{
    pthread_mutex_lock(&callbacks->lock);
    while (callbacks->running != NULL) {
        pthread_cond_wait(&callbacks->ended, &callbacks->lock);
    }
    pthread_mutex_unlock(&callbacks->lock);
}
