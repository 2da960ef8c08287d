/* Which web pages may call: CORS; and in open mode, which hosts the server answers under. */
#ifndef KEDGE_BACKEND_FRONT_ORIGINS_H
#define KEDGE_BACKEND_FRONT_ORIGINS_H

#include "common/bytes.h"

#define KEDGE_ORIGINS_MAX 64

typedef struct kedge_cors_origins {
    bool open; /* loopback origins are allowed; Host must be loopback (against DNS rebinding) */
    const char *allowed[KEDGE_ORIGINS_MAX]; /* "https://app.example.com"; borrowed */
    size_t allowed_count;
} kedge_cors_origins;

/* "http://localhost:3000", "http://127.0.0.1", "http://[::1]:8080": scheme, loopback host, port. */
bool kedge_origin_is_loopback(const char *origin);
/* The value of a Host header, with or without a port. */
bool kedge_host_is_loopback(const char *host);
/* Checks that each allowed origin is written as a browser sends it: "scheme://host" or
 * "scheme://host:port" (RFC 6454). Another one would never match: KEDGE_INVALID_ARGUMENT
 * "origin-invalid" names the first. */
kedge_status kedge_cors_origins_check(const kedge_cors_origins *origins, kedge_error *error);
/* Whether a page of this origin may read responses. */
bool kedge_cors_origins_allow(const kedge_cors_origins *origins, const char *origin);

#endif
