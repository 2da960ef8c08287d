/* Structured logs: one JSON object a line, on a file descriptor. Any thread.
 *
 * Nothing secret is logged: no header, no query (which may hold a ticket), no body. */
#ifndef KEDGE_BACKEND_FRONT_LOG_H
#define KEDGE_BACKEND_FRONT_LOG_H

#include "common/environment.h"
#include "common/json.h"

typedef enum kedge_log_level {
    KEDGE_LOG_ERROR,
    KEDGE_LOG_WARNING,
    KEDGE_LOG_INFO,
    KEDGE_LOG_DEBUG
} kedge_log_level;

typedef struct kedge_log {
    const kedge_environment *environment;
    int file;
    kedge_log_level level;
} kedge_log;

/* One of "error", "warning", "info", "debug". */
bool kedge_log_level_of(const char *name, kedge_log_level *level);

/* Writes {"time":…,"level":…,"event":…, …}. The fields come as pairs of name and text, ended by
 * NULL. */
void kedge_log_write(kedge_log *log, kedge_log_level level, const char *event, ...)
    __attribute__((sentinel));

/* A line of fields of any kind: begin, write members with `json`, end. A line below the log's level
 * is not begun (false). */
typedef struct kedge_log_line {
    kedge_log *log;
    kedge_buffer text;
    kedge_json_writer json;
} kedge_log_line;

bool kedge_log_begin(kedge_log_line *line, kedge_log *log, kedge_log_level level,
                     const char *event);
void kedge_log_end(kedge_log_line *line);

#endif
