/* A TCP server on 127.0.0.1 that answers as a test tells it to, rightly or wrongly: real sockets,
 * one thread a connection. */
#ifndef KEDGE_TESTS_SUPPORT_SCRIPTED_SERVER_H
#define KEDGE_TESTS_SUPPORT_SCRIPTED_SERVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct scripted_server scripted_server;

/* One request as it came. */
typedef struct scripted_request {
    scripted_server *server;
    int connection;
    char method[16];
    char target[2048];
    const char *headers; /* NUL-terminated, with the request line */
    const char *body;
    size_t body_size;
} scripted_request;

/* Answers with the functions below, or writes nothing. True keeps the connection for another
 * request. Called on the connection's thread. */
typedef bool (*scripted_handler)(void *context, const scripted_request *request);

scripted_server *scripted_server_start(scripted_handler handler, void *context);
/* Ends all connections and waits for their threads. */
void scripted_server_stop(scripted_server *server);
const char *scripted_server_url(const scripted_server *server); /* "http://127.0.0.1:PORT" */
int scripted_server_requests(scripted_server *server);
int scripted_server_connections(scripted_server *server); /* accepted so far */
/* Waits until that many requests came; false after ten seconds. */
bool scripted_server_wait(scripted_server *server, int requests);

/* A whole answer. `headers` "" or lines that end in CRLF. */
void scripted_respond(const scripted_request *request, int status, const char *headers,
                      const char *body);
void scripted_send(const scripted_request *request, const char *bytes, size_t size);
/* Says nothing until the other side goes away or the server stops. */
void scripted_hang(const scripted_request *request);
/* The same, and sends `byte` every `interval_ms`. */
void scripted_drip(const scripted_request *request, char byte, int interval_ms);

/* Handlers that answer wrongly, whatever is asked; they take no context. */
bool scripted_redirects(void *context, const scripted_request *request);
bool scripted_hangs(void *context, const scripted_request *request);
bool scripted_drips(void *context, const scripted_request *request); /* white space, for ever */
bool scripted_closes_in_headers(void *context, const scripted_request *request);
bool scripted_closes_in_body(void *context, const scripted_request *request);
bool scripted_closes_at_once(void *context, const scripted_request *request);

/* A url that refuses connections. */
const char *scripted_dead_url(void);

#endif
