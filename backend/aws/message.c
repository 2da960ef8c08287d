/* The words for a call that failed: what was asked, what was answered, and what to do. */
#include "backend/aws/internal.h"

#include "common/error.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[KEDGE_AWS_SERVICES] = {"DynamoDB", "S3", "SQS", "DynamoDB Streams"};
static const char *const variables[KEDGE_AWS_SERVICES] = {
    "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"};

const char *kedge_aws_service_name(kedge_aws_service service)
{
    return names[service];
}

static kedge_status message_of_skew(const kedge_aws_client *client, const char *name,
                                    kedge_error *error)
{
    int64_t skew_s = atomic_load(&client->skew_seen_ms) / 1000;
    return kedge_fail(
        error, KEDGE_UNAUTHORIZED, "aws-clock-skewed",
        "%s does not accept the time of this machine, whose clock is %lld seconds %s; "
        "set the clock",
        name, llabs((long long)skew_s), skew_s > 0 ? "behind" : "ahead");
}

static kedge_status message_of_unknown(const kedge_aws_request *request,
                                       const kedge_aws_response *response,
                                       const kedge_aws_ending *ending, kedge_error *error)
{
    if (response->status == 0) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-outcome-unknown",
                          "%s may have taken effect or not: %s", request->action,
                          ending->last.message);
    }
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-outcome-unknown",
                      "%s may have taken effect or not: the last of %u tries was answered %d %s",
                      request->action, ending->tries, response->status, response->code);
}

static kedge_status message_of_not_sent(const kedge_aws_client *client,
                                        const kedge_aws_request *request,
                                        const kedge_aws_ending *ending, kedge_error *error)
{
    const char *cause = ending->last.message;
    if (strcmp(ending->last.code, KEDGE_AWS_CONNECTIONS_TAKEN) == 0) {
        return kedge_fail(error, KEDGE_BUSY, KEDGE_AWS_CONNECTIONS_TAKEN,
                          "%s was not sent: %.80s; try again later", request->action, cause);
    }
    return kedge_fail(error, KEDGE_BUSY, "aws-unreachable",
                      "cannot reach %s at %.60s: %.110s; check the network, the region, and %s",
                      names[request->service], client->endpoints[request->service], cause,
                      variables[request->service]);
}

/* A response to HEAD has no body, which would say why. The bare 400 of S3 is that of a token that
 * has expired, or of another region. */
static kedge_status message_of_response(const kedge_aws_client *client,
                                        const kedge_aws_request *request,
                                        const kedge_aws_response *response, kedge_error *error)
{
    if (response->status == 400 && strcmp(request->method, "HEAD") == 0)
        return kedge_fail(error, KEDGE_CONFLICT, "aws-refused",
                          "%s was answered 400, and HEAD is not told why: the credentials may have "
                          "expired, or the bucket is not in the region %s",
                          request->action, client->region);
    return kedge_fail(error, KEDGE_CONFLICT, "aws-refused", "%s was answered %d %s: %s",
                      request->action, response->status, response->code, response->message);
}

static kedge_status message_of(const kedge_aws_client *client, const kedge_aws_request *request,
                               const kedge_aws_response *response, const kedge_aws_ending *ending,
                               kedge_error *error)
{
    const char *name = names[request->service];
    const char *endpoint = client->endpoints[request->service];
    switch (ending->outcome) {
    case KEDGE_AWS_SUCCEEDED:
        return KEDGE_OK;
    case KEDGE_AWS_RESPONDED:
        return message_of_response(client, request, response, error);
    case KEDGE_AWS_THROTTLED:
        return kedge_fail(error, KEDGE_BUSY, "aws-throttled",
                          "%s throttles %s (%s), also at the last of %u tries", name,
                          request->action, response->code, ending->tries);
    case KEDGE_AWS_NOT_SENT:
        return message_of_not_sent(client, request, ending, error);
    case KEDGE_AWS_UNKNOWN:
        return message_of_unknown(request, response, ending, error);
    case KEDGE_AWS_SKEWED:
        return message_of_skew(client, name, error);
    case KEDGE_AWS_EXPIRED:
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-expired",
                          "%s says that the credentials have expired (%s); get new ones", name,
                          response->code);
    case KEDGE_AWS_REFUSED:
        return kedge_fail(
            error, KEDGE_UNAUTHORIZED, "aws-credentials-refused",
            "%s does not accept the credentials (%s: %.60s); check the access key and "
            "its secret in the environment or the profile",
            name, response->code, response->message);
    case KEDGE_AWS_FORBIDDEN:
        return kedge_fail(error, KEDGE_FORBIDDEN, "aws-permission-missing",
                          "the credentials may not do %s; allow it in their IAM policy (%s: %.90s)",
                          request->action, response->code, response->message);
    case KEDGE_AWS_MISPLACED:
        return kedge_fail(
            error, KEDGE_CONFLICT, "aws-region-wrong",
            "%s was sent to the region %s, but belongs to %s (%s)", request->action, client->region,
            response->region[0] == '\0' ? "another one" : response->region, response->code);
    case KEDGE_AWS_FOREIGN:
        return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-response-invalid",
                          "the response %d at %.80s is not from %s; check %s and proxies",
                          response->status, endpoint, name, variables[request->service]);
    case KEDGE_AWS_OUT_OF_BOUNDS:
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "response-too-large",
                          "the response to %s has more than the %zu bytes that were asked for",
                          request->action, request->response_bytes_max);
    case KEDGE_AWS_NO_MEMORY:
        break;
    }
    return kedge_fail_no_memory(error);
}

/* A later try that was refused says nothing about an earlier one: only a response to the request
 * itself does, which the caller reads together with `earlier_unknown`. */
kedge_status kedge_aws_message(const kedge_aws_client *client, const kedge_aws_request *request,
                               const kedge_aws_response *response, const kedge_aws_ending *ending,
                               kedge_error *error)
{
    kedge_status status = message_of(client, request, response, ending, error);
    if (!response->earlier_unknown || ending->outcome == KEDGE_AWS_SUCCEEDED ||
        ending->outcome == KEDGE_AWS_RESPONDED) {
        return status;
    }
    if (error != NULL) error->status = KEDGE_UNAVAILABLE;
    return KEDGE_UNAVAILABLE;
}
