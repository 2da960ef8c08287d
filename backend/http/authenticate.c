/* Who asks: the token of an exchange, and the problem that refuses it. */
#include "backend/http/exchange.h"

const char *kedge_exchange_header(kedge_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

void kedge_exchange_problem(kedge_exchange *exchange, int status, const char *code,
                            const char *detail)
{
    kedge_api_problem(&exchange->response, status, code, detail);
}

bool kedge_exchange_authenticate(kedge_exchange *exchange, kedge_auth_result *who)
{
    kedge_error error = {0};
    kedge_status status = kedge_auth_check(
        exchange->context->auth, kedge_exchange_header(exchange, "Authorization"), who, &error);
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_UNAUTHORIZED) {
        kedge_exchange_problem(exchange, 401, error.code, error.message);
    } else {
        kedge_exchange_problem(exchange, 503, "unavailable", "the token cannot be checked now");
    }
    return false;
}
