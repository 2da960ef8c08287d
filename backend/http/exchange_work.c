/* See exchange_work.h. */
#include "backend/http/exchange_work.h"

#include "backend/ports/deadline.h"
#include "common/error.h"
#include "wire/address.h"

#include <string.h>

/* ---- whose it is ---- */

/* The organization and the project in the path. They stay encoded: they only name a queue. */
static void read_path(const kedge_exchange *exchange, kedge_tenant_name *tenant)
{
    kedge_wire_path path;
    kedge_bytes text = {exchange->target, strcspn(exchange->target, "?")};
    if (!kedge_wire_path_cut(text, &path) || path.count < 3) return;
    if (!kedge_bytes_equal_text(path.part[1], "orgs")) return;
    tenant->organization = path.part[2];
    if (path.count >= 5 && kedge_bytes_equal_text(path.part[3], "projects"))
        tenant->project = path.part[4];
}

/* The organization of who asks; that of the path for those who may use all. */
static kedge_tenant_name tenant_of(const kedge_exchange *exchange)
{
    kedge_tenant_name tenant = {.kind = KEDGE_TENANT_ORGANIZATION};
    read_path(exchange, &tenant);
    bool all = exchange->context->origins->open || strcmp(exchange->who->organization, "*") == 0;
    if (!all) tenant.organization = kedge_bytes_of(exchange->who->organization);
    return tenant;
}

/* ---- a time slice ---- */

static int64_t monotonic_ms(const kedge_exchange *exchange)
{
    const kedge_environment *environment = exchange->context->environment;
    return environment->monotonic_ms(environment->context);
}

static bool is_cancelled(void *context)
{
    kedge_exchange *exchange = context;
    return atomic_load_explicit(&exchange->context->stopping, memory_order_relaxed) ||
           kedge_server_connection_is_gone(exchange->peer);
}

static bool is_awaited(void *context)
{
    const kedge_exchange *exchange = context;
    return kedge_workers_are_awaited(exchange->context->workers);
}

static kedge_deadline deadline_of(kedge_exchange *exchange)
{
    return (kedge_deadline){
        .environment = exchange->context->environment,
        .end_ms = exchange->end_ms,
        .slice_end_ms = monotonic_ms(exchange) + KEDGE_WORKERS_SLICE_MS,
        .is_cancelled = is_cancelled,
        .is_awaited = is_awaited,
        .context = exchange,
    };
}

static void work(void *argument);

static kedge_workers_admission submit(kedge_exchange *exchange)
{
    kedge_tenant_name tenant = tenant_of(exchange);
    return kedge_workers_submit(exchange->context->workers, &tenant, work, exchange);
}

/* The response of the slice before is the exchange's again: it says how far the request came. */
static void take_back(kedge_exchange *exchange)
{
    kedge_buffer_free(&exchange->response.body);
    exchange->response = exchange->before;
    exchange->before =
        (kedge_api_response){.body = kedge_buffer_make(exchange->context->environment->allocator)};
}

/* Queues the request for another slice, which goes on where this one stopped; the response of this
 * one is kept until then. The body waits unpacked, and is counted with that size. When there is no
 * room for it or the queue is full, this response is sent.
 * True: the exchange is no longer the caller's. */
static bool go_on_later(kedge_exchange *exchange)
{
    if (!kedge_exchange_hold(exchange, exchange->body.size)) return false;
    kedge_buffer_free(&exchange->before.body);
    exchange->before = exchange->response;
    exchange->response =
        (kedge_api_response){.body = kedge_buffer_make(exchange->context->environment->allocator)};
    if (submit(exchange) == KEDGE_WORKERS_TAKEN) return true;
    take_back(exchange);
    return false;
}

/* What a slice before has done is told of the whole request: a change, and what it has cost. */
static void add_before(kedge_exchange *exchange)
{
    const kedge_api_response *before = &exchange->before;
    kedge_api_response *response = &exchange->response;
    if (before->status == 0) return;
    response->cost = kedge_cost_plus(&response->cost, &before->cost);
    if (!before->changed) return;
    response->changed = true;
    memcpy(response->other, before->other, sizeof response->other);
}

