/* What kedge-server reads again while it runs, on a thread of its own:
 *
 *   the key set          on SIGHUP, when its file has changed, or, of a URL, after a time
 *   the revoked tokens   on SIGHUP, and when their file has changed
 *   the policy           on SIGHUP
 *   the TLS certificate  on SIGHUP
 *   the audit log        on SIGHUP its file is opened anew
 *
 * Files are looked at every second. When something cannot be read, or is wrong, that is logged, and
 * what was there before stays. */
#ifndef KEDGE_BACKEND_HTTP_RELOAD_H
#define KEDGE_BACKEND_HTTP_RELOAD_H

#include "backend/auth/auth.h"
#include "backend/front/audit.h"
#include "backend/front/logger.h"
#include "backend/front/policy.h"

#define KEDGE_RELOAD_LOOK_MS 1000

/* Borrowed until kedge_reload_free. */
typedef struct kedge_reload_options {
    const kedge_environment *environment;
    kedge_auth *auth;
    kedge_logger *log;
    kedge_audit *audit;      /* NULL: none */
    const char *jwks;        /* a file or a URL; NULL: there are no keys */
    int64_t jwks_every_ms;   /* of a URL */
    const char *revoked;     /* a file; NULL: there is none */
    const char *policy_path; /* a file; NULL: there is none */
    kedge_policy *policy;
    const char *certificate; /* files; NULL: no TLS */
    const char *key;
    /* Called after the keys or the revoked tokens have changed. */
    void (*changed)(void *context);
    void *context;
} kedge_reload_options;

typedef struct kedge_reload kedge_reload;

/* The first reading, before anything serves. Each needs only its own members of the options. */
kedge_status kedge_reload_read_revoked(const kedge_reload_options *options, bool *changed,
                                       kedge_error *error);
kedge_status kedge_reload_read_certificate(const kedge_reload_options *options, kedge_error *error);

kedge_status kedge_reload_start(const kedge_reload_options *options, kedge_reload **reload,
                                kedge_error *error);
/* All of it is read again, soon. Any thread. */
void kedge_reload_now(kedge_reload *reload);
void kedge_reload_write_metrics(kedge_reload *reload, kedge_buffer *out);
/* When it returns `changed` is not called again; what was counted can still be read. NULL is
 * allowed, here and below. */
void kedge_reload_stop(kedge_reload *reload);
void kedge_reload_free(kedge_reload *reload); /* stops it first */

#endif
