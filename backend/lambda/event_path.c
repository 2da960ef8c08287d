/* See event_path.h. */
#include "backend/lambda/event_path.h"

#include "common/percent.h"

#include <string.h>

#define STAGE_SIZE  130 /* a slash, and 128 characters */
#define DOMAIN_SIZE 256

static bool is_function_url(kedge_bytes context)
{
    char domain[DOMAIN_SIZE];
    return kedge_json_member_chars(context, "domainName", domain, sizeof domain) &&
           strstr(domain, ".lambda-url.") != NULL;
}

#define API_ROOT "/v1/" /* of every path of the API */

/* How much of the path is the stage. A domain of the user's own leaves it out; what is after it is
 * then no path of the API, also when the stage has the name of the root. */
static size_t stage_size(kedge_bytes context, kedge_bytes path)
{
    char stage[STAGE_SIZE] = "/";
    if (!kedge_json_member_chars(context, "stage", stage + 1, sizeof stage - 1) ||
        strcmp(stage, "/$default") == 0 || stage[1] == '\0') {
        return 0;
    }
    size_t size = strlen(stage);
    bool leads = path.size >= size + strlen(API_ROOT) && memcmp(path.data, stage, size) == 0 &&
                 memcmp(path.data + size, API_ROOT, strlen(API_ROOT)) == 0;
    return leads ? size : 0;
}

bool kedge_event_path(kedge_bytes event, kedge_bytes context, kedge_buffer *path)
{
    kedge_bytes value;
    kedge_buffer raw = kedge_buffer_make(path->allocator);
    bool found = kedge_json_member(event, "rawPath", &value) && kedge_json_to_text(value, &raw);
    if (found) {
        kedge_bytes text = kedge_buffer_bytes(&raw);
        size_t stage = stage_size(context, text);
        text = (kedge_bytes){text.data + stage, text.size - stage};
        if (is_function_url(context)) {
            kedge_buffer_append_bytes(path, text);
        } else {
            kedge_percent_encode(text, KEDGE_PERCENT_UNRESERVED "/", path);
        }
    }
    path->no_memory = path->no_memory || raw.no_memory;
    kedge_buffer_free(&raw);
    return found;
}
