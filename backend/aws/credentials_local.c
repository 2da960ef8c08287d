/* Requests to the endpoints that give credentials to containers and instances: small, on this
 * machine or one hop away, with short tries. Each uses an HTTP client of its own, whose memory is
 * wiped. */
#include "backend/aws/credential_sources.h"
#include "http/http.h"

#include "common/error.h"

#define POLLS_MAX 100000

/* One try. */
typedef struct attempt {
    kedge_aws_local_response *response;
    kedge_error error;
    bool done;
} attempt;

static void take_response(void *context, const kedge_http_response *response)
{
    attempt *one = context;
    one->done = true;
    one->response->status = response->status;
    one->error = response->error;
    kedge_buffer_clear(&one->response->body);
    kedge_buffer_append_bytes(&one->response->body, response->body);
    if (one->response->body.no_memory) one->error.status = KEDGE_NO_MEMORY;
}

static kedge_status run(kedge_http *http, const kedge_http_request *request, attempt *one,
                        kedge_error *error)
{
    kedge_status status = kedge_http_send(http, request, NULL, error);
    for (int i = 0; i < POLLS_MAX && status == KEDGE_OK && !one->done; i++) {
        status = kedge_http_poll(http, request->deadline_ms, -1, NULL, error);
    }
    if (status == KEDGE_OK && one->error.status == KEDGE_NO_MEMORY) {
        status = kedge_fail_no_memory(error);
    }
    return status;
}

/* Full jitter, so that what was started together does not ask together. */
static kedge_status pause(const kedge_environment *environment, kedge_http *http, int try,
                          kedge_error *error)
{
    uint64_t longest = (uint64_t)KEDGE_AWS_LOCAL_PAUSE_MS << try;
    int64_t pause_ms = (int64_t)(kedge_random_u64(environment) % (longest + 1));
    return kedge_http_poll(http, pause_ms, -1, NULL, error);
}

static bool final(int status)
{
    return status != 0 && status != 429 && status < 500;
}

kedge_status kedge_aws_local_request(const kedge_aws_lookup *lookup, const char *method,
                                     const char *url, const char *header, const char *value,
                                     const char *where, kedge_aws_local_response *response,
                                     kedge_error *error)
{
    kedge_http *http = NULL;
    const kedge_http_header headers = {header, value};
    attempt one = {.response = response};
    const kedge_http_request request = {
        .method = method,
        .url = url,
        .headers = &headers,
        .header_count = header == NULL ? 0 : 1,
        .deadline_ms = lookup->try_ms,
        .response_bytes_max = KEDGE_AWS_LOCAL_RESPONSE_BYTES,
        .done = take_response,
        .context = &one,
    };
    *response =
        (kedge_aws_local_response){.body = kedge_buffer_make(lookup->environment->allocator)};
    kedge_status status = kedge_http_new(lookup->environment, 1, &http, error);
    for (int try = 0; try < KEDGE_AWS_LOCAL_TRIES && status == KEDGE_OK; try++) {
        if (try > 0) status = pause(lookup->environment, http, try - 1, error);
        one.done = false;
        if (status == KEDGE_OK) status = run(http, &request, &one, error);
        if (final(response->status)) break;
    }
    kedge_http_free(http);
    if (status == KEDGE_OK && response->status == 0) {
        status = kedge_fail(error, KEDGE_UNAVAILABLE, "aws-credentials-unreachable",
                            "%s gives no credentials: %.120s", where, one.error.message);
    }
    if (status != KEDGE_OK) kedge_buffer_free(&response->body);
    return status;
}
