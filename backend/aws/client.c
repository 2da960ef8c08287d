/* The client of AWS: its endpoints, and a call with its tries. */
#include "backend/aws/internal.h"

#include "backend/aws/backoff.h"
#include "backend/aws/date.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static bool is_region(const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text);
    return size > 0 && size < 64 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

/* The domain of AWS in a region. Each partition has its own. */
static const char *domain_of(const char *region)
{
    static const char *const domains[][2] = {
        {"cn-", "amazonaws.com.cn"},    {"eusc-", "amazonaws.eu"},
        {"us-iso-", "c2s.ic.gov"},      {"us-isob-", "sc2s.sgov.gov"},
        {"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"},
    };
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        if (strncmp(region, domains[i][0], strlen(domains[i][0])) == 0) return domains[i][1];
    }
    return "amazonaws.com";
}

/* The endpoint of AWS itself. */
static void default_endpoint(kedge_aws_service service, const char *region, char *endpoint)
{
    static const char *const hosts[KEDGE_AWS_SERVICES] = {"dynamodb", "s3", "sqs",
                                                          "streams.dynamodb"};
    snprintf(endpoint, KEDGE_AWS_ENDPOINT_BYTES_MAX, "https://%s.%s.%s", hosts[service], region,
             domain_of(region));
}

/* Keeps scheme and host, and the port unless it is the default of the scheme. Signatures and URLs
 * start with them. */
static kedge_status set_endpoint(kedge_aws_client *client, kedge_aws_service service,
                                 const char *given, kedge_error *error)
{
    char *endpoint = client->endpoints[service];
    if (given == NULL) {
        default_endpoint(service, client->region, endpoint);
        return KEDGE_OK;
    }
    bool https = strncmp(given, "https://", 8) == 0;
    size_t scheme = https ? 8 : 7;
    size_t size = strlen(given);
    if (size > 0 && given[size - 1] == '/') size--;
    if ((!https && strncmp(given, "http://", 7) != 0) || size <= scheme || size > 200 ||
        strcspn(given + scheme, "/?#@ \r\n") < size - scheme) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-endpoint-invalid",
                          "the endpoint of %s is \"%.100s\"; it must be http:// or https:// and a "
                          "host, with or without a port",
                          kedge_aws_service_name(service), given);
    }
    const char *port = https ? ":443" : ":80";
    size_t port_size = strlen(port);
    if (size > scheme + port_size && memcmp(given + size - port_size, port, port_size) == 0) {
        size -= port_size;
    }
    memcpy(endpoint, given, size);
    endpoint[size] = '\0';
    return KEDGE_OK;
}

