/* The scripted server: accepting, reading whole requests, and the ways to answer. */
#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define CONNECTIONS_MAX 1024
#define REQUEST_MAX     (20 << 20)

typedef struct connection {
    scripted_server *server;
    int socket;
    pthread_t thread;
} connection;

struct scripted_server {
    scripted_handler handler;
    void *context;
    int socket;
    int stop[2]; /* a pipe whose closing end tells everybody */
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    int requests;
    int count;
    connection connections[CONNECTIONS_MAX];
};

/* Waits for the socket; false when the server stops or nothing came in `timeout_ms`. */
static bool wait_readable(const scripted_server *server, int socket, int timeout_ms)
{
    struct pollfd set[2] = {{.fd = socket, .events = POLLIN},
                            {.fd = server->stop[0], .events = POLLIN}};
    if (poll(set, 2, timeout_ms) <= 0) return false;
    return set[1].revents == 0;
}

static bool stopping(const scripted_server *server)
{
    struct pollfd set = {.fd = server->stop[0], .events = POLLIN};
    return poll(&set, 1, 0) > 0;
}

static size_t body_length(const char *headers)
{
    const char *line = strcasestr(headers, "\r\ncontent-length:");
    return line == NULL ? 0 : (size_t)strtoul(line + 17, NULL, 10);
}

/* Reads one request into `buffer`; false when the connection ended before. */
static bool read_request(scripted_request *request, char *buffer)
{
    size_t size = 0;
    char *end = NULL;
    for (;;) {
        if (end == NULL) end = strstr(buffer, "\r\n\r\n");
        if (end != NULL) {
            size_t head = (size_t)(end - buffer) + 4;
            if (size >= head + body_length(buffer)) {
                request->headers = buffer;
                request->body = buffer + head;
                request->body_size = size - head;
                return sscanf(buffer, "%15s %2047s", request->method, request->target) == 2;
            }
        }
        if (size + 1 >= REQUEST_MAX) return false;
        if (!wait_readable(request->server, request->connection, -1)) return false;
        ssize_t got = recv(request->connection, buffer + size, REQUEST_MAX - 1 - size, 0);
        if (got <= 0) return false;
        size += (size_t)got;
        buffer[size] = '\0';
    }
}

static void *serve(void *context)
{
    connection *self = context;
    scripted_server *server = self->server;
    char *buffer = malloc(REQUEST_MAX);
    bool keep = buffer != NULL;
    while (keep) {
        scripted_request request = {.server = server, .connection = self->socket};
        buffer[0] = '\0';
        if (!read_request(&request, buffer)) break;
        pthread_mutex_lock(&server->lock);
        server->requests++;
        pthread_cond_broadcast(&server->arrived);
        pthread_mutex_unlock(&server->lock);
        keep = server->handler(server->context, &request);
    }
    free(buffer);
    shutdown(self->socket, SHUT_RDWR);
    return NULL;
}

static void *accept_connections(void *context)
{
    scripted_server *server = context;
    while (wait_readable(server, server->socket, -1)) {
        int socket = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0) continue;
        /* Head and body go out in two parts; the second must not wait for an acknowledgement. */
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        pthread_mutex_lock(&server->lock);
        if (server->count == CONNECTIONS_MAX) {
            close(socket);
        } else {
            connection *made = &server->connections[server->count++];
            *made = (connection){.server = server, .socket = socket};
            pthread_create(&made->thread, NULL, serve, made);
        }
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

/* A listening or merely bound socket on a free port of 127.0.0.1. */
static int bind_socket(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(made >= 0);
    assert_int_equal(bind(made, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(made, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return made;
}

scripted_server *scripted_server_start(scripted_handler handler, void *context)
{
    int port;
    scripted_server *server = calloc(1, sizeof *server);
    assert_non_null(server);
    server->handler = handler;
    server->context = context;
    server->socket = bind_socket(&port);
    assert_int_equal(listen(server->socket, 64), 0);
    assert_int_equal(pipe2(server->stop, O_CLOEXEC), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", port);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->arrived, NULL);
    assert_int_equal(pthread_create(&server->thread, NULL, accept_connections, server), 0);
    return server;
}

void scripted_server_stop(scripted_server *server)
{
    close(server->stop[1]);
    pthread_join(server->thread, NULL);
    for (int i = 0; i < server->count; i++) {
        shutdown(server->connections[i].socket, SHUT_RDWR);
        pthread_join(server->connections[i].thread, NULL);
        close(server->connections[i].socket);
    }
    close(server->socket);
    close(server->stop[0]);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->arrived);
    free(server);
}

const char *scripted_server_url(const scripted_server *server)
{
    return server->url;
}

int scripted_server_requests(scripted_server *server)
{
    pthread_mutex_lock(&server->lock);
    int count = server->requests;
    pthread_mutex_unlock(&server->lock);
    return count;
}

int scripted_server_connections(scripted_server *server)
{
    pthread_mutex_lock(&server->lock);
    int count = server->count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

bool scripted_server_wait(scripted_server *server, int requests)
{
    struct timespec until;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&server->lock);
    while (server->requests < requests && result == 0) {
        result = pthread_cond_timedwait(&server->arrived, &server->lock, &until);
    }
    bool reached = server->requests >= requests;
    pthread_mutex_unlock(&server->lock);
    return reached;
}

void scripted_send(const scripted_request *request, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(request->connection, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

void scripted_respond(const scripted_request *request, int status, const char *headers,
                      const char *body)
{
    char head[1024];
    int size = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\nContent-Length: %zu\r\n%s\r\n",
                        status, strlen(body), headers);
    scripted_send(request, head, (size_t)size);
    scripted_send(request, body, strlen(body));
}

void scripted_drip(const scripted_request *request, char byte, int interval_ms)
{
    char ignored[256];
    while (!stopping(request->server)) {
        if (wait_readable(request->server, request->connection, interval_ms) &&
            recv(request->connection, ignored, sizeof ignored, 0) <= 0) {
            return;
        }
        scripted_send(request, &byte, 1);
    }
}

void scripted_hang(const scripted_request *request)
{
    char ignored[256];
    while (wait_readable(request->server, request->connection, -1)) {
        if (recv(request->connection, ignored, sizeof ignored, 0) <= 0) return;
    }
}

bool scripted_redirects(void *context, const scripted_request *request)
{
    (void)context;
    scripted_respond(request, 302, "Location: http://127.0.0.1:1/login\r\n", "moved");
    return true;
}

bool scripted_hangs(void *context, const scripted_request *request)
{
    (void)context;
    scripted_hang(request);
    return false;
}

bool scripted_drips(void *context, const scripted_request *request)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    (void)context;
    scripted_send(request, head, sizeof head - 1);
    scripted_drip(request, ' ', 5);
    return false;
}

bool scripted_closes_in_headers(void *context, const scripted_request *request)
{
    static const char part[] = "HTTP/1.1 200 OK\r\nContent-Le";
    (void)context;
    scripted_send(request, part, sizeof part - 1);
    return false;
}

bool scripted_closes_in_body(void *context, const scripted_request *request)
{
    static const char part[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"cookie\":";
    (void)context;
    scripted_send(request, part, sizeof part - 1);
    return false;
}

bool scripted_closes_at_once(void *context, const scripted_request *request)
{
    (void)context;
    (void)request;
    return false;
}

const char *scripted_dead_url(void)
{
    static char url[64];
    int port;
    /* Bound and never listening: nobody else gets the port, and it refuses. */
    static int held = -1;
    if (held < 0) {
        held = bind_socket(&port);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    }
    return url;
}
