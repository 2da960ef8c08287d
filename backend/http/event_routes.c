/* The paths of event streams: {project}/events and {project}/events/ticket, and the same below
 * {project}/logs/{log}. */
#include "backend/http/exchange.h"

#include "common/names.h"
#include "common/percent.h"
#include "wire/address.h"
#include "wire/poke.h"

#include <stdio.h>
#include <string.h>

/* One request for the events of one project, or of one log. */
typedef struct event_call {
    kedge_exchange *exchange;
    kedge_backend *backend;
    kedge_bytes encoded_organization;
    kedge_bytes encoded_project;
    kedge_bytes encoded_log; /* empty: the project's own */
    bool stream;             /* asked for; otherwise a ticket */
    char organization[KEDGE_LIMIT_NAME_BYTES + 1];
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
    char log[KEDGE_LIMIT_NAME_BYTES + 1];
    /* "organization/project" or "organization/project/log": what a ticket is for */
    char scope[3 * KEDGE_LIMIT_NAME_BYTES + 3];
    const kedge_auth_result *who;
} event_call;

/* ---- the address ---- */

static bool matches(const kedge_wire_path *path, const char *pattern)
{
    kedge_wire_path wanted;
    return kedge_wire_path_cut(kedge_bytes_of(pattern), &wanted) &&
           kedge_wire_path_matches(&wanted, path);
}

/* False for any other path than those of event streams. */
static bool split(kedge_bytes path, event_call *call)
{
    kedge_wire_path parts;
    if (!kedge_wire_path_cut(path, &parts)) return false;
    bool of_log = matches(&parts, KEDGE_WIRE_PATH_LOG_EVENTS);
    call->stream = of_log || matches(&parts, KEDGE_WIRE_PATH_EVENTS);
    if (!call->stream) of_log = matches(&parts, KEDGE_WIRE_PATH_LOG_TICKET);
    if (!call->stream && !of_log && !matches(&parts, KEDGE_WIRE_PATH_TICKET)) return false;
    if (of_log) call->encoded_log = parts.part[6];
    call->encoded_organization = parts.part[2];
    call->encoded_project = parts.part[4];
    return true;
}

static kedge_status decode_name(event_call *call, const char *what, kedge_bytes encoded,
                                char name[KEDGE_LIMIT_NAME_BYTES + 1], kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(call->exchange->context->environment->allocator);
    bool decoded = kedge_percent_decode(encoded, &text, error);
    kedge_status status = decoded ? kedge_buffer_status(&text, error) : KEDGE_INVALID_ARGUMENT;
    if (status == KEDGE_OK) status = kedge_check_name(what, kedge_buffer_bytes(&text), error);
    if (status == KEDGE_OK) memcpy(name, text.data, text.size + 1);
    kedge_buffer_free(&text);
    return status;
}

static bool read_names(event_call *call)
{
    kedge_error error = {0};
    kedge_status status =
        decode_name(call, "organization", call->encoded_organization, call->organization, &error);
    if (status == KEDGE_OK) {
        status = decode_name(call, "project", call->encoded_project, call->project, &error);
    }
    if (status == KEDGE_OK && call->encoded_log.data != NULL)
        status = decode_name(call, "log", call->encoded_log, call->log, &error);
    if (status == KEDGE_OK) {
        snprintf(call->scope, sizeof call->scope, "%s/%s%s%s", call->organization, call->project,
                 call->log[0] == '\0' ? "" : "/", call->log);
        return true;
    }
    if (status == KEDGE_NO_MEMORY) {
        kedge_exchange_problem(call->exchange, 503, "overloaded", "the server is out of memory");
    } else {
        kedge_exchange_problem(call->exchange, 400, "name-invalid", error.message);
    }
    return false;
}

/* The value of the parameter `ticket`. False with a problem when it is given twice. */
static bool find_ticket(event_call *call, kedge_bytes query, kedge_bytes *ticket)
{
    bool present;
    kedge_error error = {0};
    *ticket = (kedge_bytes){NULL, 0};
    if (kedge_wire_query_find(query, "ticket", ticket, &present, &error) == KEDGE_OK) return true;
    kedge_exchange_problem(call->exchange, 400, error.code, error.message);
    return false;
}

/* ---- the responses ---- */

static void refuse_project(event_call *call, kedge_status status)
{
    if (status == KEDGE_NOT_FOUND || status == KEDGE_FORBIDDEN) {
        bool log = call->log[0] != '\0';
        kedge_exchange_problem(call->exchange, 404, log ? "log-not-found" : "project-not-found",
                               log ? "there is no such log" : "there is no such project");
    } else {
        kedge_exchange_problem(call->exchange, 503, "unavailable",
                               "the backend is not available now; try again");
    }
}

/* The project's version, or the number of the log's last entry. */
static kedge_status read_version(event_call *call, int64_t *version)
{
    if (call->log[0] != '\0') {
        return kedge_backend_current_number(
            call->backend, &call->who->identity, kedge_bytes_of(call->organization),
            kedge_bytes_of(call->project), kedge_bytes_of(call->log), version, NULL);
    }
    return kedge_backend_current_version(call->backend, &call->who->identity,
                                         kedge_bytes_of(call->organization),
                                         kedge_bytes_of(call->project), version, NULL);
}

