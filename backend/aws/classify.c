/* What a response means for the request: whether it had an effect, and whether to try again.
 *
 * Sources: the services' lists of errors (DynamoDB "Error handling", S3 "Error responses", SQS
 * "Common errors"). A code counts before its HTTP status. */
#include "backend/aws/internal.h"

#include "common/gzip.h"

#include <string.h>

#define DYNAMODB (1u << KEDGE_AWS_DYNAMODB)
#define S3       (1u << KEDGE_AWS_S3)
#define SQS      (1u << KEDGE_AWS_SQS)
#define STREAMS  (1u << KEDGE_AWS_STREAMS)
#define ALL      (DYNAMODB | S3 | SQS | STREAMS)

typedef struct kedge_aws_meaning {
    unsigned services;
    const char *code;
    kedge_aws_outcome outcome;
} kedge_aws_meaning;

static const kedge_aws_meaning meanings[] = {
    /* No effect, for now. */
    {ALL, "ThrottlingException", KEDGE_AWS_THROTTLED},
    {ALL, "Throttling", KEDGE_AWS_THROTTLED},
    {ALL, "ThrottledException", KEDGE_AWS_THROTTLED},
    {ALL, "RequestThrottled", KEDGE_AWS_THROTTLED},
    {ALL, "RequestThrottledException", KEDGE_AWS_THROTTLED},
    {ALL, "TooManyRequestsException", KEDGE_AWS_THROTTLED},
    {ALL, "RequestLimitExceeded", KEDGE_AWS_THROTTLED},
    {ALL, "BandwidthLimitExceeded", KEDGE_AWS_THROTTLED},
    {ALL, "SlowDown", KEDGE_AWS_THROTTLED},
    {DYNAMODB, "ProvisionedThroughputExceededException", KEDGE_AWS_THROTTLED},
    {DYNAMODB, "TransactionConflictException", KEDGE_AWS_THROTTLED},
    {STREAMS, "LimitExceededException", KEDGE_AWS_THROTTLED},
    {S3, "ServiceUnavailable", KEDGE_AWS_THROTTLED}, /* "Reduce your request rate" */
    {S3, "RequestTimeout", KEDGE_AWS_THROTTLED},     /* the body did not come */
    {S3, "ConditionalRequestConflict", KEDGE_AWS_THROTTLED},
    {S3, "OperationAborted", KEDGE_AWS_THROTTLED},
    {SQS, "OverLimit", KEDGE_AWS_THROTTLED},
    {SQS, "KmsThrottled", KEDGE_AWS_THROTTLED},
    /* The same request is being worked on: an earlier try of it. */
    {DYNAMODB, "TransactionInProgressException", KEDGE_AWS_UNKNOWN},
    {ALL, "InternalError", KEDGE_AWS_UNKNOWN},
    {ALL, "InternalFailure", KEDGE_AWS_UNKNOWN},
    {ALL, "InternalServerError", KEDGE_AWS_UNKNOWN},
    /* Of the clock. */
    {ALL, "RequestTimeTooSkewed", KEDGE_AWS_SKEWED},
    {ALL, "RequestExpired", KEDGE_AWS_SKEWED},
    {ALL, "RequestInTheFuture", KEDGE_AWS_SKEWED},
    /* Of the credentials. */
    {ALL, "ExpiredToken", KEDGE_AWS_EXPIRED},
    {ALL, "ExpiredTokenException", KEDGE_AWS_EXPIRED},
    {ALL, "TokenRefreshRequired", KEDGE_AWS_EXPIRED},
    {ALL, "UnrecognizedClientException", KEDGE_AWS_REFUSED},
    {ALL, "InvalidAccessKeyId", KEDGE_AWS_REFUSED},
    {ALL, "InvalidClientTokenId", KEDGE_AWS_REFUSED},
    {ALL, "InvalidToken", KEDGE_AWS_REFUSED},
    {ALL, "InvalidSecurity", KEDGE_AWS_REFUSED},
    {ALL, "SignatureDoesNotMatch", KEDGE_AWS_REFUSED},
    {ALL, "InvalidSignatureException", KEDGE_AWS_REFUSED},
    {ALL, "IncompleteSignature", KEDGE_AWS_REFUSED},
    {ALL, "IncompleteSignatureException", KEDGE_AWS_REFUSED},
    {ALL, "MissingAuthenticationToken", KEDGE_AWS_REFUSED},
    {ALL, "MissingAuthenticationTokenException", KEDGE_AWS_REFUSED},
    {ALL, "AuthorizationHeaderMalformed", KEDGE_AWS_REFUSED},
    {ALL, "NotSignedUp", KEDGE_AWS_REFUSED},
    {ALL, "AccessDenied", KEDGE_AWS_FORBIDDEN},
    {ALL, "AccessDeniedException", KEDGE_AWS_FORBIDDEN},
    {ALL, "UnauthorizedOperation", KEDGE_AWS_FORBIDDEN},
    {ALL, "AuthorizationErrorException", KEDGE_AWS_FORBIDDEN},
    {ALL, "KmsAccessDenied", KEDGE_AWS_FORBIDDEN},
    {ALL, "AllAccessDisabled", KEDGE_AWS_FORBIDDEN},
    {ALL, "AccountProblem", KEDGE_AWS_FORBIDDEN},
    /* Where. */
    {S3, "PermanentRedirect", KEDGE_AWS_MISPLACED},
    {S3, "TemporaryRedirect", KEDGE_AWS_MISPLACED},
    {S3, "IncorrectEndpoint", KEDGE_AWS_MISPLACED},
    {S3, "IllegalLocationConstraintException", KEDGE_AWS_MISPLACED},
};

