/* Connections: how many each peer may have open, and by when each must have done its next step.
 *
 * libmicrohttpd closes an idle connection, but not one that moves a byte now and then. Here each
 * connection has a deadline for its next step: the head of a request is read, the body is read, the
 * response is acknowledged. Since a body and a response may be large and the line slow, each of
 * their bytes extends the deadline by the time that it takes at KEDGE_CONNECTION_PACE_BYTES_S. A
 * peer that is slower misses the deadline. The clock shuts down the sockets of late connections;
 * libmicrohttpd then ends these as it ends any broken connection.
 *
 * A connection counts as a stranger's until a request on it has a valid token. The connections of
 * strangers have a pool of their own. When it is full, a new connection replaces the oldest one of
 * the pool. So peers that open connections and send nothing cannot keep others out. */
#ifndef KEDGE_BACKEND_HTTP_CONNECTIONS_H
#define KEDGE_BACKEND_HTTP_CONNECTIONS_H

#include "backend/http/budgets.h"
#include "backend/http/gate.h"

#include <sys/socket.h>

/* No deadline: the server's own work, or an event stream. */
#define KEDGE_CONNECTION_UNHURRIED (-1)

/* Bytes a second that the system must have got from a peer, or the peer have acknowledged. */
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
/* The gate of the connection, for the daemon's thread, which reads from it. NULL gives a gate that
 * lets nothing through, since a socket that was shut down may still have received bytes. */
kedge_gate *kedge_server_connection_gate(kedge_server_connection *connection);
/* Its next step is due `within_ms` from now; KEDGE_CONNECTION_UNHURRIED: at no time. */
void kedge_server_connection_due(kedge_connections *connections,
                                 kedge_server_connection *connection, int64_t within_ms);
/* The steps whose deadline each byte extends. */
typedef enum kedge_paced_step {
    KEDGE_PACED_BODY,     /* what the peer sends */
    KEDGE_PACED_RESPONSE, /* what it acknowledges */
} kedge_paced_step;
/* Its next step is due `within_ms` from now. Each byte of the step extends the deadline by the time
 * that it takes at the pace, but to at most `within_ms` after the moment when the byte is seen. */
void kedge_server_connection_paced(kedge_connections *connections,
                                   kedge_server_connection *connection, int64_t within_ms,
                                   kedge_paced_step step);
/* A request on the connection has a valid token: the connection counts for this account from now
 * on. Does nothing for one that counts for an account already. False when the account may have no
 * more connections, or `known_max` is reached: then it stays a stranger's, and should be closed
 * after its response. */
bool kedge_server_connection_known(kedge_connections *connections,
                                   kedge_server_connection *connection,
                                   const kedge_budget_account *account,
                                   kedge_budget_refusal *refusal);
/* The connection will be closed while the peer may still send. For KEDGE_CONNECTION_LINGER_MS what
 * the peer sends is read and dropped. Otherwise the system would reset the connection, and the peer
 * might lose the response. */
void kedge_server_connection_linger(kedge_connections *connections,
                                    kedge_server_connection *connection);
/* Sets whether the clock checks that the peer is still there, while the server works for it. */
void kedge_server_connection_watch(kedge_connections *connections,
                                   kedge_server_connection *connection, bool watched);
/* Whether the peer of a watched connection has closed it. Any thread. */
bool kedge_server_connection_is_gone(const kedge_server_connection *connection);
/* Shuts down late connections, and checks the peers of watched ones. Called by the clock. */
void kedge_connections_look(kedge_connections *connections);
/* Appends Prometheus text. */
void kedge_connections_write_metrics(kedge_connections *connections, kedge_buffer *out);

#endif
