/* What a worker does with a request: who asks, which part of the server answers. */
#include "backend/http/exchange.h"

#include "common/gzip.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define COMPRESS_FROM_BYTES 1024

static const char *header(kedge_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

static void problem(kedge_exchange *exchange, int status, const char *code, const char *detail)
{
    kedge_api_problem(&exchange->response, status, code, detail);
}

static void answer_json(kedge_exchange *exchange, const char *text)
{
    exchange->response.status = 200;
    exchange->response.content_type = "application/json";
    kedge_buffer_append_text(&exchange->response.body, text);
}

/* The path's parts of /v1/orgs/{org}/projects/{project}/{rest}; false for any other path. */
static bool split_project(kedge_bytes path, kedge_bytes *organization, kedge_bytes *project,
                          kedge_bytes *rest)
{
    kedge_bytes parts[6] = {{NULL, 0}};
    size_t count = 0;
    const char *at = path.data;
    const char *end = path.data + path.size;
    while (at < end && *at == '/' && count < 6) {
        const char *start = ++at;
        while (at < end && (*at != '/' || count == 5))
            at++;
        parts[count++] = (kedge_bytes){start, (size_t)(at - start)};
    }
    if (count != 6 || !kedge_bytes_equal_text(parts[0], "v1") ||
        !kedge_bytes_equal_text(parts[1], "orgs") ||
        !kedge_bytes_equal_text(parts[3], "projects")) {
        return false;
    }
    *organization = parts[2];
    *project = parts[4];
    *rest = parts[5];
    return true;
}

/* Removes the content encoding. False with a problem. */
static bool decode_body(kedge_exchange *exchange)
{
    const char *encoding = header(exchange, "Content-Encoding");
    if (!encoding || strcmp(encoding, "identity") == 0) return true;
    if (strcmp(encoding, "gzip") != 0) {
        problem(exchange, 415, "content-encoding-unsupported",
                "a body may be sent as it is or with Content-Encoding: gzip");
        return false;
    }
    kedge_buffer plain = kedge_buffer_make(exchange->context->environment->allocator);
    kedge_error error = {0};
    kedge_status status = exchange->truncated
                              ? KEDGE_LIMIT_EXCEEDED
                              : kedge_gunzip(kedge_buffer_bytes(&exchange->body),
                                             KEDGE_LIMIT_PUSH_BYTES, &plain, &error);
    if (status == KEDGE_OK) {
        kedge_buffer_free(&exchange->body);
        exchange->body = plain;
        return true;
    }
    kedge_buffer_free(&plain);
    if (status == KEDGE_LIMIT_EXCEEDED) {
        problem(exchange, 413, "body-too-large", "the body is over 16 MiB when unpacked");
    } else if (status == KEDGE_NO_MEMORY) {
        problem(exchange, 503, "overloaded", "the server is out of memory; try again");
    } else {
        problem(exchange, 400, "body-invalid", "the body is no gzip stream");
    }
    return false;
}

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

static void compress(kedge_exchange *exchange)
{
    kedge_api_response *response = &exchange->response;
    const char *accepted = header(exchange, "Accept-Encoding");
    if (response->content_encoding || response->body.size < COMPRESS_FROM_BYTES || !accepted ||
        !strstr(accepted, "gzip") || !peer_is_remote(exchange)) {
        return;
    }
    kedge_buffer packed = kedge_buffer_make(exchange->context->environment->allocator);
    if (kedge_gzip(kedge_buffer_bytes(&response->body), &packed, NULL) == KEDGE_OK) {
        kedge_buffer_free(&response->body);
        response->body = packed;
        response->content_encoding = "gzip";
    } else {
        kedge_buffer_free(&packed);
    }
}

static void run_api(kedge_exchange *exchange, kedge_backend *backend,
                    const kedge_identity *identity, kedge_bytes path, kedge_bytes query)
{
    if (!decode_body(exchange)) return;
    const char *accepted = header(exchange, "Accept-Encoding");
    kedge_api_request request = {
        .method = kedge_bytes_of(exchange->method),
        .path = path,
        .query = query,
        .body = kedge_buffer_bytes(&exchange->body),
        .body_truncated = exchange->truncated,
        .accepts_gzip = accepted && strstr(accepted, "gzip"),
        .range = kedge_bytes_of(header(exchange, "Range")),
        .identity = identity,
    };
    kedge_backend_handle(backend, &request, &exchange->response);
    compress(exchange);
}

/* Subscribes before it reads the version: what is committed in between is told as well. */
static void run_events(kedge_exchange *exchange, kedge_backend *backend,
                       const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project)
{
    kedge_event_stream *stream = kedge_events_subscribe(exchange->context->events, organization,
                                                        project, exchange->connection);
    if (!stream) {
        problem(exchange, 503, "overloaded", "the server has as many event streams as it allows");
        exchange->response.retry_after_s = 5;
        return;
    }
    int64_t version = 0;
    kedge_error error = {0};
    kedge_status status =
        kedge_backend_current_version(backend, identity, organization, project, &version, &error);
    if (status == KEDGE_OK) {
        kedge_event_stream_tell(stream, version);
        exchange->stream = stream;
        return;
    }
    kedge_event_stream_free(stream);
    if (status == KEDGE_NOT_FOUND || status == KEDGE_FORBIDDEN) {
        problem(exchange, 404, "project-not-found", "there is no such project");
    } else {
        problem(exchange, 503, "unavailable", error.message);
        exchange->response.retry_after_s = 1;
    }
}

static void run_ticket(kedge_exchange *exchange, kedge_backend *backend,
                       const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project, kedge_bytes scope)
{
    int64_t version = 0;
    if (kedge_backend_current_version(backend, identity, organization, project, &version, NULL) !=
        KEDGE_OK) {
        problem(exchange, 404, "project-not-found", "there is no such project");
        return;
    }
    char ticket[KEDGE_TICKET_SIZE];
    char text[KEDGE_TICKET_SIZE + 16];
    kedge_tickets_issue(exchange->context->tickets, scope, ticket);
    snprintf(text, sizeof text, "{\"ticket\":\"%s\"}", ticket);
    answer_json(exchange, text);
}

/* The identity of a one-use ticket: it may read the events of the one project. */
static bool redeem(kedge_exchange *exchange, kedge_bytes query, kedge_bytes scope,
                   kedge_bytes *organization, kedge_auth_result *result)
{
    static const char name[] = "ticket=";
    if (!kedge_bytes_start_with(query, KEDGE_BYTES("ticket="))) return false;
    kedge_bytes ticket = {query.data + sizeof name - 1, query.size - (sizeof name - 1)};
    if (!kedge_tickets_redeem(exchange->context->tickets, scope, ticket)) return false;
    memset(result, 0, sizeof *result);
    snprintf(result->organization, sizeof result->organization, "%.*s", (int)organization->size,
             organization->data);
    result->identity.user = result->user;
    result->identity.role = result->role;
    result->identity.organization = result->organization;
    return true;
}

static bool authenticate(kedge_exchange *exchange, kedge_auth_result *result)
{
    kedge_error error = {0};
    kedge_status status = kedge_auth_check(exchange->context->auth,
                                           header(exchange, "Authorization"), result, &error);
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_UNAUTHORIZED) {
        problem(exchange, 401, error.code, error.message);
    } else {
        problem(exchange, 503, "unavailable", error.message);
    }
    return false;
}

