/* The command line of kedge-server: what stands there, and what it means. */
#ifndef KEDGE_BACKEND_HTTP_ARGUMENTS_H
#define KEDGE_BACKEND_HTTP_ARGUMENTS_H

#include "backend/base/options.h"
#include "backend/front/origins.h"
#include "backend/http/budgets.h"
#include "backend/plugin/plugin.h"
#include "backend/stores/stores.h"

#include <stdio.h>

#define KEDGE_BUDGETS_GIVEN_MAX 64

/* As given. Borrowed from argv; NULL: not given. */
typedef struct kedge_server_arguments {
    kedge_stores_options stores;
    const char *listen;
    const char *jwks;
    const char *jwks_every;
    const char *revoked;
    const char *issuer;
    const char *audience;
    const char *algorithms;
    const char *mutators;
    const char *mutator_processes;
    const char *builtins;
    const char *policy;
    const char *cadence;
    const char *mode;
    const char *consumers;
    const char *claim_bytes;
    const char *visibility;
    const char *certificate;
    const char *key;
    const char *workers;
    const char *request_timeout;
    const char *ping;
    const char *log_level;
    const char *audit;
    const char *new_clients;
    bool open;
    bool cost_header;
    bool behind_proxy;
    kedge_cors_origins origins;
    const char *budgets[KEDGE_BUDGETS_GIVEN_MAX];
    size_t budget_count;
} kedge_server_arguments;

/* What the arguments mean. */
typedef struct kedge_server_settings {
    char address[64];
    uint16_t port;
    kedge_cadence cadence;
    bool queued;
    kedge_plugin_options mutators;
    uint32_t workers;
    uint32_t ping_s;
    uint32_t request_timeout_s;
    uint32_t new_clients_per_minute; /* 0: no limit */
    uint32_t jwks_every_s;
    uint32_t consumers; /* these three in queued mode */
    uint32_t claim_bytes;
    uint32_t visibility_s;
    kedge_budget_limits budgets;
} kedge_server_settings;

/* KEDGE_INVALID_ARGUMENT with a message that says what is wrong. */
kedge_status kedge_server_arguments_parse(int argc, char **argv, kedge_server_arguments *arguments,
                                          kedge_error *error);
/* Checks everything that can be checked before anything is opened or made. */
kedge_status kedge_server_arguments_read(const kedge_server_arguments *arguments,
                                         kedge_server_settings *settings, kedge_error *error);
void kedge_server_arguments_print_help(FILE *out);

#endif