/* A body may have come for hours: a token that has expired or was revoked meanwhile is none. */
static bool is_still_good(kedge_exchange *exchange)
{
    const kedge_exchange_context *context = exchange->context;
    const kedge_allocator *allocator = context->environment->allocator;
    const char *header = kedge_exchange_header(exchange, "Authorization");
    int64_t took_us = kedge_exchange_now_us() - exchange->started_us;
    kedge_error error = {0};
    if (!header || took_us <= context->request_timeout_ms * 1000) return true;
    kedge_auth_result *again = kedge_allocate(allocator, sizeof *again);
    kedge_status status = again ? kedge_auth_check(context->auth, header, again, &error)
                                : kedge_fail_no_memory(&error);
    kedge_release(allocator, again);
    return kedge_exchange_is_checked(exchange, status, &error);
}

/* True: the exchange waits for its next slice, and is no longer the caller's. */
static bool run(kedge_exchange *exchange)
{
    kedge_error error = {0};
    if (kedge_deadline_check(&error) == KEDGE_OK) {
        if (exchange->before.status != 0 || is_still_good(exchange)) kedge_exchange_run(exchange);
        add_before(exchange);
    } else if (exchange->before.status != 0) {
        take_back(exchange);
    } else {
        kedge_exchange_problem(exchange, 503, error.code, error.message);
    }
    return exchange->response.unfinished && kedge_deadline_ask() != KEDGE_DEADLINE_STOP &&
           go_on_later(exchange);
}

/* Resumes the connection last: from then on the exchange is the daemon's, which may free it. */
static void work(void *argument)
{
    kedge_exchange *exchange = argument;
    struct MHD_Connection *connection = exchange->connection;
    const kedge_deadline deadline = deadline_of(exchange);
    kedge_deadline_set(&deadline);
    bool waits = run(exchange);
    kedge_deadline_set(NULL);
    if (waits) return;
    kedge_buffer_free(&exchange->body);
    if (exchange->overloaded || !kedge_exchange_hold(exchange, exchange->response.body.size))
        kedge_exchange_overload(exchange);
    else
        kedge_exchange_hold_at_most(exchange, exchange->response.body.size);
    kedge_exchange_finish(exchange);
    MHD_resume_connection(connection);
}

kedge_workers_admission kedge_exchange_submit(kedge_exchange *exchange)
{
    exchange->end_ms = monotonic_ms(exchange) + exchange->context->request_timeout_ms;
    return submit(exchange);
}

/* ---- the parts of a response ---- */

static bool make_part(kedge_exchange *exchange)
{
    kedge_error error = {0};
    kedge_buffer_clear(&exchange->response.body);
    if (kedge_deadline_check(&error) != KEDGE_OK) {
        exchange->response.cause = error;
        return false;
    }
    if (kedge_api_go_on(&exchange->response, KEDGE_API_PART_BYTES, &error) != KEDGE_OK)
        return false;
    return kedge_exchange_hold(exchange, exchange->response.body.size);
}

/* As `work`. */
static void work_on_part(void *argument)
{
    kedge_exchange *exchange = argument;
    struct MHD_Connection *connection = exchange->connection;
    const kedge_deadline deadline = deadline_of(exchange);
    kedge_deadline_set(&deadline);
    exchange->parts.failed = !make_part(exchange);
    kedge_deadline_set(NULL);
    if (!exchange->parts.failed) {
        exchange->parts.made_bytes += exchange->response.body.size;
        kedge_budget_charge(&exchange->account, exchange->response.body.size);
    }
    atomic_store(&exchange->state, KEDGE_EXCHANGE_RESPONDED);
    MHD_resume_connection(connection);
}

kedge_workers_admission kedge_exchange_submit_part(kedge_exchange *exchange)
{
    kedge_tenant_name tenant = tenant_of(exchange);
    exchange->end_ms = monotonic_ms(exchange) + exchange->context->request_timeout_ms;
    return kedge_workers_go_on(exchange->context->workers, &tenant, work_on_part, exchange);
}
