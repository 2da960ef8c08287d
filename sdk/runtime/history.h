/* Versions asked of the server: the app's thread waits, the worker does the request. */
#ifndef KEDGE_SDK_RUNTIME_HISTORY_H
#define KEDGE_SDK_RUNTIME_HISTORY_H

#include "http/http.h"
#include <kedge/sync.h>

typedef struct kedge_history_call kedge_history_call;

/* On the waiting thread's stack. All but `over` is the worker's from when it was queued to when it
 * is over; `over` is guarded by the database's lock. */
struct kedge_history_call {
    kedge_db *db;
    kedge_history_call *next;
    int64_t before;
    int32_t limit;
    int64_t deadline_ms; /* monotonic; 0: none but the request's own */
    uint64_t token_asks; /* as the token had them with which it was sent */
    bool token_renewed;
    kedge_http_call *http_call;
    kedge_buffer versions;
    kedge_status status;
    kedge_error error;
    bool over;
};

/* The server's response as kedge_history gives it. KEDGE_PROTOCOL: it is none. KEDGE_NO_MEMORY. */
kedge_status kedge_history_reshape(kedge_bytes body, kedge_buffer *versions, kedge_error *error);

#endif
