/* The end of an exchange: what it holds, and the response that stands ready. */
#include "backend/http/exchange.h"

#include "backend/front/response.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t kedge_exchange_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static size_t counted_of(size_t size)
{
    return size > KEDGE_SERVER_SMALL_BYTES ? size - KEDGE_SERVER_SMALL_BYTES : 0;
}

void kedge_exchange_hold_at_most(kedge_exchange *exchange, size_t size)
{
    size_t counted = counted_of(size);
    if (exchange->held_bytes > counted) {
        atomic_fetch_sub(&exchange->context->metrics.held_bytes, exchange->held_bytes - counted);
        exchange->held_bytes = counted;
    }
    if (exchange->owned_bytes > size) {
        kedge_budget_give(&exchange->account, KEDGE_BUDGET_HELD, exchange->owned_bytes - size);
        exchange->owned_bytes = size;
    }
}

void kedge_exchange_let_go(kedge_exchange *exchange)
{
    kedge_exchange_hold_at_most(exchange, 0);
}

bool kedge_exchange_hold(kedge_exchange *exchange, size_t size)
{
    exchange->refusal = (kedge_budget_refusal){.name = NULL};
    if (size > exchange->owned_bytes) {
        if (!kedge_budget_take(&exchange->account, KEDGE_BUDGET_HELD, size - exchange->owned_bytes,
                               &exchange->refusal)) {
            kedge_exchange_let_go(exchange);
            return false;
        }
        exchange->owned_bytes = size;
    }
    size_t counted = counted_of(size);
    if (counted <= exchange->held_bytes) return true;
    size_t more = counted - exchange->held_bytes;
    size_t held = atomic_fetch_add(&exchange->context->metrics.held_bytes, more) + more;
    exchange->held_bytes = counted;
    if (held <= KEDGE_SERVER_HELD_BYTES) return true;
    kedge_exchange_let_go(exchange);
    return false;
}

void kedge_exchange_forget_who(kedge_exchange *exchange)
{
    kedge_release(exchange->context->environment->allocator, exchange->who);
    exchange->who = NULL;
}

void kedge_exchange_log(kedge_exchange *exchange)
{
    kedge_exchange_context *context = exchange->context;
    const kedge_parts *parts = &exchange->parts;
    bool cut = parts->used && !parts->ended;
    if (cut) atomic_fetch_add(&context->metrics.cut, 1);
    atomic_fetch_add(&context->metrics.damaged, (uint64_t)exchange->response.damaged_items);
    if (exchange->response.missing.wanted > 0) atomic_fetch_add(&context->metrics.missing, 1);
    kedge_response_log(
        context->log,
        &(kedge_response_line){.level = parts->failed ? KEDGE_LOGGER_WARNING : KEDGE_LOGGER_DEBUG,
                               .method = exchange->method,
                               .path = {exchange->target, strcspn(exchange->target, "?")},
                               .response = &exchange->response,
                               .took_us = kedge_exchange_now_us() - exchange->started_us,
                               .received_bytes = exchange->received,
                               .response_bytes =
                                   parts->used ? parts->made_bytes : exchange->response.body.size,
                               .cut = cut});
}

/* Of a response in parts this is the first part: its line in the log is written, and `who` freed,
 * when the last one was sent. */
void kedge_exchange_finish(kedge_exchange *exchange)
{
    int64_t took_us = kedge_exchange_now_us() - exchange->started_us;
    if (exchange->stream) exchange->response.status = 200;
    kedge_metrics_responded(&exchange->context->metrics, exchange->response.status, took_us);
    if (exchange->response.exceeded)
        kedge_budgets_refused_named(exchange->context->budgets, exchange->response.exceeded);
    if (!exchange->refused) {
        kedge_budget_charge(&exchange->account, exchange->received + exchange->response.body.size);
    }
    kedge_exchange_audit(exchange);
    exchange->parts.used = exchange->response.rest.context != NULL;
    exchange->parts.made_bytes = exchange->response.body.size;
    if (!exchange->parts.used) {
        kedge_exchange_log(exchange);
        kedge_exchange_forget_who(exchange);
    }
    /* Last: it makes what this thread has written visible to the daemon's. */
    atomic_store(&exchange->state, KEDGE_EXCHANGE_RESPONDED);
}

void kedge_exchange_overload(kedge_exchange *exchange)
{
    if (atomic_load(&exchange->context->stopping)) {
        kedge_api_problem(&exchange->response, 503, "unavailable",
                          "the server is stopping; try again");
        return;
    }
    kedge_exchange_refuse(exchange, &exchange->refusal);
}

void kedge_exchange_refuse_crowd(kedge_exchange *exchange)
{
    char detail[128];
    snprintf(detail, sizeof detail,
             "%d requests of this organization wait already; try again in 1 s",
             KEDGE_WORKERS_TENANT_MAX);
    atomic_fetch_add(&exchange->context->metrics.overloaded, 1);
    kedge_api_problem(&exchange->response, 429, "too-many-requests", detail);
    exchange->response.retry_after_s = 1;
}
