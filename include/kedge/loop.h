/* The caller-driven mode: Kedge starts no thread, and the app's event loop does the work.
 *
 * Open the database with the option `caller_driven`. Then wait until kedge_loop_descriptor can be
 * read or the time that kedge_loop_run gave has passed, call kedge_loop_run, and so on:
 *
 *   struct pollfd set = {.fd = kedge_loop_descriptor(db), .events = POLLIN};
 *   int32_t wait_ms = 0;
 *   while (kedge_loop_run(db, &wait_ms, &error) == KEDGE_OK && app_goes_on())
 *       poll(&set, 1, wait_ms);
 *
 * kedge_loop_run does everything that the worker thread does otherwise: requests and their
 * responses, watches and all other callbacks (unless the app has a dispatcher), maintenance. It
 * never waits for the network. But it writes to the disk, so that a large pull may take seconds.
 *
 * One thread at a time can be in the loop. kedge_sync, kedge_wait and kedge_history block as they
 * do otherwise, and run the loop while they wait, unless another thread does. Callbacks then run on
 * their thread, and kedge_loop_run returns KEDGE_BUSY: an app whose other threads wait goes on
 * then, and looks again after some milliseconds, not at the descriptor. libcurl may use a
 * thread of its own to look up a host name. */
#ifndef KEDGE_LOOP_H
#define KEDGE_LOOP_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Does what is due and returns without waiting. `*wait_ms` (may be NULL): call it again after so
 * many milliseconds at the latest, from 0 to a minute, also when the descriptor could not be read.
 * Call it again, too, after any other function of the database was called: the descriptor
 * can be read then. Errors: KEDGE_INVALID_ARGUMENT "not-caller-driven", and "called-back" in a
 * callback of the database; KEDGE_BUSY "loop-runs" while another thread runs it. */
KEDGE_API kedge_status kedge_loop_run(kedge_db *db, int32_t *KEDGE_NULLABLE wait_ms,
                                      kedge_error *KEDGE_NULLABLE error);

/* The descriptor: it can be read (POLLIN) when kedge_loop_run has something to do. It is the same
 * until kedge_close and belongs to the database: do not read from it or close it. -1 when the
 * database is not caller-driven. */
KEDGE_API int kedge_loop_descriptor(const kedge_db *db);

KEDGE_END_DECLS

#endif
