/* Checking the server's URL by hand and narrowly: what passes here means the same to every URL
 * parser. */
#include "sdk/net/url.h"

#include "common/error.h"

#include <string.h>
#include <strings.h>

/* A url with user information is not repeated: errors end up in logs. */
static kedge_status invalid(const char *url, const char *why, kedge_error *error)
{
    if (strchr(url, '@') != NULL) url = "…@…";
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "url-invalid",
                      "the url \"%.100s\" cannot be used: %s", url, why);
}

/* The size of "http://" or "https://" that `url` starts with, or 0. */
static size_t scheme_size(const char *url)
{
    if (strncasecmp(url, "http://", 7) == 0) return 7;
    if (strncasecmp(url, "https://", 8) == 0) return 8;
    return 0;
}

static const char *check_port(const char *port, size_t size)
{
    static const char wrong[] = "the port must be a number from 1 to 65535";
    int32_t number = 0;
    if (size == 0 || size > 5) return wrong;
    for (size_t i = 0; i < size; i++) {
        if (port[i] < '0' || port[i] > '9') return wrong;
        number = number * 10 + (port[i] - '0');
    }
    return number >= 1 && number <= 65535 ? NULL : wrong;
}

/* What is wrong with the authority part, or NULL. */
static const char *check_authority(const char *authority, size_t size)
{
    static const char name_characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    if (memchr(authority, '@', size) != NULL) {
        return "it must not hold user information; give a token function instead";
    }
    size_t host = 0;
    if (size > 0 && authority[0] == '[') {
        host = strspn(authority + 1, "0123456789abcdefABCDEF:.") + 1;
        if (host < 3 || host >= size || authority[host] != ']') return "the IPv6 address is wrong";
        host++;
    } else {
        host = strspn(authority, name_characters);
        if (host == 0) return "it names no host";
    }
    if (host >= size) return NULL;
    if (authority[host] != ':') return "the host holds a character that is not allowed";
    return check_port(authority + host + 1, size - host - 1);
}

static const char *check(const char *url)
{
    size_t size = strlen(url);
    size_t scheme = scheme_size(url);
    if (size > KEDGE_URL_BYTES_MAX) return "it is over 2048 bytes";
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)url[i];
        if (byte <= ' ' || byte >= 0x7F)
            return "it holds a space, a control or non-ASCII character";
    }
    if (scheme == 0) return "it must start with http:// or https://";
    if (strpbrk(url, "?#") != NULL) return "it must have no query and no fragment";
    if (strpbrk(url, "\\\"<>^`{|}") != NULL) return "it holds a character that is not allowed";
    return check_authority(url + scheme, strcspn(url + scheme, "/"));
}

kedge_status kedge_url_base(const char *url, const char *organization, const char *project,
                            kedge_buffer *base, kedge_error *error)
{
    const char *why = check(url);
    if (why != NULL) return invalid(url, why, error);
    size_t size = strlen(url);
    while (size > 0 && url[size - 1] == '/') {
        size--;
    }
    kedge_buffer_append(base, url, size);
    kedge_buffer_append_format(base, "/v1/orgs/%s/projects/%s/", organization, project);
    return kedge_buffer_status(base, error);
}
