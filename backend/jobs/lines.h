/* The output of a job while it runs: one JSON object a line. */
#ifndef KEDGE_BACKEND_JOBS_LINES_H
#define KEDGE_BACKEND_JOBS_LINES_H

#include "common/json.h"

typedef struct kedge_lines {
    /* Takes a whole line, without its end; borrowed during the call. A failure ends the job. */
    kedge_status (*take)(void *context, kedge_bytes line, kedge_error *error);
    void *context;
} kedge_lines;

/* Hands a finished text on and empties the buffer. */
kedge_status kedge_lines_put(const kedge_lines *lines, kedge_buffer *text, kedge_error *error);

#endif
