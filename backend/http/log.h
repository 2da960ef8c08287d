/* Structured logs: one JSON object a line, on a file descriptor. Any thread. */
#ifndef KEDGE_BACKEND_HTTP_LOG_H
#define KEDGE_BACKEND_HTTP_LOG_H

#include "common/environment.h"

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

/* Writes {"time":…,"level":…,"event":…, …}. The fields come as pairs of name and text, ended by
 * NULL. */
void kedge_log_write(kedge_log *log, kedge_log_level level, const char *event, ...)
    __attribute__((sentinel));

#endif
