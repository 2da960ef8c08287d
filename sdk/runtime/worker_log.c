/* Tells the app's log what the worker does; kedge/log.h lists the events. */
#include "sdk/runtime/worker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 512

bool kedge_log_takes(const kedge_db *db, kedge_log_level level)
{
    return db->log.function != NULL && level <= db->log.level;
}

void kedge_log_write(const kedge_db *db, kedge_log_level level, const char *event,
                     const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list values;
    if (!kedge_log_takes(db, level)) return;
    va_start(values, format);
    (void)vsnprintf(message, sizeof message, format, values);
    va_end(values);
    db->log.function(db->userdata, level, event, message);
}

void kedge_log_request(const kedge_db *db, const kedge_driver_request *request)
{
    const char *cause = db->worker.cause == NULL ? "start" : db->worker.cause;
    /* A path to elsewhere may carry a grant in its query, so it is left out. */
    kedge_log_write(db, KEDGE_LOG_DEBUG, "request", "%" PRIu64 ": %s %s, %zu bytes (%s)",
                    request->number, request->method, request->path, request->body.size, cause);
}

void kedge_log_response(const kedge_db *db, const kedge_driver_response *response)
{
    kedge_error error = response->error;
    bool failed = response->status == 0 || response->status >= 400;
    if (failed && kedge_log_takes(db, KEDGE_LOG_WARNING)) {
        if (response->status != 0)
            kedge_net_problem(db->environment.allocator, response->status, response->content_type,
                              response->body, &error);
        kedge_log_write(db, KEDGE_LOG_WARNING, "request-failed", "%" PRIu64 ": status %d, %s (%s)",
                        response->number, response->status, error.message, error.code);
    }
    if (failed) return;
    kedge_log_write(db, KEDGE_LOG_DEBUG, "response", "%" PRIu64 ": status %d, %zu bytes",
                    response->number, response->status, response->body.size);
}

/* ---- what has changed since the last round ---- */

static void log_connection(kedge_db *db, kedge_connection connection, const kedge_error *why)
{
    static const char names[][11] = {"offline", "follower", "connecting", "online", "stopped"};
    kedge_log_state *told = &db->worker.told;
    if (told->connection == connection && strcmp(told->code, why->code) == 0) return;
    told->connection = connection;
    snprintf(told->code, sizeof told->code, "%s", why->code);
    if (db->worker.store_refused)
        kedge_log_write(db, KEDGE_LOG_ERROR, "outbox-damaged", "%s", why->message);
    else if (db->worker.token_refused)
        kedge_log_write(db, KEDGE_LOG_WARNING, "token-refused", "%s", why->message);
    if (why->status == KEDGE_OK) {
        kedge_log_write(db, KEDGE_LOG_INFO, "connection", "%s", names[connection]);
    } else {
        kedge_log_write(db, KEDGE_LOG_INFO, "connection", "%s: %s (%s)", names[connection],
                        why->message, why->code);
    }
}

static void log_position(kedge_db *db)
{
    kedge_store_position now;
    kedge_store_position *told = &db->worker.told.position;
    if (kedge_store_position_get(db->store, &now, NULL) != KEDGE_OK) return;
    if (db->worker.told.known) {
        if (now.version > told->version)
            kedge_log_write(db, KEDGE_LOG_INFO, "pulled",
                            "version %" PRId64 " after %" PRId64 "; %" PRId64 " edits are pending",
                            now.version, told->version, now.pending);
        if (now.rejected > told->rejected)
            kedge_log_write(db, KEDGE_LOG_WARNING, "edits-rejected",
                            "%" PRId64 " edits are in the inbox, %" PRId64 " before", now.rejected,
                            told->rejected);
        if (now.unrecovered > told->unrecovered)
            kedge_log_write(db, KEDGE_LOG_WARNING, "edits-unrecovered",
                            "%" PRId64 " edits are lost, %" PRId64 " before", now.unrecovered,
                            told->unrecovered);
        if (now.resyncing && !told->resyncing && told->version > 0)
            kedge_log_write(db, KEDGE_LOG_WARNING, "cache-resync",
                            "the state is fetched again; %" PRId64 " edits are pending",
                            now.pending);
        if (strcmp(now.client, told->client) != 0)
            kedge_log_write(db, KEDGE_LOG_WARNING, "client-changed", "%s after %s", now.client,
                            told->client);
    }
    *told = now;
    db->worker.told.known = true;
}

void kedge_log_round(kedge_db *db, bool stirred, kedge_connection connection,
                     const kedge_error *error)
{
    if (!kedge_log_takes(db, KEDGE_LOG_ERROR)) return;
    bool position = stirred || !db->worker.told.known;
    if (position && kedge_log_takes(db, KEDGE_LOG_WARNING)) log_position(db);
    log_connection(db, connection, error);
}
