/* What the sources of the client share: the client's state, reading a response, and classifying
 * it. */
#ifndef KEDGE_BACKEND_AWS_INTERNAL_H
#define KEDGE_BACKEND_AWS_INTERNAL_H

#include "backend/aws/budget.h"
#include "backend/aws/client.h"
#include "backend/aws/transport.h"

#define KEDGE_AWS_ENDPOINT_BYTES_MAX 512
#define KEDGE_AWS_HEADERS_MAX        16  /* of a request, the signature's not counted */
#define KEDGE_AWS_HOST_BYTES_MAX     320 /* with its prefix */

struct kedge_aws_client {
    const kedge_environment *environment;
    kedge_aws_credentials_provider *credentials;
    kedge_aws_transport *transport;
    char region[64];
    char endpoints[KEDGE_AWS_SERVICES][KEDGE_AWS_ENDPOINT_BYTES_MAX];
    int64_t deadline_ms;
    int64_t try_deadline_ms; /* 0: by the call's deadline */
    void (*observe)(void *context, const kedge_aws_observation *observation);
    void *observe_context;
    kedge_aws_budget budget;
    /* How far the services' clocks are ahead of ours, as their last response said, and as much of
     * it as signatures correct: nothing until a service complains. */
    atomic_int_least64_t skew_seen_ms;
    atomic_int_least64_t skew_ms;
};

/* "DynamoDB", "S3", "SQS", "DynamoDB Streams". */
const char *kedge_aws_service_name(kedge_aws_service service);
/* The host of a request, without its scheme. False: longer than a host may be. */
bool kedge_aws_host(const kedge_aws_client *client, const kedge_aws_request *request,
                    char host[KEDGE_AWS_HOST_BYTES_MAX]);
void kedge_aws_sign_with(const kedge_aws_client *client, kedge_aws_service service,
                         const kedge_aws_credentials *credentials, kedge_aws_signing *signing);

/* What one try came to. */
typedef enum kedge_aws_outcome {
    KEDGE_AWS_SUCCEEDED,
    KEDGE_AWS_RESPONDED,     /* refused for a reason that the caller reads */
    KEDGE_AWS_THROTTLED,     /* refused for now: no effect */
    KEDGE_AWS_NOT_SENT,      /* no connection: no effect */
    KEDGE_AWS_UNKNOWN,       /* it may have had an effect, or may have one yet */
    KEDGE_AWS_SKEWED,        /* our clock and the service's are too far apart */
    KEDGE_AWS_EXPIRED,       /* the credentials were good once */
    KEDGE_AWS_REFUSED,       /* the credentials are wrong */
    KEDGE_AWS_FORBIDDEN,     /* the credentials lack the permission */
    KEDGE_AWS_MISPLACED,     /* another region's */
    KEDGE_AWS_FOREIGN,       /* whoever answered is not the service */
    KEDGE_AWS_OUT_OF_BOUNDS, /* the response is too large */
    KEDGE_AWS_NO_MEMORY
} kedge_aws_outcome;

/* Fills code, message and region of a response, which are empty, from its headers and body. False:
 * it does not look like a response of the service. */
bool kedge_aws_response_read(kedge_aws_service service, const char *method,
                             const kedge_allocator *allocator, kedge_aws_response *response);

/* `reply` and `response` are those of one try; code, message and region of the response are
 * filled. */
kedge_aws_outcome kedge_aws_classify(const kedge_aws_client *client,
                                     const kedge_aws_request *request, const kedge_aws_reply *reply,
                                     kedge_aws_response *response);

/* One try: credentials, signature, request, response. A status other than KEDGE_OK: nothing was
 * sent, and nothing will be (no credentials, no memory, a request outside of the contract). */
kedge_status kedge_aws_try(kedge_aws_client *client, const kedge_aws_request *request,
                           int64_t deadline_ms, kedge_aws_response *response,
                           kedge_aws_reply *reply, kedge_error *error);

/* The status and the words for what a call came to. */
typedef struct kedge_aws_ending {
    kedge_aws_outcome outcome;
    uint32_t tries;
    kedge_error last; /* of the last try, when it had no response */
} kedge_aws_ending;

kedge_status kedge_aws_message(const kedge_aws_client *client, const kedge_aws_request *request,
                               const kedge_aws_response *response, const kedge_aws_ending *ending,
                               kedge_error *error);

#endif
