/* The slow line: a thread that accepts, and two for each connection, which move bytes and wait as
 * long as the bytes take. */
#include "tests/support/slow_line.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CONNECTIONS_MAX 64
#define PIECE_BYTES     2048
#define BUFFER_BYTES    4096 /* that a socket holds; the system takes twice as much */

typedef struct direction {
    slow_line *line;
    int from;
    int to;
    bool up; /* from the client */
    pthread_t thread;
} direction;

struct slow_line {
    atomic_int bytes_s;
    int server_port;
    int socket;
    int stop[2]; /* a pipe whose closing end tells everybody */
    char url[64];
    atomic_llong left; /* bytes from the client until the line stalls; negative: it does not */
    pthread_t thread;
    int count;
    direction directions[2 * CONNECTIONS_MAX];
};

/* Waits until the socket can be read, or (-1) for the time alone; false when the line ends. */
static bool wait_readable(const slow_line *line, int socket, int timeout_ms)
{
    struct pollfd set[2] = {{.fd = line->stop[0], .events = POLLIN},
                            {.fd = socket, .events = POLLIN}};
    return poll(set, 2, timeout_ms) >= 0 && set[0].revents == 0;
}

/* False: the line stalls before it has taken these bytes. */
static bool take_from_left(slow_line *line, size_t bytes)
{
    long long left = atomic_load(&line->left);
    if (left < 0) return true;
    if ((long long)bytes > left) return false;
    atomic_store(&line->left, left - (long long)bytes);
    return true;
}

static bool move_piece(direction *self)
{
    char piece[PIECE_BYTES];
    slow_line *line = self->line;
    if (!wait_readable(line, self->from, -1)) return false;
    ssize_t size = recv(self->from, piece, sizeof piece, 0);
    if (size <= 0) return false;
    if (self->up && !take_from_left(line, (size_t)size)) return wait_readable(line, -1, -1);
    if (!wait_readable(line, -1, (int)size * 1000 / atomic_load(&line->bytes_s))) return false;
    return send(self->to, piece, (size_t)size, MSG_NOSIGNAL) == size;
}

static void *move(void *context)
{
    direction *self = context;
    while (move_piece(self)) {
    }
    shutdown(self->from, SHUT_RDWR);
    shutdown(self->to, SHUT_RDWR);
    return NULL;
}

static int make_socket(void)
{
    int bytes = BUFFER_BYTES;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(made >= 0);
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    return made;
}

static void begin(slow_line *line, int from, int to, bool up)
{
    direction *self = &line->directions[line->count++];
    *self = (direction){.line = line, .from = from, .to = to, .up = up};
    pthread_create(&self->thread, NULL, move, self);
}

static void *accept_connections(void *context)
{
    slow_line *line = context;
    struct sockaddr_in server = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)line->server_port)};
    while (line->count < 2 * CONNECTIONS_MAX && wait_readable(line, line->socket, -1)) {
        int client = accept(line->socket, NULL, NULL);
        int behind = make_socket();
        if (client < 0 || connect(behind, (struct sockaddr *)&server, sizeof server) != 0) break;
        begin(line, client, behind, true);
        begin(line, behind, client, false);
    }
    return NULL;
}

slow_line *slow_line_start(const char *url, size_t bytes_s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    slow_line *line = calloc(1, sizeof *line);
    assert_non_null(line);
    atomic_store(&line->bytes_s, (int)bytes_s);
    assert_int_equal(sscanf(url, "http://127.0.0.1:%d", &line->server_port), 1);
    atomic_store(&line->left, -1);
    line->socket = make_socket();
    assert_int_equal(bind(line->socket, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(line->socket, 16), 0);
    assert_int_equal(getsockname(line->socket, (struct sockaddr *)&address, &size), 0);
    snprintf(line->url, sizeof line->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pipe(line->stop), 0);
    assert_int_equal(pthread_create(&line->thread, NULL, accept_connections, line), 0);
    return line;
}

const char *slow_line_url(const slow_line *line)
{
    return line->url;
}

void slow_line_pace(slow_line *line, size_t bytes_s)
{
    atomic_store(&line->bytes_s, (int)bytes_s);
}

void slow_line_stall_after(slow_line *line, size_t bytes)
{
    atomic_store(&line->left, (long long)bytes);
}

void slow_line_stop(slow_line *line)
{
    close(line->stop[1]);
    pthread_join(line->thread, NULL);
    for (int i = 0; i < line->count; i++)
        pthread_join(line->directions[i].thread, NULL);
    for (int i = 0; i < line->count; i += 2) {
        close(line->directions[i].from);
        close(line->directions[i].to);
    }
    close(line->socket);
    close(line->stop[0]);
    free(line);
}
