/* Refusals: problem documents (RFC 9457) as errors. */
#include "sdk/net/net.h"

#include "common/error.h"
#include "common/json.h"

#include <kedge/limits.h>

/* What a problem document may explain; a longer one is shown by its code. */
#define DETAIL_BYTES_MAX 4096

static kedge_status status_meaning(int status)
{
    switch (status) {
    case 401:
        return KEDGE_UNAUTHORIZED;
    case 403:
        return KEDGE_FORBIDDEN;
    case 404:
        return KEDGE_NOT_FOUND;
    case 408:
        return KEDGE_TIMEOUT;
    case 409:
        return KEDGE_CONFLICT;
    case 429:
        return KEDGE_UNAVAILABLE;
    default:
        return status >= 500 ? KEDGE_UNAVAILABLE : KEDGE_PROTOCOL;
    }
}

void kedge_net_problem(int status, kedge_bytes content_type, kedge_bytes body, kedge_error *error)
{
    char code[sizeof error->code];
    char detail[DETAIL_BYTES_MAX]; /* kedge_fail cuts it */
    kedge_status meaning = status_meaning(status);
    bool problem = kedge_bytes_start_with(content_type, KEDGE_BYTES("application/problem+json")) &&
                   kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, NULL) == KEDGE_OK &&
                   kedge_json_member_chars(body, "code", code, sizeof code);
    if (!problem) {
        kedge_fail(error, meaning, "unexpected-status",
                   "the server answered with status %d, which is not a response of Kedge", status);
        return;
    }
    if (!kedge_json_member_chars(body, "detail", detail, sizeof detail)) detail[0] = '\0';
    kedge_fail(error, meaning, code, "%s", detail[0] == '\0' ? code : detail);
}
