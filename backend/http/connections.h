/* Deadlines of connections.
 *
 * libmicrohttpd ends a connection on which nothing moves, but not one on which a byte moves now and
 * then. Here a connection has a time by which its next step must be done: the head of a request
 * read, the body read, the response taken. The clock shuts the sockets of those that are late; the
 * daemon sees their end and completes them as it does any that broke. */
#ifndef KEDGE_BACKEND_HTTP_CONNECTIONS_H
#define KEDGE_BACKEND_HTTP_CONNECTIONS_H

#include "common/environment.h"

/* No deadline: the server's own work, or an event stream. */
#define KEDGE_CONNECTION_UNHURRIED (-1)

typedef struct kedge_connections kedge_connections;
typedef struct kedge_server_connection kedge_server_connection;

/* NULL: no memory. */
kedge_connections *kedge_connections_new(const kedge_environment *environment);
void kedge_connections_free(kedge_connections *connections); /* after the daemon has stopped */

/* The socket must stay open until kedge_server_connection_closed. Without memory for a deadline the
 * socket is shut at once, and NULL is returned, which the functions below take. */
kedge_server_connection *kedge_server_connection_opened(kedge_connections *connections, int socket,
                                                        int64_t within_ms);
void kedge_server_connection_closed(kedge_connections *connections,
                                    kedge_server_connection *connection);
void kedge_server_connection_due(kedge_connections *connections,
                                 kedge_server_connection *connection, int64_t within_ms);
/* Shuts those that are late; called by the clock. */
void kedge_connections_cut_late(kedge_connections *connections);

#endif
