/* See server.h: the daemon, the ping clock, and an orderly stop. */
#include "backend/front/failures.h"
#include "backend/front/memory.h"
#include "backend/http/door.h"
#include "backend/http/foreign_commits.h"
#include "backend/http/receive.h"
#include "backend/http/tls.h"

#include "common/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* In the words of GnuTLS: since TLS 1.2, and ciphers that authenticate what they encrypt. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:"            \
    "+CHACHA20-POLY1305"
/* A peer that is gone without a word acknowledges nothing. Left alone, the system tries for some
 * fifteen minutes to send it the pings of its stream, which counts until then. */
#define UNACKNOWLEDGED_PINGS  3
#define UNACKNOWLEDGED_MIN_MS 15000
/* What the system takes of a response beyond what is on its way. Left alone it takes megabytes, and
 * the library sees for longer than its idle timeout that a slow peer takes nothing. */
#define UNSENT_BYTES 131072
#define STOP_WAIT_MS 4000
#define STOP_STEP_MS 10

struct kedge_server {
    kedge_exchange_context context;
    struct MHD_Daemon *daemon;
    pthread_t clock;
    bool clock_runs;
    uint32_t ping_s;
    kedge_foreign_commits *foreign_commits; /* NULL: the stores are this server's alone */
    pthread_mutex_t mutex;
    pthread_cond_t stopped;
    bool stop;
};

/* The first that the daemon tells of a request: its whole target, before anything is decoded. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    (void)connection;
    return kedge_exchange_new(context, target);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **exchange)
{
    (void)context;
    (void)url;
    kedge_exchange *of = *exchange;
    if (!of) return MHD_NO;
    of->takes_parts = strcmp(version, MHD_HTTP_VERSION_1_1) == 0; /* in chunks */
    return kedge_exchange_step(of, connection, method, upload, upload_size);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **exchange,
                         enum MHD_RequestTerminationCode why)
{
    (void)why;
    kedge_exchange_free(*exchange);
    *exchange = NULL;
    kedge_exchange_await_next(context, connection);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    const int unsent_bytes = UNSENT_BYTES;
    kedge_exchange_context *exchanges = context;
    int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *peer =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        *socket_context = kedge_server_connection_opened(exchanges->connections, socket,
                                                         peer ? peer->client_addr : NULL,
                                                         exchanges->request_timeout_ms);
        (void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &exchanges->unacknowledged_ms,
                         sizeof exchanges->unacknowledged_ms);
        (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes,
                         sizeof unsent_bytes);
        if (!kedge_receive_through(socket, kedge_server_connection_gate(*socket_context)))
            shutdown(socket, SHUT_RDWR);
        atomic_fetch_add(&exchanges->metrics.connections, 1);
    } else {
        kedge_gate *gate = kedge_server_connection_gate(*socket_context);
        kedge_receive_through(socket, NULL);
        if (kedge_gate_holds_a_head(gate)) atomic_fetch_add(&exchanges->metrics.cut, 1);
        kedge_server_connection_closed(exchanges->connections, *socket_context);
        atomic_fetch_sub(&exchanges->metrics.connections, 1);
    }
}

/* Paths are decoded where they are routed, so that an encoded slash stays inside its segment. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* What is done every second. */
static void tick(kedge_server *server, uint64_t second)
{
    const kedge_environment *environment = server->context.environment;
    kedge_connections_look(server->context.connections);
    kedge_events_expire(server->context.events, environment->now_ms(environment->context));
    if (second % server->ping_s == 0) kedge_events_ping(server->context.events);
    kedge_memory_give_back();
}

static void *run_clock(void *argument)
{
    kedge_server *server = argument;
    uint64_t second = 0;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_mutex_lock(&server->mutex);
    while (!server->stop) {
        at.tv_sec++;
        int waited = 0;
        while (!server->stop && waited != ETIMEDOUT) {
            waited = pthread_cond_timedwait(&server->stopped, &server->mutex, &at);
        }
        if (server->stop) break;
        pthread_mutex_unlock(&server->mutex);
        tick(server, ++second);
        pthread_mutex_lock(&server->mutex);
    }
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

static kedge_status start_clock(kedge_server *server, kedge_error *error)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&server->mutex, NULL);
    server->clock_runs = pthread_create(&server->clock, NULL, run_clock, server) == 0;
    if (server->clock_runs) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads", "the system refused to start a thread");
}

