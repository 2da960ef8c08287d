/* A call of kedge_history: the app's thread waits, and the worker sends the request. */
#ifndef KEDGE_SDK_RUNTIME_HISTORY_H
#define KEDGE_SDK_RUNTIME_HISTORY_H

#include "http/http.h"
#include <kedge/sync.h>

typedef struct kedge_history_call kedge_history_call;

/* `over` and `given_up` are guarded by the database's lock. All other members belong to the worker,
 * from the moment at which it takes the call until the call is over. The thread that waits frees
 * the call; when it has given the call up, the worker does. */
struct kedge_history_call {
    kedge_db *db;
    kedge_history_call *next;
    int64_t before;
    int32_t limit;
    int64_t deadline_ms;  /* monotonic; 0: none but the request's own */
    uint64_t token_gifts; /* as the token had them with which it was sent */
    bool token_renewed;
    kedge_http_call *http_call;
    kedge_buffer versions;
    kedge_status status;
    kedge_error error;
    bool over;
    bool given_up;
};

void kedge_history_free(kedge_history_call *call);
/* Takes the call out of the list; false: it is not in there. */
bool kedge_history_unlink(kedge_history_call **list, const kedge_history_call *call);

/* Appends the versions in the server's response, in the form in which kedge_history gives them.
 * KEDGE_PROTOCOL when `body` is no such response; KEDGE_NO_MEMORY. */
kedge_status kedge_history_reshape(kedge_bytes body, kedge_buffer *versions, kedge_error *error);

#endif
