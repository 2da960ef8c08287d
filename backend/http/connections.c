/* See connections.h: a list under one mutex. A row leaves it before the daemon closes the socket,
 * so that no other file that got the same number is shut. */
#include "backend/http/connections.h"

#include <pthread.h>
#include <sys/socket.h>

struct kedge_server_connection {
    kedge_server_connection *next;
    kedge_server_connection *previous;
    int socket;
    int64_t due_ms; /* or KEDGE_CONNECTION_UNHURRIED */
};

struct kedge_connections {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    kedge_server_connection *first;
};

kedge_connections *kedge_connections_new(const kedge_environment *environment)
{
    kedge_connections *connections = kedge_allocate(environment->allocator, sizeof *connections);
    if (!connections) return NULL;
    connections->environment = environment;
    pthread_mutex_init(&connections->mutex, NULL);
    return connections;
}

void kedge_connections_free(kedge_connections *connections)
{
    if (!connections) return;
    pthread_mutex_destroy(&connections->mutex);
    kedge_release(connections->environment->allocator, connections);
}

static int64_t due_in(const kedge_connections *connections, int64_t within_ms)
{
    const kedge_environment *environment = connections->environment;
    if (within_ms == KEDGE_CONNECTION_UNHURRIED) return KEDGE_CONNECTION_UNHURRIED;
    return environment->monotonic_ms(environment->context) + within_ms;
}

kedge_server_connection *kedge_server_connection_opened(kedge_connections *connections, int socket,
                                                        int64_t within_ms)
{
    kedge_server_connection *connection =
        kedge_allocate(connections->environment->allocator, sizeof *connection);
    if (!connection) {
        shutdown(socket, SHUT_RDWR);
        return NULL;
    }
    connection->socket = socket;
    connection->due_ms = due_in(connections, within_ms);
    pthread_mutex_lock(&connections->mutex);
    connection->next = connections->first;
    if (connection->next) connection->next->previous = connection;
    connections->first = connection;
    pthread_mutex_unlock(&connections->mutex);
    return connection;
}

void kedge_server_connection_closed(kedge_connections *connections,
                                    kedge_server_connection *connection)
{
    if (!connection) return;
    pthread_mutex_lock(&connections->mutex);
    if (connection->next) connection->next->previous = connection->previous;
    if (connection->previous) {
        connection->previous->next = connection->next;
    } else {
        connections->first = connection->next;
    }
    pthread_mutex_unlock(&connections->mutex);
    kedge_release(connections->environment->allocator, connection);
}

void kedge_server_connection_due(kedge_connections *connections,
                                 kedge_server_connection *connection, int64_t within_ms)
{
    if (!connection) return;
    int64_t due_ms = due_in(connections, within_ms);
    pthread_mutex_lock(&connections->mutex);
    connection->due_ms = due_ms;
    pthread_mutex_unlock(&connections->mutex);
}

void kedge_connections_cut_late(kedge_connections *connections)
{
    const kedge_environment *environment = connections->environment;
    int64_t now = environment->monotonic_ms(environment->context);
    pthread_mutex_lock(&connections->mutex);
    for (kedge_server_connection *at = connections->first; at; at = at->next) {
        if (at->due_ms == KEDGE_CONNECTION_UNHURRIED || now < at->due_ms) continue;
        shutdown(at->socket, SHUT_RDWR);
        at->due_ms = KEDGE_CONNECTION_UNHURRIED;
    }
    pthread_mutex_unlock(&connections->mutex);
}