static kedge_status configure(kedge_aws_client *client, const kedge_aws_client_options *options,
                              kedge_error *error)
{
    if (!is_region(options->region)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-region-invalid",
                          "the region is \"%.40s\"; it must be a name like eu-west-1",
                          options->region == NULL ? "" : options->region);
    }
    snprintf(client->region, sizeof client->region, "%s", options->region);
    for (size_t i = 0; i < KEDGE_AWS_SERVICES; i++) {
        kedge_status status =
            set_endpoint(client, (kedge_aws_service)i, options->endpoints[i], error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

kedge_status kedge_aws_client_new(const kedge_aws_client_options *options,
                                  kedge_aws_client **client, kedge_error *error)
{
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_aws_client *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = options->environment;
    made->credentials = options->credentials;
    made->deadline_ms = options->deadline_ms == 0 ? KEDGE_AWS_DEADLINE_MS : options->deadline_ms;
    made->try_deadline_ms = options->try_deadline_ms;
    made->observe = options->observe;
    made->observe_context = options->observe_context;
    kedge_aws_budget_fill(&made->budget);
    kedge_status status = configure(made, options, error);
    if (status == KEDGE_OK) {
        uint32_t connections = options->connections_max == 0 ? KEDGE_AWS_CONNECTIONS_DEFAULT
                                                             : options->connections_max;
        status = kedge_aws_transport_new(options->environment, connections, KEDGE_AWS_SERVICES,
                                         &made->transport, error);
    }
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    *client = made;
    return KEDGE_OK;
}

void kedge_aws_client_free(kedge_aws_client *client)
{
    if (client == NULL) return;
    kedge_aws_transport_free(client->transport);
    kedge_release(client->environment->allocator, client);
}

const kedge_environment *kedge_aws_client_environment(const kedge_aws_client *client)
{
    return client->environment;
}

const char *kedge_aws_client_region(const kedge_aws_client *client)
{
    return client->region;
}

const char *kedge_aws_client_endpoint(const kedge_aws_client *client, kedge_aws_service service)
{
    return client->endpoints[service];
}

int64_t kedge_aws_client_skew_ms(const kedge_aws_client *client)
{
    return atomic_load(&client->skew_seen_ms);
}

/* ---- a call ---- */

/* AWS accepts a clock that is wrong by at least so much. */
#define SKEW_TOLERATED_MS 300000

/* A call under way. */
typedef struct kedge_aws_run {
    kedge_aws_client *client;
    const kedge_aws_request *request;
    kedge_aws_response *response;
    kedge_aws_ending ending;
    int64_t deadline_ms; /* monotonic */
    int64_t try_deadline_ms;
    int64_t retry_after_ms;
    bool clock_corrected;
    bool credentials_renewed;
} kedge_aws_run;

static int64_t monotonic_ms(const kedge_aws_client *client)
{
    return client->environment->monotonic_ms(client->environment->context);
}

/* The deadline of one try: two fifths of the call's, but at least the time that the body needs at a
 * MiB a second. The time that the service was asked to wait is added. */
static int64_t deadline_of_try(const kedge_aws_client *client, const kedge_aws_request *request,
                               int64_t deadline_ms)
{
    int64_t share_ms = deadline_ms * 2 / 5;
    int64_t least_ms = KEDGE_AWS_TRY_DEADLINE_MS + (int64_t)(request->body.size / 1024);
    if (client->try_deadline_ms != 0) return client->try_deadline_ms + request->wait_ms;
    return (share_ms > least_ms ? share_ms : least_ms) + request->wait_ms;
}

static void note_clock(kedge_aws_client *client, const kedge_aws_response *response)
{
    kedge_bytes date;
    int64_t there_ms = 0;
    if (kedge_aws_response_header(response, "Date", &date) &&
        kedge_aws_date_read(date, &there_ms)) {
        int64_t here_ms = client->environment->now_ms(client->environment->context);
        atomic_store(&client->skew_seen_ms, there_ms - here_ms);
    }
}

static kedge_status try_once(kedge_aws_run *run, kedge_error *error)
{
    kedge_aws_reply reply = {0};
    int64_t left_ms = run->deadline_ms - monotonic_ms(run->client);
    int64_t deadline_ms = left_ms < run->try_deadline_ms ? left_ms : run->try_deadline_ms;
    kedge_status status = kedge_aws_try(
        run->client, run->request, deadline_ms < 1 ? 1 : deadline_ms, run->response, &reply, error);
    if (status != KEDGE_OK) return status;
    run->ending.tries++;
    run->ending.outcome = kedge_aws_classify(run->client, run->request, &reply, run->response);
    run->ending.last = reply.error;
    run->retry_after_ms = reply.retry_after_ms;
    if (reply.status == 0) return KEDGE_OK;
    note_clock(run->client, run->response);
    /* The response to a HEAD has no body that could name the clock as the reason. */
    if (run->ending.outcome == KEDGE_AWS_FORBIDDEN && run->response->message[0] == '\0' &&
        llabs(atomic_load(&run->client->skew_seen_ms) - atomic_load(&run->client->skew_ms)) >
            SKEW_TOLERATED_MS) {
        run->ending.outcome = KEDGE_AWS_SKEWED;
    }
    return KEDGE_OK;
}

/* Waits before the next try. Returns false when no time or no retry token is left for it. */
static bool wait_for_retry(kedge_aws_run *run)
{
    bool throttled = run->ending.outcome == KEDGE_AWS_THROTTLED;
    int64_t pause_ms = kedge_aws_backoff_ms(run->client->environment, run->ending.tries);
    if (pause_ms < run->retry_after_ms) pause_ms = run->retry_after_ms;
    if (monotonic_ms(run->client) + pause_ms >= run->deadline_ms) return false;
    if (!kedge_aws_budget_take(&run->client->budget, throttled ? KEDGE_AWS_THROTTLED_RETRY_TOKENS
                                                               : KEDGE_AWS_RETRY_TOKENS)) {
        return false;
    }
    kedge_aws_wait(pause_ms);
    return true;
}

/* Returns whether to try again, after the wait before that. Repeating does no harm: a request that
 * was refused because of its clock or token had no effect, and kedge_aws_call notes it when the
 * outcome of a try is unknown. */
static bool wants_another_try(kedge_aws_run *run)
{
    kedge_aws_client *client = run->client;
    if (run->ending.tries >= KEDGE_AWS_TRIES_MAX) return false;
    if (kedge_deadline_ask() == KEDGE_DEADLINE_STOP) return false;
    switch (run->ending.outcome) {
    case KEDGE_AWS_SKEWED:
        if (run->clock_corrected) return false;
        run->clock_corrected = true;
        atomic_store(&client->skew_ms, atomic_load(&client->skew_seen_ms));
        return true;
    case KEDGE_AWS_EXPIRED:
        if (run->credentials_renewed) return false;
        run->credentials_renewed = true;
        kedge_aws_credentials_forget(client->credentials);
        return true;
    case KEDGE_AWS_UNKNOWN:
        return !run->request->once && wait_for_retry(run);
    case KEDGE_AWS_THROTTLED:
    case KEDGE_AWS_NOT_SENT:
        return wait_for_retry(run);
    default:
        return false;
    }
}

static void observe(const kedge_aws_run *run, int64_t begin_ms)
{
    kedge_aws_client *client = run->client;
    if (client->observe == NULL) return;
    const kedge_aws_observation observation = {
        .action = run->request->action,
        .status = run->response->status,
        .tries = run->ending.tries,
        .elapsed_ms = monotonic_ms(client) - begin_ms,
        .code = run->response->code,
    };
    client->observe(client->observe_context, &observation);
}

kedge_status kedge_aws_call(kedge_aws_client *client, const kedge_aws_request *request,
                            kedge_aws_response *response, kedge_error *error)
{
    int64_t begin_ms = monotonic_ms(client);
    int64_t deadline_ms = request->deadline_ms == 0 ? client->deadline_ms : request->deadline_ms;
    deadline_ms = kedge_deadline_left_ms(deadline_ms);
    kedge_aws_run run = {
        .client = client,
        .request = request,
        .response = response,
        .deadline_ms = begin_ms + deadline_ms + request->wait_ms,
        .try_deadline_ms = deadline_of_try(client, request, deadline_ms),
    };
    kedge_aws_response_free(response);
    response->headers = kedge_buffer_make(client->environment->allocator);
    response->body = kedge_buffer_make(client->environment->allocator);

    kedge_status status = kedge_deadline_check(error);
    if (status != KEDGE_OK) return status;
    status = try_once(&run, error);
    while (status == KEDGE_OK && run.ending.outcome != KEDGE_AWS_SUCCEEDED &&
           wants_another_try(&run)) {
        if (run.ending.outcome == KEDGE_AWS_UNKNOWN) response->earlier_unknown = true;
        status = try_once(&run, error);
    }
    if (status == KEDGE_OK) {
        if (run.ending.outcome == KEDGE_AWS_SUCCEEDED && run.ending.tries == 1) {
            kedge_aws_budget_give_back(&client->budget, KEDGE_AWS_SUCCESS_TOKENS);
        }
        status = kedge_aws_message(client, request, response, &run.ending, error);
    } else if (response->earlier_unknown) {
        status = kedge_fail(error, KEDGE_UNAVAILABLE, "aws-outcome-unknown",
                            "%s may have taken effect or not, and could not be tried again",
                            request->action);
    }
    observe(&run, begin_ms);
    return status;
}
