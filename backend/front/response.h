/* What every front end adds to a response: its headers, and its line in the log. */
#ifndef KEDGE_BACKEND_FRONT_RESPONSE_H
#define KEDGE_BACKEND_FRONT_RESPONSE_H

#include "backend/api/api.h"
#include "backend/front/logger.h"
#include "backend/front/origins.h"

typedef void (*kedge_header_function)(void *context, const char *name, const char *value);

/* The headers of any response. */
void kedge_response_headers(const kedge_api_response *response, kedge_header_function add,
                            void *context);
/* The headers of CORS. Errors have them, too: a page cannot read a response without. `origin` is
 * the request's header, or NULL. */
void kedge_response_cors(const kedge_cors_origins *origins, const char *origin, const char *method,
                         kedge_header_function add, void *context);

/* Kedge-Cost: what the response would cost on AWS, as in the log. */
void kedge_response_cost(const kedge_api_response *response, const kedge_allocator *allocator,
                         kedge_header_function add, void *context);

/* One line a request. */
typedef struct kedge_response_line {
    kedge_logger_level level; /* unless the request failed */
    const char *method;
    kedge_bytes path; /* without the query, which may hold a ticket */
    const kedge_api_response *response;
    int64_t took_us;
    size_t received_bytes;
    size_t response_bytes;
    bool cut; /* not all of the response was sent */
} kedge_response_line;

void kedge_response_log(kedge_logger *log, const kedge_response_line *exchanged);

#endif
