/* The caller-driven mode: Kedge starts no thread, and the app's event loop does the work.
 *
 * Open the database with the option `caller_driven`. Then call kedge_loop_run again and again: each
 * time that the descriptor is readable, and when the time is over that the last call gave:
 *
 *   struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
 *   int32_t wait_ms = 0;
 *   while (kedge_loop_run(db, &wait_ms, &error) == KEDGE_OK && app_goes_on())
 *       poll(&set, 1, wait_ms);
 *
 * kedge_loop_run does everything that the worker thread does otherwise: requests and their
 * responses, watches and all other callbacks (unless the app has a dispatcher), maintenance. It
 * never waits for the network. But it writes to the disk, so a large pull may take seconds.
 *
 * Only one thread at a time can run the loop. kedge_sync, kedge_wait and kedge_history block as
 * they do otherwise, and run the loop while they wait, unless another thread runs it. Callbacks
 * then run on the thread that waits, and kedge_loop_run returns KEDGE_BUSY on any other one. The
 * descriptor may stay readable meanwhile. So after KEDGE_BUSY an app does not poll the descriptor,
 * and calls kedge_loop_run again after some milliseconds. libcurl may use a thread of its own to
 * look up a host name.
 *
 * The mode needs Linux (epoll). Elsewhere kedge_open returns KEDGE_UNSUPPORTED
 * "descriptor-unsupported". */
#ifndef KEDGE_LOOP_H
#define KEDGE_LOOP_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Does what is due and returns without waiting for the network. `*wait_ms` (`wait_ms` may be NULL)
 * is the time in milliseconds, from 0 to a minute, after which kedge_loop_run must be called again
 * at the latest, also when the descriptor did not become readable. Other functions of the database
 * make the descriptor readable when they leave work for the loop. Any thread. Errors:
 * KEDGE_INVALID_ARGUMENT "not-caller-driven", and "called-back" in a callback of the database or a
 * mutator; KEDGE_BUSY "loop-runs" while another thread runs the loop. */
KEDGE_API kedge_status kedge_loop_run(kedge_db *db, int32_t *KEDGE_NULLABLE wait_ms,
                                      kedge_error *KEDGE_NULLABLE error);

/* Returns a file descriptor that is readable (POLLIN) when kedge_loop_run has something to do. It
 * stays the same until kedge_close, and belongs to the database: do not read from it or close it.
 * -1 when the database is not caller-driven. Any thread. */
KEDGE_API int kedge_loop_descriptor(const kedge_db *db);

KEDGE_END_DECLS

#endif
