/* kill -9 on a writing and syncing app, at every point of no return, with a real server and a real
 * disk.
 *
 *   main.c    the killer: runs writers until each phase was hit often enough, then lets one finish,
 * and checks that every acknowledged edit arrived exactly once writer.c  the victim: edits and
 * syncs, tells each acknowledged edit through a pipe, and is killed with SIGKILL when it comes to a
 * given phase for the n-th time */
#ifndef KEDGE_TESTS_KILL9_H
#define KEDGE_TESTS_KILL9_H

#include <kedge/kedge.h>

#define KILL9_ORGANIZATION "test"
#define KILL9_PROJECT      "kill9"

/* Between the leaving of a push and the pull after it: the killer strikes from outside. */
#define KILL9_IN_FLIGHT "push-in-flight"

typedef struct kill9_writer {
    const char *folder;
    const char *url;
    const char *phase; /* NULL: run to the end and sync */
    long nth;
    long first_token; /* edits are named by it, first_token + 1, … */
    long edits;
    int report; /* where acknowledged tokens go, one line each */
} kill9_writer;

/* Exit code 0: all edits made (and, without a phase, synced). */
int kill9_write(const kill9_writer *writer);

/* The edits of odd numbers divisible by 5 name a mutator that only the client has: the server
 * rejects them. */
bool kill9_is_rejected(long token);
extern const kedge_mutator kill9_mutators[1];

#endif