static bool says(const kedge_aws_response *response, const char *words)
{
    return strcasestr(response->message, words) != NULL;
}

/* Codes that stand for several mistakes; the words tell them apart. */
static kedge_aws_outcome refine(kedge_aws_outcome outcome, const char *region,
                                const kedge_aws_response *response)
{
    if (outcome != KEDGE_AWS_REFUSED) return outcome;
    bool elsewhere = response->region[0] != '\0' && strcmp(response->region, region) != 0;
    if (elsewhere || says(response, "scoped to a valid region")) return KEDGE_AWS_MISPLACED;
    if (says(response, "Signature not yet current") || says(response, "Signature expired")) {
        return KEDGE_AWS_SKEWED;
    }
    return outcome;
}

static kedge_aws_outcome classify_status(kedge_aws_service service, int status)
{
    if (status == 429) return KEDGE_AWS_THROTTLED;
    if (status >= 500 && status != 501) return KEDGE_AWS_UNKNOWN;
    if (status == 403 || status == 401) return KEDGE_AWS_FORBIDDEN;
    if (service == KEDGE_AWS_S3 && status >= 300 && status < 400 && status != 304) {
        return KEDGE_AWS_MISPLACED;
    }
    return status >= 300 && status < 400 && status != 304 ? KEDGE_AWS_FOREIGN : KEDGE_AWS_RESPONDED;
}

static kedge_aws_outcome classify_error(kedge_aws_service service, const char *region,
                                        const kedge_aws_response *response)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if ((meanings[i].services & (1u << service)) != 0 &&
            strcmp(meanings[i].code, response->code) == 0) {
            return refine(meanings[i].outcome, region, response);
        }
    }
    /* An error in the body of a 200. */
    if (response->status < 300) return KEDGE_AWS_UNKNOWN;
    return classify_status(service, response->status);
}

static kedge_aws_outcome classify_failure(const kedge_aws_reply *reply)
{
    if (reply->error.status == KEDGE_NO_MEMORY) {
        return reply->sent ? KEDGE_AWS_UNKNOWN : KEDGE_AWS_NO_MEMORY;
    }
    if (reply->error.status == KEDGE_LIMIT_EXCEEDED) return KEDGE_AWS_OUT_OF_BOUNDS;
    return reply->sent ? KEDGE_AWS_UNKNOWN : KEDGE_AWS_NOT_SENT;
}

/* DynamoDB sends a checksum of the body's bytes. */
static bool is_damaged(kedge_aws_service service, const kedge_aws_response *response)
{
    kedge_bytes header;
    uint32_t sent = 0;
    bool checked = service == KEDGE_AWS_DYNAMODB || service == KEDGE_AWS_STREAMS;
    if (!checked || !kedge_aws_response_header(response, "x-amz-crc32", &header) ||
        header.size > 10) {
        return false;
    }
    for (size_t i = 0; i < header.size; i++) {
        if (header.data[i] < '0' || header.data[i] > '9') return false;
        sent = sent * 10 + (uint32_t)(header.data[i] - '0');
    }
    return sent != kedge_crc32(kedge_buffer_bytes(&response->body));
}

kedge_aws_outcome kedge_aws_classify(const kedge_aws_client *client,
                                     const kedge_aws_request *request, const kedge_aws_reply *reply,
                                     kedge_aws_response *response)
{
    const kedge_allocator *allocator = client->environment->allocator;
    if (reply->status == 0) return classify_failure(reply);
    if (is_damaged(request->service, response)) return KEDGE_AWS_UNKNOWN;
    if (!kedge_aws_response_read(request->service, request->method, allocator, response)) {
        return KEDGE_AWS_FOREIGN;
    }
    bool succeeded = response->status >= 200 && response->status < 300;
    if (succeeded && response->code[0] == '\0') return KEDGE_AWS_SUCCEEDED;
    return classify_error(request->service, client->region, response);
}
