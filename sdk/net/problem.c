/* Refusals: problem documents (RFC 9457) as errors. */
#include "sdk/net/net.h"

#include "common/error.h"
#include "wire/problem.h"

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

bool kedge_net_problem(const kedge_allocator *allocator, int status, kedge_bytes content_type,
                       kedge_bytes body, kedge_error *error)
{
    kedge_wire_problem problem;
    kedge_status meaning = status_meaning(status);
    if (!kedge_wire_problem_read(allocator, content_type, body, &problem)) {
        kedge_fail(error, meaning, "unexpected-status",
                   "the server responded with status %d, which is not a response of Kedge", status);
        return false;
    }
    kedge_fail(error, meaning, problem.code, "%s",
               problem.detail[0] == '\0' ? problem.code : problem.detail);
    return true;
}