static kedge_status parse_address(const kedge_server_options *options,
                                  struct sockaddr_storage *address, kedge_error *error)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    if (inet_pton(AF_INET, options->address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(options->port);
        return KEDGE_OK;
    }
    if (inet_pton(AF_INET6, options->address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(options->port);
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "address-invalid",
                      "\"%s\" is not a numeric IPv4 or IPv6 address", options->address);
}

/* How many connections the system's limit of open files allows, which is raised as
 * far as it goes. */
static unsigned count_connections(kedge_logger *log)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return KEDGE_SERVER_CONNECTIONS_MAX;
    rlim_t wanted = KEDGE_SERVER_CONNECTIONS_MAX + KEDGE_SERVER_FILES_RESERVED;
    if (files.rlim_cur < wanted) {
        rlim_t before = files.rlim_cur;
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0) files.rlim_cur = before;
    }
    if (files.rlim_cur >= wanted) return KEDGE_SERVER_CONNECTIONS_MAX;
    kedge_logger_write(log, KEDGE_LOGGER_WARNING, "few-open-files", "advice",
                       "the limit of open files (ulimit -n) allows fewer connections than 4096",
                       NULL);
    rlim_t half = files.rlim_cur / 2;
    rlim_t reserved = half < KEDGE_SERVER_FILES_RESERVED ? half : KEDGE_SERVER_FILES_RESERVED;
    return (unsigned)(files.rlim_cur - reserved);
}

/* Some connections stay out of both pools, so that the daemon always accepts a stranger and can
 * decide which one goes. */
static bool open_connections(kedge_exchange_context *context, const kedge_budget_limits *limits,
                             size_t connections_max, bool encrypted)
{
    size_t most = connections_max / 2;
    size_t strangers = (size_t)limits->stranger_connections;
    kedge_connections_options options = {
        .environment = context->environment,
        .strangers_max = strangers < most ? strangers : most,
        .address_max = (size_t)limits->address_connections,
        .encrypted = encrypted,
    };
    options.known_max = connections_max - options.strangers_max - connections_max / 32;
    context->connections = kedge_connections_new(&options);
    return context->connections != NULL;
}

static kedge_status start_daemon(kedge_server *server, const kedge_server_options *options,
                                 kedge_error *error)
{
    struct sockaddr_storage address;
    kedge_status status = parse_address(options, &address, error);
    if (status != KEDGE_OK) return status;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    if (address.ss_family == AF_INET6) flags |= MHD_USE_IPv6;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_END, 0, NULL}, {0}, {0}};
    if (options->tls) {
        flags |= MHD_USE_TLS;
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
                                         (void *)(uintptr_t)kedge_tls_retrieve};
        tls[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                         (void *)(uintptr_t)TLS_PRIORITIES};
        tls[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    }
    kedge_exchange_context *context = &server->context;
    unsigned connections_max = count_connections(options->log);
    if (!open_connections(context, options->budgets, connections_max, options->tls))
        return kedge_fail_no_memory(error);
    errno = 0;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, context, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, context, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        context, MHD_OPTION_NOTIFY_CONNECTION, on_connection, context, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT, connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)KEDGE_SERVER_HEADER_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)KEDGE_SERVER_IDLE_TIMEOUT_S, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (server->daemon) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "listen-failed", "cannot listen on %s port %u: %s",
                      options->address, options->port,
                      errno ? strerror(errno) : "libmicrohttpd refused");
}

kedge_status kedge_server_start(const kedge_server_options *options, kedge_server **server,
                                kedge_error *error)
{
    const kedge_environment *environment = options->environment;
    kedge_server *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->ping_s = options->ping_s;
    kedge_exchange_context *context = &made->context;
    context->environment = environment;
    context->auth = options->auth;
    context->origins = options->origins;
    context->log = options->log;
    context->audit = options->audit;
    context->behind_proxy = options->behind_proxy;
    context->write_metrics = options->write_metrics;
    context->write_metrics_context = options->write_metrics_context;
    context->cost_header = options->cost_header;
    context->request_timeout_ms = (int64_t)options->request_timeout_s * 1000;
    context->unacknowledged_ms = options->ping_s * 1000 * UNACKNOWLEDGED_PINGS;
    if (context->unacknowledged_ms < UNACKNOWLEDGED_MIN_MS)
        context->unacknowledged_ms = UNACKNOWLEDGED_MIN_MS;
    context->tickets = kedge_tickets_new(environment);
    context->budgets = kedge_budgets_new(environment, options->budgets);
    context->events =
        kedge_events_new(environment, &context->metrics, KEDGE_SERVER_EVENT_STREAMS_MAX);
    kedge_status status = context->tickets && context->events && context->budgets
                              ? KEDGE_OK
                              : kedge_fail_no_memory(error);
    if (status == KEDGE_OK) status = kedge_door_start(environment, &context->door, error);
    if (status == KEDGE_OK) {
        status = kedge_workers_start(environment, options->worker_count, &context->workers, error);
    }
    /* The clock looks at the connections, which come with the daemon. */
    if (status == KEDGE_OK) status = start_daemon(made, options, error);
    if (status == KEDGE_OK) status = start_clock(made, error);
    if (status == KEDGE_OK && !options->alone) {
        status = kedge_foreign_commits_start(environment, context->events, &context->backend,
                                             &made->foreign_commits, error);
    }
    if (status != KEDGE_OK) {
        kedge_server_stop(made);
        return status;
    }
    *server = made;
    return KEDGE_OK;
}

