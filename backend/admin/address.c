/* The path and the query of the request that a command line asks for. */
#include "backend/admin/address.h"

#include <string.h>

static void append_encoded(kedge_buffer *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL) {
            kedge_buffer_append_byte(out, *text);
        } else {
            kedge_buffer_append_format(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

static const char *value_of(const kedge_admin_line *line, char place)
{
    switch (place) {
    case 'o':
        return line->organization;
    case 'p':
        return line->project;
    case 'v':
        return line->version == NULL ? "latest" : line->version;
    default:
        return line->arguments[place - '0'];
    }
}

void kedge_admin_write_path(const char *pattern, const kedge_admin_line *line, kedge_buffer *path)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '{') {
            kedge_buffer_append_byte(path, *at);
            continue;
        }
        append_encoded(path, value_of(line, at[1]));
        at += 2;
    }
}

void kedge_admin_write_query(const char *pattern, const kedge_admin_line *line, kedge_buffer *query)
{
    const struct {
        const char *name;
        const char *value;
    } parameters[] = {
        {"version", strstr(pattern, "{v}") == NULL ? line->version : NULL},
        {"expected", line->expected},
        {"before", line->before},
        {"after", line->after},
        {"from", line->from},
        {"to", line->to},
        {"limit", line->limit},
        {"items", line->items ? "1" : NULL},
    };
    for (size_t at = 0; at < sizeof parameters / sizeof parameters[0]; at++) {
        if (parameters[at].value == NULL) continue;
        if (query->size > 0) kedge_buffer_append_byte(query, '&');
        kedge_buffer_append_format(query, "%s=", parameters[at].name);
        append_encoded(query, parameters[at].value);
    }
}