static void run_authenticated(kedge_exchange *exchange, kedge_backend *backend, kedge_bytes path,
                              kedge_bytes query)
{
    kedge_auth_result who;
    kedge_bytes organization = {NULL, 0};
    kedge_bytes project = {NULL, 0};
    kedge_bytes rest = {NULL, 0};
    bool in_project = split_project(path, &organization, &project, &rest);
    bool events = in_project && kedge_bytes_equal_text(rest, "events");
    bool get = strcmp(exchange->method, "GET") == 0;
    /* Everything up to the project names what a ticket is for. */
    kedge_bytes scope = {path.data, in_project ? (size_t)(rest.data - path.data) : 0};
    if (!(events && get && redeem(exchange, query, scope, &organization, &who)) &&
        !authenticate(exchange, &who)) {
        return;
    }
    if (events && get) {
        run_events(exchange, backend, &who.identity, organization, project);
    } else if (in_project && kedge_bytes_equal_text(rest, "events/ticket") &&
               strcmp(exchange->method, "POST") == 0) {
        run_ticket(exchange, backend, &who.identity, organization, project, scope);
    } else {
        run_api(exchange, backend, &who.identity, path, query);
    }
}

/* In open mode a web page of another site, or a name rebound to loopback, is refused. */
static bool check_open_mode(kedge_exchange *exchange)
{
    const kedge_origins *origins = exchange->context->origins;
    if (!origins->open) return true;
    const char *host = header(exchange, "Host");
    const char *origin = header(exchange, "Origin");
    if (host && kedge_host_is_loopback(host) && (!origin || kedge_origins_allow(origins, origin))) {
        return true;
    }
    problem(exchange, 403, "not-allowed",
            "a server in open mode answers only under a loopback name, and only to loopback pages");
    return false;
}

void kedge_exchange_run(kedge_exchange *exchange)
{
    static const kedge_identity nobody = {.user = "", .role = "", .organization = ""};
    kedge_bytes target = kedge_bytes_of(exchange->target);
    const char *mark = memchr(target.data, '?', target.size);
    kedge_bytes path = {target.data, mark ? (size_t)(mark - target.data) : target.size};
    kedge_bytes query = {mark ? mark + 1 : NULL, mark ? target.size - path.size - 1 : 0};
    kedge_backend *backend = atomic_load(&exchange->context->backend);

    if (!check_open_mode(exchange)) return;
    if (strcmp(exchange->method, "OPTIONS") == 0) {
        exchange->response.status = 204;
    } else if (kedge_bytes_equal_text(path, "/v1/health")) {
        answer_json(exchange, "{\"status\":\"ok\"}");
    } else if (kedge_bytes_equal_text(path, "/v1/metrics")) {
        exchange->response.status = 200;
        exchange->response.content_type = "text/plain; version=0.0.4";
        kedge_metrics_write(&exchange->context->metrics, &exchange->response.body);
    } else if (!backend) {
        problem(exchange, 503, "unavailable", "the server is starting");
        exchange->response.retry_after_s = 1;
    } else if (kedge_bytes_equal_text(path, "/v1/limits")) {
        run_api(exchange, backend, &nobody, path, query);
    } else {
        run_authenticated(exchange, backend, path, query);
    }
}
