/* See health.h. */
#include "backend/front/health.h"

#include <string.h>

static bool is_preflight(const char *method)
{
    return strcmp(method, "OPTIONS") == 0;
}

bool kedge_front_serves(const char *method, kedge_bytes path)
{
    return is_preflight(method) || kedge_bytes_equal_text(path, "/v1/health");
}

void kedge_front_serve(const char *method, kedge_api_response *response)
{
    if (is_preflight(method)) {
        response->status = 204;
    } else if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
        response->status = 200;
        response->content_type = "application/json";
        kedge_buffer_append_text(&response->body, "{\"status\":\"ok\"}");
    } else {
        kedge_api_problem_of_method(response, "GET, HEAD");
    }
}
