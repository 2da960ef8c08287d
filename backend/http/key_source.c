/* See key_source.h. */
#include "backend/http/key_source.h"

#include "backend/front/file.h"
#include "backend/front/origins.h"
#include "common/error.h"
#include "http/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define POLL_MS        200 /* how soon a stop is noticed */
#define HOST_BYTES_MAX 64  /* longer ones are not loopback */

/* The host ends where every reader of URLs ends it. With a user name or a backslash in front of the
 * path it is not loopback, since readers differ in what the host then is. */
static bool is_loopback_url(const char *url)
{
    char host[HOST_BYTES_MAX];
    const char *start = url + strlen("http://");
    size_t size = strcspn(start, "/?#");
    if (size >= sizeof host) return false;
    memcpy(host, start, size);
    host[size] = '\0';
    return kedge_host_is_loopback(host);
}

bool kedge_key_source_is_url(const char *source)
{
    return strstr(source, "://") != NULL;
}

kedge_status kedge_key_source_check(const char *source, kedge_error *error)
{
    if (!kedge_key_source_is_url(source)) return KEDGE_OK;
    if (strncasecmp(source, "https://", 8) == 0 && source[8] != '\0') return KEDGE_OK;
    if (strncasecmp(source, "http://", 7) == 0 && is_loopback_url(source)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "--jwks takes a file, an https:// URL, or an http:// URL of loopback, not "
                      "\"%.100s\"",
                      source);
}

typedef struct key_request {
    const kedge_allocator *allocator;
    const char *url;
    bool done;
    kedge_status status;
    char *text;
    kedge_error *error;
} key_request;

static kedge_status fail(key_request *request, const char *why)
{
    return kedge_fail(request->error, KEDGE_NETWORK, "jwks-unreachable",
                      "the key set of %.100s: %s", request->url, why);
}

static void on_done(void *context, const kedge_http_response *response)
{
    key_request *request = context;
    char why[48];
    request->done = true;
    if (response->status == 0) {
        request->status = fail(request, response->error.message);
    } else if (response->status != 200) {
        snprintf(why, sizeof why, "the response has the status %d", response->status);
        request->status = fail(request, why);
    } else {
        request->text = kedge_copy_text(request->allocator, response->body);
        request->status = request->text ? KEDGE_OK : kedge_fail_no_memory(request->error);
    }
}

static kedge_status fetch(const kedge_environment *environment, const char *url,
                          const atomic_bool *stop, char **text, kedge_error *error)
{
    static const kedge_http_header headers[] = {
        {"Accept", "application/jwk-set+json, application/json"}};
    kedge_http *http = NULL;
    key_request request = {.allocator = environment->allocator, .url = url, .error = error};
    const kedge_http_request call = {.method = "GET",
                                     .url = url,
                                     .headers = headers,
                                     .header_count = 1,
                                     .deadline_ms = KEDGE_KEYS_DEADLINE_MS,
                                     .response_bytes_max = KEDGE_FILE_BYTES_MAX,
                                     .done = on_done,
                                     .context = &request};
    kedge_status status = kedge_http_new(environment, 1, &http, error);
    if (status == KEDGE_OK) status = kedge_http_send(http, &call, NULL, error);
    while (status == KEDGE_OK && !request.done) {
        status = stop && atomic_load(stop)
                     ? kedge_fail(error, KEDGE_CANCELLED, "cancelled", "the server stops")
                     : kedge_http_poll(http, POLL_MS, -1, NULL, error);
    }
    if (status == KEDGE_OK) status = request.status;
    kedge_http_free(http);
    if (status != KEDGE_OK) {
        kedge_release(environment->allocator, request.text);
        return status;
    }
    *text = request.text;
    return KEDGE_OK;
}

kedge_status kedge_key_source_read(const kedge_environment *environment, const char *source,
                                   const atomic_bool *stop, char **text, kedge_error *error)
{
    if (kedge_key_source_is_url(source)) return fetch(environment, source, stop, text, error);
    return kedge_file_read(environment->allocator, source, text, error);
}
