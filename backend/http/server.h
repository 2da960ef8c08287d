/* kedge-server's HTTP front end over libmicrohttpd.
 *
 *   server.c        the daemon: one epoll thread that parses and sends, and never blocks
 *   exchange.c      one request and its response; while it works, its connection is suspended
 *   door.c          the thread that checks tokens which are not known yet
 *   gate.c          what of a peer's bytes the daemon gets; receive.c puts it in between
 *   exchange_end.c  what it holds, and the response that stands ready
 *   exchange_work.c its time on the workers: whose it is, until when, when it makes room
 *   parts.c         a large response, of which a worker makes one part after the other
 *   connections.c   how many of whom; deadlines for peers that send or read slowly; who is gone
 *   budgets.c       what one user and one organization may take; budget_limits.c: their options
 *   consumers.c     queued mode: threads that take pushes out of the queue
 *   workers.c       a bounded pool of threads that run requests (the ports block)
 *   fair_queue.c    whose request is next
 *   routes.c        what a worker does with a request
 *   event_routes.c  the same for event streams and their tickets
 *   events.c        Server-Sent Events: suspended streams, woken by commits and by the clock
 *   foreign_commits.c  what other processes commit, for these streams
 *   tickets.c       one-use tickets for a browser's EventSource
 *   metrics.c       counters as Prometheus text
 *   arguments.c     the command line
 *   signals.c       what stops the server, and what makes it read again what may have changed
 *   reload.c        reads it again: keys (key_source.c), revoked tokens, the certificate (tls.c)
 *   main.c          opens the ports and starts all of it
 *
 * backend/auth says who asks; what every front end does with a request and a response stands
 * in backend/front.
 *
 * Memory, whatever peers send: 4096 connections of 32 KiB each (128 MiB), and 17 KiB for the token
 * of a request whose body is read (68 MiB); the first 64 KiB of the body or response of each (256
 * MiB); 256 MiB for all that is larger; what the workers have in hand; in queued mode 48 MiB for
 * each consumer; the backend's cache. Over it, requests are answered 503 `overloaded`. How much of
 * it one user, organization, address or stranger may take: budgets.h. */
#ifndef KEDGE_BACKEND_HTTP_SERVER_H
#define KEDGE_BACKEND_HTTP_SERVER_H

#include "backend/api/api.h"
#include "backend/auth/auth.h"
#include "backend/front/audit.h"
#include "backend/front/logger.h"
#include "backend/front/origins.h"
#include "backend/http/budgets.h"
#include "backend/http/events.h"
#include "backend/http/metrics.h"
#include "backend/http/tickets.h"
#include "backend/http/workers.h"
#include <kedge/limits.h>

/* The limits of this front end. */
#define KEDGE_SERVER_CONNECTIONS_MAX   4096  /* fewer when the system allows fewer open files */
#define KEDGE_SERVER_FILES_RESERVED    256   /* open files left to the ports */
#define KEDGE_SERVER_HEADER_BYTES      32768 /* memory a connection has for its request's head */
#define KEDGE_SERVER_IDLE_TIMEOUT_S    45
#define KEDGE_SERVER_REQUEST_TIMEOUT_S 30       /* for a head, and without a body's bytes */
#define KEDGE_SERVER_DISCARD_BYTES     67108864 /* read of a body before it is cut off */
#define KEDGE_SERVER_SMALL_BYTES       65536 /* of a body or response that do not count as held */
#define KEDGE_SERVER_HELD_BYTES        KEDGE_BUDGET_HELD_POOL /* of all that are larger */
#define KEDGE_SERVER_EVENT_STREAMS_MAX 2048
#define KEDGE_SERVER_PING_S            15

typedef struct kedge_server_options {
    const kedge_environment *environment;
    const char *address; /* numeric IPv4 or IPv6 address */
    uint16_t port;       /* 0: the system picks one */
    bool tls;            /* with the certificate of tls.h; otherwise plain HTTP */
    uint32_t worker_count;
    uint32_t request_timeout_s; /* KEDGE_SERVER_REQUEST_TIMEOUT_S, or what the operator wants */
    uint32_t ping_s;            /* KEDGE_SERVER_PING_S, or less for an impatient proxy */
    const kedge_budget_limits *budgets;
    kedge_auth *auth;
    kedge_cors_origins *origins;
    kedge_logger *log;
    kedge_audit *audit; /* NULL: none */
    bool behind_proxy;  /* peers are named by a proxy's header X-Forwarded-For */
    /* Appends to GET /v1/metrics; NULL: nothing. */
    void (*write_metrics)(void *context, kedge_buffer *out);
    void *write_metrics_context;
    bool alone;       /* no other process writes to the stores: there is nothing to look for */
    bool cost_header; /* every response tells what it cost in the header "kedge-cost" */
} kedge_server_options;

typedef struct kedge_server kedge_server;

/* Listens at once, but answers 503 until kedge_server_serve gives it a backend, so that the
 * backend's `committed` can be kedge_server_committed. */
kedge_status kedge_server_start(const kedge_server_options *options, kedge_server **server,
                                kedge_error *error);
void kedge_server_serve(kedge_server *server, kedge_backend *backend);
uint16_t kedge_server_port(const kedge_server *server);
/* As given; lives as long as the server. */
const kedge_budget_limits *kedge_server_budgets(const kedge_server *server);
/* Wakes the event streams of a project. Any thread. */
void kedge_server_committed(void *server, kedge_bytes organization, kedge_bytes project,
                            int64_t version);
/* The same for those of a log: the backend's `appended`. */
void kedge_server_appended(void *server, kedge_bytes organization, kedge_bytes project,
                           kedge_bytes log, int64_t number);
/* The backend's `later`, with the server as its context: the workers do it between requests. */
bool kedge_server_later(void *server, void (*run)(void *argument), void *argument);
/* The backend's `failed`, with the server as its context: counts the failure and logs it. */
void kedge_server_failed(void *server, const kedge_background_failure *failure);
/* Ends all event streams and voids all tickets, because the tokens behind them may no longer be
 * good. A client whose token is good opens a new one. Any thread. */
void kedge_server_end_streams(kedge_server *server);
/* Stops listening, finishes what runs, ends the streams, frees. */
void kedge_server_stop(kedge_server *server);

#endif
