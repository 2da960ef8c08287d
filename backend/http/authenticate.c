/* Who asks: the token of an exchange, whose budgets it is counted in, and the problem that refuses
 * it. */
#include "backend/http/exchange.h"

#include "common/percent.h"
#include "wire/address.h"

#include <stdio.h>
#include <string.h>

const char *kedge_exchange_header(kedge_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

void kedge_exchange_problem(kedge_exchange *exchange, int status, const char *code,
                            const char *detail)
{
    kedge_api_problem(&exchange->response, status, code, detail);
}

/* In open mode a client on loopback says itself who its user is. */
static bool read_open_user(kedge_exchange *exchange, kedge_auth_result *who)
{
    const char *encoded = kedge_exchange_header(exchange, KEDGE_WIRE_USER_HEADER);
    if (encoded == NULL) return true;
    kedge_buffer user = kedge_buffer_make(exchange->context->environment->allocator);
    bool good = kedge_percent_decode(kedge_bytes_of(encoded), &user, NULL) && !user.no_memory &&
                user.size <= KEDGE_USER_BYTES_MAX;
    if (good && user.size > 0) memcpy(who->user, user.data, user.size);
    kedge_buffer_free(&user);
    if (!good) {
        kedge_exchange_problem(exchange, 400, "user-invalid",
                               "the header " KEDGE_WIRE_USER_HEADER
                               " must be percent-encoded UTF-8 of at most 255 bytes");
    }
    return good;
}

bool kedge_exchange_is_checked(kedge_exchange *exchange, kedge_status status,
                               const kedge_error *error)
{
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_UNAUTHORIZED) {
        kedge_exchange_problem(exchange, 401, error->code, error->message);
    } else {
        kedge_exchange_problem(exchange, 503, "unavailable", "the token cannot be checked now");
    }
    return false;
}

static bool conclude(kedge_exchange *exchange, kedge_status status, const kedge_error *error)
{
    return kedge_exchange_is_checked(exchange, status, error) &&
           (!exchange->context->origins->open || read_open_user(exchange, exchange->who));
}

kedge_admission kedge_exchange_recognize(kedge_exchange *exchange)
{
    kedge_error error = {0};
    const char *header = kedge_exchange_header(exchange, "Authorization");
    kedge_status status = kedge_auth_look(exchange->context->auth, header, exchange->who, &error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_UNDECIDED;
    return conclude(exchange, status, &error) ? KEDGE_ADMITTED : KEDGE_REFUSED;
}

bool kedge_exchange_authenticate(kedge_exchange *exchange)
{
    kedge_error error = {0};
    const char *header = kedge_exchange_header(exchange, "Authorization");
    kedge_status status = kedge_auth_check(exchange->context->auth, header, exchange->who, &error);
    return conclude(exchange, status, &error);
}

void kedge_exchange_refuse(kedge_exchange *exchange, const kedge_budget_refusal *refusal)
{
    if (!refusal->name) {
        atomic_fetch_add(&exchange->context->metrics.overloaded, 1);
        kedge_exchange_problem(exchange, 503, "overloaded",
                               "the server holds as much as it may at once; try again");
        if (refusal->retry_after_s > 0) exchange->response.retry_after_s = refusal->retry_after_s;
        return;
    }
    kedge_api_problem_of_budget(&exchange->response, refusal->name, refusal->limit,
                                refusal->retry_after_s);
}

/* A connection that finds no place among the known ones stays a guest of the strangers, who may
 * lose it at any time; so it is closed after the response. */
static void make_known(kedge_exchange *exchange)
{
    kedge_budget_refusal refusal = {0};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!info || kedge_server_connection_known(exchange->context->connections, info->socket_context,
                                               &exchange->account, &refusal)) {
        return;
    }
    exchange->guest = true;
    exchange->closes = true;
    exchange->guest_refusal = refusal;
}

bool kedge_exchange_enter(kedge_exchange *exchange, const kedge_budget_owner *owner)
{
    kedge_budget_refusal refusal = {0};
    if (!kedge_budgets_open(exchange->context->budgets, owner, &exchange->account)) {
        kedge_exchange_refuse(exchange, &refusal);
        return false;
    }
    make_known(exchange);
    if (kedge_budget_begin(&exchange->account, &refusal)) return true;
    kedge_exchange_refuse(exchange, &refusal);
    return false;
}
