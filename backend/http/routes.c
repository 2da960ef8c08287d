/* Whether a request is admitted, and which part of the server answers. */
#include "backend/http/exchange.h"

#include "backend/front/body.h"
#include "backend/front/health.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* Compression pays on a network, not on loopback. */
static bool peer_is_remote(kedge_exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr) return true;
    if (info->client_addr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)info->client_addr;
        return ntohl(v4->sin_addr.s_addr) >> 24 != 127;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)info->client_addr;
    return info->client_addr->sa_family != AF_INET6 || !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Whether the exchange may hold a response of `size` bytes. The request's body counts as well: it
 * is kept until the response is ready. */
static bool has_room(void *context, size_t size)
{
    kedge_exchange *exchange = context;
    exchange->overloaded = !kedge_exchange_hold(exchange, exchange->body.size + size);
    return !exchange->overloaded;
}

static void run_api(kedge_exchange *exchange, kedge_backend *backend, const char *method,
                    const kedge_identity *identity, kedge_bytes path, kedge_bytes query)
{
    bool packed = kedge_body_accepts_gzip(kedge_exchange_header(exchange, "Accept-Encoding"));
    if (!exchange->decoded &&
        !kedge_body_decode(kedge_exchange_header(exchange, "Content-Encoding"), exchange->truncated,
                           &exchange->body, &exchange->response)) {
        return;
    }
    exchange->decoded = true;
    kedge_api_request request = {
        .method = kedge_bytes_of(method),
        .path = path,
        .query = query,
        .body = kedge_buffer_bytes(&exchange->body),
        .body_truncated = exchange->truncated,
        .accepts_gzip = packed,
        .takes_parts =
            exchange->takes_parts && exchange->who && strcmp(exchange->method, "HEAD") != 0,
        .goes_on = exchange->before.status != 0,
        .range = kedge_bytes_of(kedge_exchange_header(exchange, "Range")),
        .identity = identity,
        .has_room = exchange->who ? has_room : NULL,
        .room_context = exchange,
    };
    kedge_backend_handle(backend, &request, &exchange->response);
    if (packed && peer_is_remote(exchange)) kedge_body_compress(&exchange->response);
}

/* Whether a browser sent it for a page that the server does not know, without saying the page's
 * origin: as for the source of an image. */
