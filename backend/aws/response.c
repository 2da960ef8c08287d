/* A response of a service: its memory and its headers. */
#include "backend/aws/client.h"
#include "http/http.h"

#include <string.h>

void kedge_aws_response_free(kedge_aws_response *response)
{
    kedge_buffer_free(&response->headers);
    kedge_buffer_free(&response->body);
    memset(response, 0, sizeof *response);
}

bool kedge_aws_response_header(const kedge_aws_response *response, const char *name,
                               kedge_bytes *value)
{
    return kedge_http_header_value(kedge_buffer_bytes(&response->headers), name, value);
}
