/* See origins.h. */
#include "backend/front/origins.h"

#include "common/error.h"

#include <string.h>

bool kedge_host_is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(host, names[i], size) != 0) continue;
        const char *rest = host + size;
        if (*rest == '\0') return true;
        if (*rest == ':' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1)) {
            return true;
        }
    }
    return false;
}

bool kedge_origin_is_loopback(const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t size = strlen(schemes[i]);
        if (strncmp(origin, schemes[i], size) == 0) return kedge_host_is_loopback(origin + size);
    }
    return false;
}

static bool is_origin(const char *text)
{
    size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    if (scheme == 0 || strncmp(text + scheme, "://", 3) != 0) return false;
    const char *host = text + scheme + 3;
    return *host != '\0' && host[strcspn(host, "/?#@*, \t")] == '\0';
}

kedge_status kedge_cors_origins_check(const kedge_cors_origins *origins, kedge_error *error)
{
    for (size_t i = 0; i < origins->allowed_count; i++) {
        if (is_origin(origins->allowed[i])) continue;
        return kedge_fail(
            error, KEDGE_INVALID_ARGUMENT, "origin-invalid",
            "\"%.100s\" is not an origin: it must be scheme://host or scheme://host:port "
            "and nothing after it, for example https://app.example.com",
            origins->allowed[i]);
    }
    return KEDGE_OK;
}

bool kedge_cors_origins_allow(const kedge_cors_origins *origins, const char *origin)
{
    if (origins->open && kedge_origin_is_loopback(origin)) return true;
    for (size_t i = 0; i < origins->allowed_count; i++) {
        if (strcmp(origin, origins->allowed[i]) == 0) return true;
    }
    return false;
}