void kedge_server_serve(kedge_server *server, kedge_backend *backend)
{
    atomic_store(&server->context.backend, backend);
}

const kedge_budget_limits *kedge_server_budgets(const kedge_server *server)
{
    return kedge_budgets_limits(server->context.budgets);
}

uint16_t kedge_server_port(const kedge_server *server)
{
    return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void kedge_server_committed(void *server, kedge_bytes organization, kedge_bytes project,
                            int64_t version)
{
    kedge_exchange_context *context = &((kedge_server *)server)->context;
    atomic_fetch_add(&context->metrics.commits, 1);
    kedge_event_scope scope = {organization, project, {NULL, 0}};
    kedge_events_committed(context->events, &scope, version);
}

void kedge_server_appended(void *server, kedge_bytes organization, kedge_bytes project,
                           kedge_bytes log, int64_t number)
{
    kedge_exchange_context *context = &((kedge_server *)server)->context;
    kedge_event_scope scope = {organization, project, log};
    atomic_fetch_add(&context->metrics.appends, 1);
    kedge_events_committed(context->events, &scope, number);
}

void kedge_server_end_streams(kedge_server *server)
{
    kedge_tickets_clear(server->context.tickets);
    kedge_events_expire(server->context.events, INT64_MAX);
}

void kedge_server_failed(void *server, const kedge_background_failure *failure)
{
    kedge_exchange_context *context = &((kedge_server *)server)->context;
    atomic_fetch_add(&context->metrics.background_failures[failure->work], 1);
    kedge_failure_log_background(context->log, failure);
}

bool kedge_server_later(void *server, void (*run)(void *argument), void *argument)
{
    const kedge_tenant_name tenant = {.kind = KEDGE_TENANT_SERVER};
    return kedge_workers_submit(((kedge_server *)server)->context.workers, &tenant, run,
                                argument) == KEDGE_WORKERS_TAKEN;
}

/* Gives responses that are under way the time to leave. */
static void wait_for_exchanges(kedge_server *server)
{
    struct timespec step = {.tv_nsec = STOP_STEP_MS * 1000000L};
    for (int waited = 0; waited < STOP_WAIT_MS; waited += STOP_STEP_MS) {
        if (atomic_load(&server->context.running) == 0) return;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
    }
}

static void stop_clock(kedge_server *server)
{
    if (!server->clock_runs) return;
    pthread_mutex_lock(&server->mutex);
    server->stop = true;
    pthread_cond_broadcast(&server->stopped);
    pthread_mutex_unlock(&server->mutex);
    pthread_join(server->clock, NULL);
    pthread_cond_destroy(&server->stopped);
    pthread_mutex_destroy(&server->mutex);
}

/* The order matters: no new connections; streams end; workers finish, so that no connection is
 * suspended when the daemon stops, which would be an error. The listening socket is shut, so that
 * peers are refused at once, but closed last: the daemon may still look at its number. */
void kedge_server_stop(kedge_server *server)
{
    if (!server) return;
    kedge_exchange_context *context = &server->context;
    const kedge_allocator *allocator = context->environment->allocator;
    MHD_socket listening = MHD_INVALID_SOCKET;
    atomic_store(&context->stopping, true);
    if (server->daemon) listening = MHD_quiesce_daemon(server->daemon);
    if (listening != MHD_INVALID_SOCKET) shutdown(listening, SHUT_RDWR);
    stop_clock(server);
    kedge_foreign_commits_stop(server->foreign_commits);
    if (context->events) kedge_events_close(context->events);
    kedge_door_stop(context->door);
    kedge_workers_stop(context->workers);
    kedge_foreign_commits_free(server->foreign_commits);
    if (server->daemon) {
        wait_for_exchanges(server);
        MHD_stop_daemon(server->daemon);
    }
    if (listening != MHD_INVALID_SOCKET) close(listening);
    kedge_workers_free(context->workers);
    kedge_door_free(context->door);
    kedge_events_free(context->events);
    kedge_tickets_free(context->tickets);
    kedge_connections_free(context->connections);
    kedge_budgets_free(context->budgets);
    kedge_release(allocator, server);
}
