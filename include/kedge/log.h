/* The log of a database: a function of the app gets a line for each event (the options `log` and
 * `log_level`). */
#ifndef KEDGE_LOG_H
#define KEDGE_LOG_H

#include <kedge/base.h>

KEDGE_BEGIN_DECLS

typedef enum kedge_log_level {
    KEDGE_LOG_ERROR = 0,
    KEDGE_LOG_WARNING = 1,
    KEDGE_LOG_INFO = 2,
    KEDGE_LOG_DEBUG = 3
} kedge_log_level;

/* `event` is stable and for programs; `message` is an English text for people, and may change. Both
 * are borrowed during the call. No line has a token, args or a value of an item. Kedge calls the
 * function on the worker thread, or on the thread that runs the loop (kedge/loop.h), one line at a
 * time. The function may call what a callback of kedge_watch may call.
 *
 *   error    outbox-damaged     outbox.db is damaged: sync has stopped
 *   warning  request-failed     a request had no response, or one with a status from 400 on
 *            token-refused      the app's token function gave none
 *            cache-resync       the whole state is fetched: this copy is far behind, its cache was
 *                               damaged and set aside, or the backend was restored from a backup
 *            edits-rejected     edits came into the inbox
 *            edits-unrecovered  edits are lost (kedge_sync_status.unrecovered has risen)
 *            client-changed     the folder has a new client id
 *   info     started, stopped   the worker thread
 *            connection         the connection has changed: its new name
 *            pulled             a newer version was pulled
 *            project-created    by the option create_project
 *   debug    request, response  number, method, path and bytes; the number, status and bytes. A
 *                               request names its cause in brackets: an edit, a poke, a timer, a
 *                               wait for a sync, a response, a token, going online, the stream
 *            stream             the event stream, by which the server tells of versions, is open or
 *                               closed, and why
 *            poke               the server has told of a version
 *            token-asked        the app's token function is called */
typedef void (*kedge_log_function)(void *KEDGE_NULLABLE userdata, kedge_log_level level,
                                   const char *event, const char *message);

KEDGE_END_DECLS

#endif
