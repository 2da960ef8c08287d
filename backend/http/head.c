/* See head.h. The daemon itself is lenient, because its own refusals are pages of HTML: it hands
 * over the names and values of all headers as they were sent, also those that it does not heed. */
#include "backend/http/head.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

typedef struct head {
    const char *problem; /* the first one */
    int hosts;
    int lengths;
    int codings;
    int authorizations;
} head;

/* RFC 9110, section 5.6.2. */
static bool is_token(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
    }
    return size > 0;
}

static bool is_text(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) return false;
    }
    return true;
}

static bool is_number(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
    }
    return size > 0;
}

static bool is(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

static const char *problem_of_header(head *seen, const char *name, size_t name_size,
                                     const char *value, size_t size)
{
    if (!is_token(name, name_size)) {
        return "the name of a header has a byte that is not allowed, such as a space before the "
               "colon";
    }
    if (!is_text(value, size)) return "the value of a header has a control character";
    if (is(name, name_size, "Host") && seen->hosts++ > 0) return "there is more than one Host";
    if (is(name, name_size, "Authorization") && seen->authorizations++ > 0)
        return "there is more than one Authorization";
    if (is(name, name_size, "Content-Length")) {
        if (seen->lengths++ > 0) return "there is more than one Content-Length";
        if (!is_number(value, size)) return "Content-Length must be one number of digits";
    }
    if (is(name, name_size, "Transfer-Encoding")) {
        if (seen->codings++ > 0) return "there is more than one Transfer-Encoding";
        if (!is(value, size, "chunked")) return "Transfer-Encoding must be chunked";
    }
    return NULL;
}

static enum MHD_Result look(void *context, enum MHD_ValueKind kind, const char *name,
                            size_t name_size, const char *value, size_t size)
{
    head *seen = context;
    (void)kind;
    seen->problem = problem_of_header(seen, name, name_size, value ? value : "", value ? size : 0);
    return seen->problem ? MHD_NO : MHD_YES;
}

const char *kedge_head_problem(struct MHD_Connection *connection, const char *version)
{
    head seen = {.problem = NULL};
    bool newer = strcmp(version, "HTTP/1.1") == 0;
    if (!newer && strcmp(version, "HTTP/1.0") != 0)
        return "the version of HTTP must be HTTP/1.1 or HTTP/1.0";
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look, &seen);
    if (seen.problem) return seen.problem;
    if (seen.hosts == 0 && newer) return "Host is missing";
    if (seen.codings > 0 && !newer) return "HTTP/1.0 has no Transfer-Encoding";
    if (seen.codings > 0 && seen.lengths > 0)
        return "there is a Content-Length beside a Transfer-Encoding";
    return NULL;
}
