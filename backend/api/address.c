/* Reads the query of a request, and refuses the request when it is wrong. */
#include "backend/api/call.h"
#include "common/utf8.h"

static bool is_read(kedge_api_call *call, kedge_status status)
{
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_NO_MEMORY) {
        kedge_api_fail(call, status);
    } else {
        kedge_api_refuse(call, 400, call->error.code, "%s", call->error.message);
    }
    return false;
}

bool kedge_api_query_integer(kedge_api_call *call, const char *name, int64_t least, int64_t most,
                             int64_t *value)
{
    return is_read(call, kedge_wire_query_integer(call->request->query, name, least, most, value,
                                                  &call->error));
}

bool kedge_api_query_text(kedge_api_call *call, const char *name, kedge_buffer *text, bool *present)
{
    return is_read(call,
                   kedge_wire_query_text(call->request->query, name, text, present, &call->error));
}
