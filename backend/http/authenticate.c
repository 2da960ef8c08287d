/* Who asks: the token of an exchange, and the problem that refuses it. */
#include "backend/http/exchange.h"

#include "common/percent.h"
#include "wire/address.h"

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

bool kedge_exchange_authenticate(kedge_exchange *exchange, kedge_auth_result *who)
{
    kedge_error error = {0};
    kedge_status status = kedge_auth_check(
        exchange->context->auth, kedge_exchange_header(exchange, "Authorization"), who, &error);
    if (status == KEDGE_OK)
        return !exchange->context->origins->open || read_open_user(exchange, who);
    if (status == KEDGE_UNAUTHORIZED) {
        kedge_exchange_problem(exchange, 401, error.code, error.message);
    } else {
        kedge_exchange_problem(exchange, 503, "unavailable", "the token cannot be checked now");
    }
    return false;
}
