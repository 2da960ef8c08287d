/* An answer of a service: its memory and its headers. */
#include "backend/aws/client.h"

#include <string.h>
#include <strings.h>

void kedge_aws_answer_free(kedge_aws_answer *answer)
{
    kedge_buffer_free(&answer->headers);
    kedge_buffer_free(&answer->body);
    memset(answer, 0, sizeof *answer);
}

static kedge_bytes trimmed(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t')) {
        size--;
    }
    return (kedge_bytes){text, size};
}

bool kedge_aws_answer_header(const kedge_aws_answer *answer, const char *name, kedge_bytes *value)
{
    size_t name_size = strlen(name);
    const char *line = answer->headers.data;
    const char *end = line + answer->headers.size;
    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t size = next == NULL ? (size_t)(end - line) : (size_t)(next - line);
        size_t text = size > 0 && line[size - 1] == '\r' ? size - 1 : size;
        if (text > name_size && line[name_size] == ':' && strncasecmp(line, name, name_size) == 0) {
            *value = trimmed(line + name_size + 1, text - name_size - 1);
            return true;
        }
        line += size + 1;
    }
    return false;
}
