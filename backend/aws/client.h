/* Signed requests to AWS services: blocking, with deadlines and retries.
 *
 * One client serves all ports of a process. It has a pool of HTTP clients (http/http.h) with their
 * kept connections; any thread may call, and runs one of them while it waits. A call is tried
 * again, with exponential backoff and full jitter, as long as its deadline and the client's retry
 * budget allow; Retry-After counts. A clock that the service finds skewed is corrected by the
 * response's Date, and the call is tried again at once. 409 ConditionalRequestConflict and
 * OperationAborted of S3 (another request about the same key runs) count as throttled.
 *
 * What a failed try means (KEDGE statuses of records.h): throttled or refused before it ran: busy;
 * no response, a cut response, 500, 502, 503 or 504 other than throttling: the outcome is
 * unknown. */
#ifndef KEDGE_BACKEND_AWS_CLIENT_H
#define KEDGE_BACKEND_AWS_CLIENT_H

#include "backend/aws/sigv4.h"

#define KEDGE_AWS_TRIES_MAX           8
#define KEDGE_AWS_BACKOFF_FIRST_MS    25
#define KEDGE_AWS_BACKOFF_MAX_MS      5000
#define KEDGE_AWS_DEADLINE_MS         20000 /* of a call with all of its tries */
#define KEDGE_AWS_TRY_DEADLINE_MS     8000  /* of one try, and a second more for each MiB sent */
#define KEDGE_AWS_CONNECTIONS_DEFAULT 64
/* The retry budget is a bucket of tokens: a retry takes 5 (a throttled one 10), a call that
 * succeeds at once gives back 1. Empty: no retries, so that a service that is down is not kept
 * down. */
#define KEDGE_AWS_BUDGET_TOKENS 500

typedef struct kedge_aws_client kedge_aws_client;

typedef enum kedge_aws_service {
    KEDGE_AWS_DYNAMODB,
    KEDGE_AWS_S3,
    KEDGE_AWS_SQS,
    KEDGE_AWS_STREAMS /* DynamoDB Streams */
} kedge_aws_service;
#define KEDGE_AWS_SERVICES 4

/* Told once a call, with the request's action ("dynamodb:PutItem"): metrics, and the test that
 * compares what is used with what the deployment allows. Any thread; must not block. */
typedef struct kedge_aws_observation {
    const char *action;
    int status; /* of the last response; 0: none came */
    uint32_t tries;
    int64_t elapsed_ms;
    const char *code; /* of the service's error, or "" */
} kedge_aws_observation;

typedef struct kedge_aws_client_options {
    const kedge_environment *environment;        /* must outlive the client */
    kedge_aws_credentials_provider *credentials; /* must outlive the client */
    const char *region;
    /* "http://127.0.0.1:8000"; NULL: AWS's own of the region. By service. */
    const char *endpoints[KEDGE_AWS_SERVICES];
    uint32_t connections_max; /* 0: 64 */
    int64_t deadline_ms;      /* of a call; 0: 20 s */
    int64_t try_deadline_ms;  /* 0: 8 s, or two fifths of a longer deadline */
    void (*observe)(void *context, const kedge_aws_observation *observation);
    void *observe_context;
} kedge_aws_client_options;

kedge_status kedge_aws_client_new(const kedge_aws_client_options *options,
                                  kedge_aws_client **client, kedge_error *error);
/* No call is running. NULL is allowed. */
void kedge_aws_client_free(kedge_aws_client *client);

const kedge_environment *kedge_aws_client_environment(const kedge_aws_client *client);
const char *kedge_aws_client_region(const kedge_aws_client *client);
/* The base URL of a service, without a slash at the end. */
const char *kedge_aws_client_endpoint(const kedge_aws_client *client, kedge_aws_service service);
/* How far the services' clocks are ahead of this machine's, as the last response's Date says; 0
 * before any. */
int64_t kedge_aws_client_skew_ms(const kedge_aws_client *client);

/* Borrowed during the call. */
typedef struct kedge_aws_request {
    kedge_aws_service service;
    /* IAM name, static storage. A transaction has those of its writes, separated by spaces: IAM has
     * no name for the transaction. */
    const char *action;
    const char *method;
    /* Stands before the endpoint's host: "bucket." for a bucket that is addressed by its host.
     * NULL: nothing. */
    const char *host_prefix;
    kedge_bytes path; /* not encoded, starts with '/'; sent as it is, with its dots */
    const kedge_aws_parameter *query;
    size_t query_count;
    const kedge_http_header *headers; /* signed; at most 16; Content-Type only when it is here */
    size_t header_count;
    kedge_bytes body;
    size_t response_bytes_max;
    int64_t deadline_ms; /* of the whole call; 0: the client's */
    /* A repeated request could have another effect: it is not sent again after a try whose
     * outcome is unknown, which KEDGE_UNAVAILABLE then says. A try that had no effect
     * is followed by others. */
    bool once;
    /* How long the service may take its time before it answers (a receive that waits): added to
     * the deadline of the call and of each try. */
    int64_t wait_ms;
} kedge_aws_request;

/* Start from {0}; kedge_aws_response_free in the end. */
typedef struct kedge_aws_response {
    int status;
    kedge_buffer headers; /* lines "Name: value\r\n" */
    kedge_buffer body;    /* as it was sent: a Content-Encoding is not undone */
    char code[96];     /* the service's error code without its namespace ("ConditionalCheckFailed-
                          Exception", "NoSuchKey"), or "" */
    char message[256]; /* the service's own words, or "" */
    char region[64];   /* the region that the service names as the right one, or "" */
    /* A try before the last one may have taken effect: what the last response says about a
     * condition may be about our own effect. */
    bool earlier_unknown;
} kedge_aws_response;

void kedge_aws_response_free(kedge_aws_response *response);
/* As kedge_http_header_value. */
bool kedge_aws_response_header(const kedge_aws_response *response, const char *name,
                               kedge_bytes *value);

/* KEDGE_OK: the service answered 2xx.
 * KEDGE_CONFLICT: 4xx with a response for the caller to read (`response->code`): a condition, a
 * missing key, a bad parameter; not tried again. KEDGE_UNAUTHORIZED, KEDGE_FORBIDDEN: the
 * credentials are missing, wrong, or lack a permission; the message names the action and what to
 * do. KEDGE_BUSY: throttled or not reached to the end; no try took effect. KEDGE_UNAVAILABLE:
 * unknown whether it took effect. KEDGE_LIMIT_EXCEEDED: the response is too large. KEDGE_NO_MEMORY.
 * `response` holds the last response in every case. */
kedge_status kedge_aws_call(kedge_aws_client *client, const kedge_aws_request *request,
                            kedge_aws_response *response, kedge_error *error);

/* A URL for one request without credentials, for `expires_s`. Path, query and headers as above. */
kedge_status kedge_aws_client_presign(kedge_aws_client *client, const kedge_aws_request *request,
                                      uint32_t expires_s, kedge_buffer *url, kedge_error *error);

#endif
