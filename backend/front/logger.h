/* Structured logs: one JSON object a line, on a file descriptor. Any thread.
 *
 * Nothing secret is logged: no header, no query (which may hold a ticket), no body. */
#ifndef KEDGE_BACKEND_FRONT_LOGGER_H
#define KEDGE_BACKEND_FRONT_LOGGER_H

#include "backend/front/allowance.h"
#include "common/environment.h"
#include "common/json.h"

typedef enum kedge_logger_level {
    KEDGE_LOGGER_ERROR,
    KEDGE_LOGGER_WARNING,
    KEDGE_LOGGER_INFO,
    KEDGE_LOGGER_DEBUG
} kedge_logger_level;

typedef struct kedge_logger {
    const kedge_environment *environment;
    int file;
    kedge_logger_level level;
    kedge_allowance missing;  /* of lines `mutator-missing`; from {0} on */
    kedge_allowance exceeded; /* of lines `budget-exceeded`; likewise */
} kedge_logger;

/* One of "error", "warning", "info", "debug". */
bool kedge_logger_level_of(const char *name, kedge_logger_level *level);

/* Writes {"time":…,"level":…,"event":…, …}. The fields come as pairs of name and text, ended by
 * NULL. */
void kedge_logger_write(kedge_logger *log, kedge_logger_level level, const char *event, ...)
    __attribute__((sentinel));

/* A line of fields of any kind: begin, write members with `json`, end. A line below the log's level
 * is not begun (false). */
typedef struct kedge_logger_line {
    kedge_logger *log;
    kedge_buffer text;
    kedge_json_writer json;
} kedge_logger_line;

bool kedge_logger_begin(kedge_logger_line *line, kedge_logger *log, kedge_logger_level level,
                        const char *event);
/* Adds texts as kedge_logger_write has them. */
void kedge_logger_texts(kedge_logger_line *line, ...) __attribute__((sentinel));
void kedge_logger_end(kedge_logger_line *line);

#endif
