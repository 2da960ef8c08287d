/* An answer of a service: its memory and its headers. */
#include "backend/aws/client.h"
#include "http/http.h"

#include <string.h>

void kedge_aws_answer_free(kedge_aws_answer *answer)
{
    kedge_buffer_free(&answer->headers);
    kedge_buffer_free(&answer->body);
    memset(answer, 0, sizeof *answer);
}

bool kedge_aws_answer_header(const kedge_aws_answer *answer, const char *name, kedge_bytes *value)
{
    return kedge_http_header_value(kedge_buffer_bytes(&answer->headers), name, value);
}
