/* One request and its response.
 *
 *   new        the epoll thread checks the head, the token and the budgets; a refusal ends here
 *   at door    the door's thread checks a token that is not known; the connection is suspended
 *   checked    resumed: the epoll thread goes on with the budgets
 *   reading    the epoll thread collects the body, up to the limit
 *   working    a worker runs it; the connection is suspended
 *   responded  resumed: the epoll thread sends the response. Of one that is made in parts (parts.c)
 *              it sends what there is, and the exchange works again for the next part
 *
 * An exchange is made with the request's first line and freed when the response was sent or the
 * connection broke. */
#ifndef KEDGE_BACKEND_HTTP_EXCHANGE_H
#define KEDGE_BACKEND_HTTP_EXCHANGE_H

#include "backend/http/budgets.h"
#include "backend/http/connections.h"
#include "backend/http/server.h"

#include <microhttpd.h>

typedef enum kedge_exchange_state {
    KEDGE_EXCHANGE_NEW,
    KEDGE_EXCHANGE_AT_DOOR,
    KEDGE_EXCHANGE_CHECKED,
    KEDGE_EXCHANGE_READING,
    KEDGE_EXCHANGE_WORKING,
    KEDGE_EXCHANGE_RESPONDED
} kedge_exchange_state;

#define KEDGE_REQUEST_ID_SIZE 33 /* 32 digits and a NUL */

/* Held for the response before the work begins. So a request that changes something is refused
 * before it changes it. The response to a rebase or a retirement may be larger; both may be sent
 * again. */
#define KEDGE_EXCHANGE_RESPONSE_BYTES 1024

typedef struct kedge_door kedge_door;

/* What all exchanges of a server share. */
typedef struct kedge_exchange_context {
    const kedge_environment *environment;
    _Atomic(kedge_backend *) backend; /* NULL until it serves */
    kedge_auth *auth;
    kedge_cors_origins *origins;
    kedge_logger *log;
    kedge_audit *audit; /* NULL: none */
    bool behind_proxy;  /* whose header X-Forwarded-For names the peer */
    void (*write_metrics)(void *context, kedge_buffer *out);
    void *write_metrics_context;
    bool cost_header;
    kedge_metrics metrics;
    kedge_workers *workers;
    kedge_door *door;
    kedge_events *events;
    kedge_tickets *tickets;
    kedge_connections *connections;
    kedge_budgets *budgets;
    int64_t request_timeout_ms;
    unsigned unacknowledged_ms; /* a peer that acknowledges no data for so long counts as gone */
    atomic_bool stopping;
    atomic_int_fast64_t running; /* exchanges that live */
} kedge_exchange_context;

/* A response that is made in parts. */
typedef struct kedge_parts {
    bool used;
    bool awaited; /* a worker has it, or had it until now */
    bool failed;  /* the next part: the connection is cut */
    bool ended;   /* all is sent */
    size_t sent;  /* of this part */
    size_t made_bytes;
} kedge_parts;

typedef struct kedge_exchange {
    kedge_exchange_context *context;
    struct MHD_Connection *connection;
    _Atomic(kedge_exchange_state) state;
    char *target;    /* path and query, still percent-encoded */
    char method[16]; /* cut to fit: no method that is known is as long */
    kedge_buffer body;
    /* Bytes of the body, or of the response, that are counted: in metrics.held_bytes, unless they
     * are few, and in the account. */
    size_t held_bytes;
    size_t owned_bytes;
    size_t received;
    bool truncated;
    bool overloaded;
    bool refused;     /* with its head: the response says so, and the body is dropped */
    bool closes;      /* no other request is read from the connection */
    bool decoded;     /* the body's content coding is removed */
    bool takes_parts; /* the peer sees where a response without a length ends */
    bool recognized;  /* the door has found its token good */
    struct kedge_exchange *behind; /* at the door */
    bool guest; /* the connection counts as a stranger's, although there is an account */
    kedge_budget_refusal guest_refusal; /* of `guest`: why */
    kedge_auth_result *who;       /* NULL: needs no token; gone when the workers are done with it */
    kedge_budget_account account; /* whose budgets it is counted in */
    /* Of `overloaded`: the budget that is used up. Without a name: the server's memory is, or the
     * server stops. */
    kedge_budget_refusal refusal;
    kedge_server_connection *peer;
    int64_t end_ms; /* monotonic: by when the response must be ready */
    int64_t started_us;
    char request_id[KEDGE_REQUEST_ID_SIZE]; /* of one that the audit log has; otherwise "" */
    kedge_api_response response;
    kedge_api_response
        before; /* of the last slice, when that was not the only one; status 0: none */
    kedge_parts parts;
    kedge_event_stream *stream; /* the response is an event stream */
} kedge_exchange;