/* Subscribes before it reads the version: what is committed in between is told as well. */
static void open_stream(event_call *call)
{
    kedge_exchange *exchange = call->exchange;
    kedge_event_scope scope = {kedge_bytes_of(call->organization), kedge_bytes_of(call->project),
                               kedge_bytes_of(call->log)};
    kedge_budget_refusal refusal = exchange->guest_refusal;
    kedge_event_stream *stream = NULL;
    if (!exchange->guest) {
        stream = kedge_events_subscribe(exchange->context->events, &scope, call->who->expires_ms,
                                        &exchange->account, exchange->connection, &refusal);
    }
    if (!stream) {
        kedge_exchange_refuse(exchange, &refusal);
        return;
    }
    int64_t version = 0;
    kedge_status status = read_version(call, &version);
    if (status == KEDGE_OK) {
        kedge_event_stream_tell(stream, version);
        exchange->stream = stream;
    } else {
        kedge_event_stream_free(stream);
        refuse_project(call, status);
    }
}

static void issue_ticket(event_call *call)
{
    kedge_exchange *exchange = call->exchange;
    int64_t version = 0;
    kedge_status status = read_version(call, &version);
    if (status != KEDGE_OK) {
        refuse_project(call, status);
        return;
    }
    char ticket[KEDGE_TICKET_SIZE];
    kedge_budgets *budgets = exchange->context->budgets;
    kedge_budget_refusal refusal = {0};
    const kedge_auth_result *who = call->who;
    kedge_ticket_grant grant = {.owner = kedge_budget_owner_of(who->organization, who->user),
                                .expires_ms = who->expires_ms,
                                .admin = who->identity.admin};
    memcpy(grant.user, who->user, sizeof grant.user);
    if (!kedge_tickets_issue(exchange->context->tickets, kedge_budgets_limits(budgets),
                             kedge_bytes_of(call->scope), &grant, ticket, &refusal)) {
        if (refusal.name) kedge_budgets_refused(budgets, KEDGE_BUDGET_TICKETS, refusal.scope);
        kedge_exchange_refuse(exchange, &refusal);
        return;
    }
    exchange->response.status = 200;
    exchange->response.content_type = "application/json";
    kedge_wire_ticket_write(ticket, &exchange->response.body);
}

/* ---- who asks ---- */

/* The identity of a ticket: who asked for it, for the one project. */
static bool redeem(event_call *call, kedge_bytes ticket, kedge_budget_owner *owner)
{
    kedge_auth_result *who = call->exchange->who;
    kedge_ticket_grant grant;
    who->generation = kedge_auth_generation(call->exchange->context->auth);
    if (!kedge_tickets_redeem(call->exchange->context->tickets, kedge_bytes_of(call->scope), ticket,
                              &grant)) {
        kedge_exchange_problem(call->exchange, 401, "token-invalid",
                               "the ticket is unknown, used, expired, or for another project");
        return false;
    }
    *owner = grant.owner;
    who->expires_ms = grant.expires_ms;
    memcpy(who->user, grant.user, sizeof grant.user);
    memcpy(who->organization, call->organization, sizeof call->organization);
    who->identity.user = who->user;
    who->identity.role = who->role;
    who->identity.organization = who->organization;
    who->identity.admin = grant.admin;
    return true;
}

/* Its token may have been revoked after it was checked, and after all streams were ended. */
static void refuse_changed(event_call *call)
{
    kedge_exchange *exchange = call->exchange;
    if (exchange->stream) kedge_event_stream_free(exchange->stream);
    exchange->stream = NULL;
    kedge_exchange_problem(exchange, 503, "unavailable",
                           "the keys of the server have changed meanwhile; try again");
    exchange->response.retry_after_s = 1;
}

kedge_ticket_state kedge_exchange_redeem(kedge_exchange *exchange, kedge_bytes path,
                                         kedge_bytes query, kedge_budget_owner *owner)
{
    event_call call = {.exchange = exchange};
    kedge_bytes ticket = {NULL, 0};
    if (strcmp(exchange->method, "GET") != 0 || !split(path, &call) || !call.stream)
        return KEDGE_TICKET_ABSENT;
    if (!find_ticket(&call, query, &ticket)) return KEDGE_TICKET_REFUSED;
    if (!ticket.data) return KEDGE_TICKET_ABSENT;
    return read_names(&call) && redeem(&call, ticket, owner) ? KEDGE_TICKET_GOOD
                                                             : KEDGE_TICKET_REFUSED;
}

bool kedge_exchange_run_events(kedge_exchange *exchange, kedge_backend *backend, kedge_bytes path)
{
    event_call call = {.exchange = exchange, .backend = backend, .who = exchange->who};
    if (!split(path, &call)) return false;
    if (strcmp(exchange->method, call.stream ? "GET" : "POST") != 0) {
        kedge_api_problem_of_method(&exchange->response, call.stream ? "GET" : "POST");
        return true;
    }
    if (!read_names(&call)) return true;
    if (call.stream) {
        open_stream(&call);
    } else {
        issue_ticket(&call);
    }
    if (call.who->generation != kedge_auth_generation(exchange->context->auth))
        refuse_changed(&call);
    return true;
}