static bool is_for_a_strange_page(kedge_exchange *exchange)
{
    const char *site = kedge_exchange_header(exchange, "Sec-Fetch-Site");
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* In open mode a web page of another site, or a name rebound to loopback, is refused. */
static bool check_open_mode(kedge_exchange *exchange)
{
    const kedge_cors_origins *origins = exchange->context->origins;
    if (!origins->open) return true;
    const char *host = kedge_exchange_header(exchange, "Host");
    const char *origin = kedge_exchange_header(exchange, "Origin");
    if (host && kedge_host_is_loopback(host) &&
        (origin ? kedge_cors_origins_allow(origins, origin) : !is_for_a_strange_page(exchange))) {
        return true;
    }
    kedge_exchange_problem(
        exchange, 403, "not-allowed",
        "a server in open mode accepts only requests to a loopback name and from loopback pages");
    return false;
}

static kedge_bytes path_of(const kedge_exchange *exchange)
{
    return (kedge_bytes){exchange->target, strcspn(exchange->target, "?")};
}

/* HEAD is a GET of which the daemon sends no body. */
static const char *method_of(const kedge_exchange *exchange)
{
    return strcmp(exchange->method, "HEAD") == 0 ? "GET" : exchange->method;
}

static kedge_bytes query_of(const kedge_exchange *exchange)
{
    const char *mark = exchange->target + path_of(exchange).size;
    return *mark == '?' ? kedge_bytes_of(mark + 1) : (kedge_bytes){NULL, 0};
}

static bool is_for_everybody(const kedge_exchange *exchange)
{
    kedge_bytes path = path_of(exchange);
    return kedge_front_serves(exchange->method, path) || kedge_api_is_for_everybody(path);
}

static kedge_admission enter(kedge_exchange *exchange, const kedge_budget_owner *owner)
{
    return kedge_exchange_enter(exchange, owner) ? KEDGE_ADMITTED : KEDGE_REFUSED;
}

kedge_admission kedge_exchange_admit_user(kedge_exchange *exchange)
{
    const kedge_auth_result *who = exchange->who;
    kedge_budget_owner owner = kedge_budget_owner_of(who->organization, who->user);
    return enter(exchange, &owner);
}

kedge_admission kedge_exchange_admit(kedge_exchange *exchange)
{
    kedge_exchange_context *context = exchange->context;
    if (!check_open_mode(exchange)) return KEDGE_REFUSED;
    if (is_for_everybody(exchange)) return KEDGE_ADMITTED;
    exchange->who = kedge_allocate(context->environment->allocator, sizeof *exchange->who);
    if (!exchange->who) {
        kedge_exchange_refuse(exchange, &(kedge_budget_refusal){0});
        return KEDGE_REFUSED;
    }
    kedge_budget_owner owner;
    kedge_ticket_state ticket =
        kedge_exchange_redeem(exchange, path_of(exchange), query_of(exchange), &owner);
    if (ticket == KEDGE_TICKET_REFUSED) return KEDGE_REFUSED;
    if (ticket == KEDGE_TICKET_GOOD) return enter(exchange, &owner);
    kedge_admission admission = kedge_exchange_recognize(exchange);
    return admission == KEDGE_ADMITTED ? kedge_exchange_admit_user(exchange) : admission;
}

/* The metrics tell of all organizations. */
static bool may_read_metrics(kedge_exchange *exchange)
{
    const kedge_auth_result *who = exchange->who;
    if (exchange->context->origins->open) return true;
    if (strcmp(who->organization, "*") == 0 || strcmp(who->role, "metrics") == 0) return true;
    kedge_exchange_problem(exchange, 403, "not-allowed",
                           "the metrics need a token with the role metrics, or one for every "
                           "organization");
    return false;
}

/* False with a problem. */
static bool has_backend(kedge_exchange *exchange, kedge_backend **backend)
{
    *backend = atomic_load(&exchange->context->backend);
    if (*backend) return true;
    kedge_exchange_problem(exchange, 503, "unavailable", "the server is starting");
    return false;
}

/* The metrics are refused until there is a backend: what they are read from is opened before it. */
static bool run_metrics(kedge_exchange *exchange, kedge_bytes path)
{
    kedge_exchange_context *context = exchange->context;
    if (!kedge_bytes_equal_text(path, "/v1/metrics")) return false;
    kedge_backend *backend;
    if (strcmp(method_of(exchange), "GET") != 0) {
        kedge_api_problem_of_method(&exchange->response, "GET, HEAD");
        return true;
    }
    if (!may_read_metrics(exchange) || !has_backend(exchange, &backend)) return true;
    exchange->response.status = 200;
    exchange->response.content_type = "text/plain; version=0.0.4";
    kedge_metrics_write(&context->metrics, &exchange->response.body);
    kedge_buffer_append_format(&exchange->response.body,
                               "# TYPE kedge_requests_waiting gauge\nkedge_requests_waiting %zu\n",
                               kedge_workers_waiting(context->workers));
    kedge_buffer_append_format(&exchange->response.body,
                               "# TYPE kedge_token_checks_total counter\n"
                               "kedge_token_checks_total %llu\n",
                               (unsigned long long)kedge_auth_checks(context->auth));
    kedge_budgets_write_metrics(context->budgets, &exchange->response.body);
    kedge_connections_write_metrics(context->connections, &exchange->response.body);
    if (context->write_metrics) {
        context->write_metrics(context->write_metrics_context, &exchange->response.body);
    }
    return true;
}

bool kedge_exchange_run_at_once(kedge_exchange *exchange)
{
    static const kedge_identity nobody = {.user = "", .role = "", .organization = ""};
    kedge_bytes path = path_of(exchange);
    kedge_backend *backend;
    if (exchange->who) return run_metrics(exchange, path);
    if (kedge_front_serves(exchange->method, path)) {
        kedge_front_serve(exchange->method, &exchange->response);
        return true;
    }
    if (has_backend(exchange, &backend))
        run_api(exchange, backend, method_of(exchange), &nobody, path, query_of(exchange));
    return true;
}

void kedge_exchange_run(kedge_exchange *exchange)
{
    kedge_bytes path = path_of(exchange);
    kedge_backend *backend;
    if (!has_backend(exchange, &backend)) return;
    if (kedge_exchange_run_events(exchange, backend, path)) return;
    run_api(exchange, backend, method_of(exchange), &exchange->who->identity, path,
            query_of(exchange));
}