/* NULL: no memory. */
kedge_exchange *kedge_exchange_new(kedge_exchange_context *context, const char *target);
void kedge_exchange_free(kedge_exchange *exchange);

/* The daemon's access handler for an exchange: called with the head, with each piece of the body,
 * at its end, and again when the connection is resumed. */
enum MHD_Result kedge_exchange_step(kedge_exchange *exchange, struct MHD_Connection *connection,
                                    const char *method, const char *upload, size_t *upload_size);

/* The connection was opened, or its last request completed: the next one may come. */
void kedge_exchange_await_next(kedge_exchange_context *context, struct MHD_Connection *connection);

/* ---- its end (exchange_end.c) ---- */

/* The system's clock, since it is measured and nothing depends on it. */
int64_t kedge_exchange_now_us(void);
/* Whether the exchange may hold `size` bytes in all; it holds nothing when not. Small ones count in
 * the account alone. */
bool kedge_exchange_hold(kedge_exchange *exchange, size_t size);
/* It holds at most `size` bytes from now on. */
void kedge_exchange_hold_at_most(kedge_exchange *exchange, size_t size);
void kedge_exchange_let_go(kedge_exchange *exchange);
void kedge_exchange_forget_who(kedge_exchange *exchange);
/* The response stands ready. */
void kedge_exchange_finish(kedge_exchange *exchange);
/* The response is a refusal: the exchange may not hold as much, or the server stops; too many
 * requests of its organization wait. */
void kedge_exchange_overload(kedge_exchange *exchange);
void kedge_exchange_refuse_crowd(kedge_exchange *exchange);

/* Its line in the log, when all of it is known. */
void kedge_exchange_log(kedge_exchange *exchange);

/* ---- on the daemon's thread ---- */

typedef enum kedge_admission {
    KEDGE_ADMITTED,
    KEDGE_REFUSED,  /* with a problem */
    KEDGE_UNDECIDED /* the token is to be checked (kedge_exchange_authenticate) */
} kedge_admission;

/* parts.c: the message whose parts are made as they are read. NULL: no memory. */
struct MHD_Response *kedge_exchange_respond_in_parts(kedge_exchange *exchange);
/* routes.c: with the head, before the body is read. Finds out who asks, and takes the request from
 * its budgets. */
kedge_admission kedge_exchange_admit(kedge_exchange *exchange);
/* The same after the token was found valid. */
kedge_admission kedge_exchange_admit_user(kedge_exchange *exchange);
/* routes.c: a request that needs no token, or asks for the metrics, which is answered however busy
 * the workers are. False for any other. */
bool kedge_exchange_run_at_once(kedge_exchange *exchange);
/* event_routes.c: for a stream that is opened with a ticket: who asked for that, and whose budgets
 * it is counted in. With a problem when the ticket is not good. */
typedef enum kedge_ticket_state {
    KEDGE_TICKET_ABSENT,
    KEDGE_TICKET_GOOD,
    KEDGE_TICKET_REFUSED
} kedge_ticket_state;
kedge_ticket_state kedge_exchange_redeem(kedge_exchange *exchange, kedge_bytes path,
                                         kedge_bytes query, kedge_budget_owner *owner);

/* ---- on a worker thread; the connection is suspended, so its headers do not change ---- */

/* routes.c: fills `response` or `stream`. There is a `who`. */
void kedge_exchange_run(kedge_exchange *exchange);
/* event_routes.c: the same for the paths of event streams and tickets; false for any other. */
bool kedge_exchange_run_events(kedge_exchange *exchange, kedge_backend *backend, kedge_bytes path);

/* exchange_audit.c: notes the response in the audit log when it is a refusal. */
void kedge_exchange_audit(kedge_exchange *exchange);
/* authenticate.c: a header of the request, or NULL; a problem as the response. */
const char *kedge_exchange_header(kedge_exchange *exchange, const char *name);
void kedge_exchange_problem(kedge_exchange *exchange, int status, const char *code,
                            const char *detail);
/* Fills `who` from the token, when its signature need not be checked again. */
kedge_admission kedge_exchange_recognize(kedge_exchange *exchange);
/* The same with that check, on the door's thread. False with a problem. */
bool kedge_exchange_authenticate(kedge_exchange *exchange);
/* Whether a token was found good. False with a problem. */
bool kedge_exchange_is_checked(kedge_exchange *exchange, kedge_status status,
                               const kedge_error *error);
/* Opens the owner's account, and takes the request and its connection from it. False with a
 * problem. */
bool kedge_exchange_enter(kedge_exchange *exchange, const kedge_budget_owner *owner);
/* The problem of a budget that is used up. */
void kedge_exchange_refuse(kedge_exchange *exchange, const kedge_budget_refusal *refusal);

#endif
