/* Which threads are in a callback of this database now. Closing the database waits until none is: a
 * thread that is in one itself must not close it. */
#ifndef KEDGE_SDK_RUNTIME_CALLBACKS_H
#define KEDGE_SDK_RUNTIME_CALLBACKS_H

#include <pthread.h>
#include <stdbool.h>

/* On the stack of the thread that calls back. */
typedef struct kedge_callback_frame {
    pthread_t thread;
    struct kedge_callback_frame *next;
} kedge_callback_frame;

typedef struct kedge_callbacks {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    kedge_callback_frame *running;
} kedge_callbacks;

void kedge_callbacks_init(kedge_callbacks *callbacks);
void kedge_callbacks_destroy(kedge_callbacks *callbacks);
void kedge_callbacks_enter(kedge_callbacks *callbacks, kedge_callback_frame *frame);
void kedge_callbacks_leave(kedge_callbacks *callbacks, kedge_callback_frame *frame);
/* Whether the calling thread is in a callback. */
bool kedge_callbacks_run_here(kedge_callbacks *callbacks);
/* Waits until none runs. The callback itself may have freed its watch, so the end of the watches is
 * not enough. */
void kedge_callbacks_wait(kedge_callbacks *callbacks);

#endif
