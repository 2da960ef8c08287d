/* See receive.h.
 *
 * The library reads from a socket until it gets less than it has room for, or nothing; then it
 * waits for the system to tell of more. So less than the room is given only when all that has come
 * is read, also into the gate. When nothing is given, the end of the connection is looked for, of
 * which the system may have told already. */
#include "backend/http/receive.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define PIECE 16384

static _Atomic(kedge_gate *) gates[KEDGE_RECEIVE_SOCKETS];

bool kedge_receive_through(int socket, kedge_gate *gate)
{
    if (socket < 0 || socket >= KEDGE_RECEIVE_SOCKETS) return false;
    atomic_store(&gates[socket], gate);
    return true;
}

/* Where the bytes come from. */
typedef struct source {
    int socket;
    int flags;
    gnutls_session_t session; /* NULL: the socket itself */
} source;

typedef ssize_t (*recv_function)(int socket, void *out, size_t size, int flags);
typedef ssize_t (*record_recv_function)(gnutls_session_t session, void *out, size_t size);

/* The functions that these stand in front of; the same for all threads. */
static ssize_t read_socket(int socket, void *out, size_t size, int flags)
{
    static _Atomic(recv_function) found;
    recv_function function = atomic_load(&found);
    if (!function) {
        *(void **)&function = dlsym(RTLD_NEXT, "recv");
        atomic_store(&found, function);
    }
    return function(socket, out, size, flags);
}

static ssize_t read_record(gnutls_session_t session, void *out, size_t size)
{
    static _Atomic(record_recv_function) found;
    record_recv_function function = atomic_load(&found);
    if (!function) {
        *(void **)&function = dlsym(RTLD_NEXT, "gnutls_record_recv");
        atomic_store(&found, function);
    }
    return function(session, out, size);
}

static ssize_t read_source(const source *from, void *out, size_t size)
{
    return from->session ? read_record(from->session, out, size)
                         : read_socket(from->socket, out, size, from->flags);
}

static bool is_drained(const source *from, ssize_t got, size_t asked)
{
    return got <= 0 || (!from->session && (size_t)got < asked);
}

static ssize_t fail(const source *from, int error, ssize_t record_error)
{
    errno = error;
    return from->session ? record_error : -1;
}

/* The library's epoll is edge-triggered: it reports the end of a connection once, maybe together
 * with the last bytes, and the library then waits for another report. When the peer has ended the
 * connection, this shutdown brings it about. */
static void tell_of_end(const source *from)
{
    char byte;
    if (from->session || read_socket(from->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return;
    shutdown(from->socket, SHUT_RD);
}

/* What the gate lets through of what has come. */
static ssize_t receive(const source *from, kedge_gate *gate, char *out, size_t size)
{
    char piece[PIECE];
    size_t given = 0;
    ssize_t got = 1;
    bool drained = false;
    for (;;) {
        given += kedge_gate_take(gate, out + given, size - given);
        if (given == size || (drained && given > 0) || gate->state == KEDGE_GATE_BROKEN) break;
        uint64_t passes = kedge_gate_passes(gate);
        size_t room = size - given;
        size_t asked = passes == 0 ? sizeof piece : passes < room ? (size_t)passes : room;
        got = read_source(from, passes == 0 ? piece : out + given, asked);
        drained = is_drained(from, got, asked);
        if (got <= 0) break;
        if (passes == 0) {
            kedge_gate_feed(gate, piece, (size_t)got);
        } else {
            kedge_gate_passed(gate, (size_t)got);
            given += (size_t)got;
        }
    }
    if (gate->state == KEDGE_GATE_BROKEN) {
        if (given == 0) return fail(from, ECONNRESET, GNUTLS_E_PREMATURE_TERMINATION);
        shutdown(from->socket, SHUT_RD); /* so that the library reads again, and sees the end */
    }
    if (given > 0 && given < size) tell_of_end(from);
    if (given > 0) return (ssize_t)given;
    return got > 0 ? fail(from, EAGAIN, GNUTLS_E_AGAIN) : got;
}

static kedge_gate *gate_of(int socket)
{
    return socket >= 0 && socket < KEDGE_RECEIVE_SOCKETS ? atomic_load(&gates[socket]) : NULL;
}

__attribute__((visibility("default"))) ssize_t recv(int socket, void *out, size_t size, int flags)
{
    const source from = {.socket = socket, .flags = flags};
    kedge_gate *gate = gate_of(socket);
    if (!gate || gate->encrypted) return read_socket(socket, out, size, flags);
    return receive(&from, gate, out, size);
}

__attribute__((visibility("default"))) ssize_t gnutls_record_recv(gnutls_session_t session,
                                                                  void *out, size_t size)
{
    const source from = {.socket = gnutls_transport_get_int(session), .session = session};
    kedge_gate *gate = gate_of(from.socket);
    if (!gate) return read_record(session, out, size);
    return receive(&from, gate, out, size);
}
