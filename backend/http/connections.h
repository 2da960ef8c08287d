/* Connections: how many each peer may have open, and by when each must have done its next step.
 *
 * libmicrohttpd ends a connection on which nothing moves, but not one on which a byte moves now and
 * then. Here a connection has a time by which its next step must be done: the head of a request
 * read, the body read, the response taken. A body and a response may be large and the line slow, so
 * each byte that moves puts their time off by what it takes at a fixed pace. A peer below the pace
 * runs out of time. The clock shuts the sockets of those that are late; the daemon sees their end
 * and completes them as it does any that broke.
 *
 * A connection is a stranger's until it has shown a good token. Strangers have a pool of their own.
 * When it is full, a new stranger takes the place of the one that came first, so that peers that
 * open connections and say nothing keep nobody out. */
#ifndef KEDGE_BACKEND_HTTP_CONNECTIONS_H
#define KEDGE_BACKEND_HTTP_CONNECTIONS_H

#include "backend/http/budgets.h"
#include "backend/http/gate.h"

#include <sys/socket.h>

/* No deadline: the server's own work, or an event stream. */
#define KEDGE_CONNECTION_UNHURRIED (-1)

/* Bytes that the system has got from a peer, or that the peer has acknowledged. */
#define KEDGE_CONNECTION_PACE_BYTES_S 4096

/* How many connections linger at once, and how long: one more takes the place of the first. */
#define KEDGE_CONNECTION_LINGERS   64
#define KEDGE_CONNECTION_LINGER_MS 3000

/* Places of the table that counts by address: more than there are connections. */
#define KEDGE_CONNECTION_ADDRESSES 8192

typedef struct kedge_connections kedge_connections;
typedef struct kedge_server_connection kedge_server_connection;

typedef struct kedge_connections_options {
    const kedge_environment *environment;
    size_t strangers_max;
    size_t known_max;
    size_t address_max; /* from one address; 0: no limit. At most KEDGE_CONNECTION_ADDRESSES - 1 */
    bool encrypted;
} kedge_connections_options;

/* NULL: no memory. */
kedge_connections *kedge_connections_new(const kedge_connections_options *options);
void kedge_connections_free(kedge_connections *connections); /* after the daemon has stopped */

/* A connection was opened; its first step is due `within_ms`. The socket must stay open until
 * kedge_server_connection_closed. When the address has too many connections, or there is no memory,
 * it is shut at once and NULL is returned, which the functions below take. When there are too many
 * strangers, the first of them is shut. `address` may be NULL: it is not counted then. */
kedge_server_connection *kedge_server_connection_opened(kedge_connections *connections, int socket,
                                                        const struct sockaddr *address,
                                                        int64_t within_ms);
void kedge_server_connection_closed(kedge_connections *connections,
                                    kedge_server_connection *connection);
/* The gate of the connection, for the daemon's thread, which reads from it. Without a connection:
 * one that lets nothing through, since a socket that was shut still has what came before. */
kedge_gate *kedge_server_connection_gate(kedge_server_connection *connection);
/* Its next step is due `within_ms` from now; KEDGE_CONNECTION_UNHURRIED: at no time. */
void kedge_server_connection_due(kedge_connections *connections,
                                 kedge_server_connection *connection, int64_t within_ms);
/* The steps whose bytes put their time off. */
typedef enum kedge_paced_step {
    KEDGE_PACED_BODY,     /* what the peer sends */
    KEDGE_PACED_RESPONSE, /* what it acknowledges */
} kedge_paced_step;
/* Its next step is due `within_ms` from now; each byte of the step puts that off by the time that
 * it takes at the pace, but never beyond `within_ms` from then on. */
void kedge_server_connection_paced(kedge_connections *connections,
                                   kedge_server_connection *connection, int64_t within_ms,
                                   kedge_paced_step step);
/* The connection has shown a good token: it is of this account from now on, and no stranger's. Does
 * nothing for one that is known. False when the account has no connection left or too many are
 * known: then it stays a stranger's, and should be closed after its response. */
bool kedge_server_connection_known(kedge_connections *connections,
                                   kedge_server_connection *connection,
                                   const kedge_budget_account *account,
                                   kedge_budget_refusal *refusal);
/* The connection will be closed while the peer may still send: for a short time what comes is read
 * and dropped, since the system would otherwise reset the connection, and the peer might lose the
 * response. */
void kedge_server_connection_linger(kedge_connections *connections,
                                    kedge_server_connection *connection);
/* Whether the clock looks if its peer has gone away, while the server works for it. */
void kedge_server_connection_watch(kedge_connections *connections,
                                   kedge_server_connection *connection, bool watched);
/* Whether the peer of a watched connection has closed it. Any thread. */
bool kedge_server_connection_is_gone(const kedge_server_connection *connection);
/* Shuts those that are late, and looks at the watched ones; called by the clock. */
void kedge_connections_look(kedge_connections *connections);
/* Appends Prometheus text. */
void kedge_connections_write_metrics(kedge_connections *connections, kedge_buffer *out);

#endif
