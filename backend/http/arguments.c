/* See arguments.h. */
#include "backend/http/arguments.h"

#include "backend/base/new_clients.h"
#include "backend/http/consumers.h"
#include "backend/http/key_source.h"
#include "backend/http/server.h"

#include "common/error.h"

#include <stdlib.h>
#include <string.h>

void kedge_server_arguments_print_help(FILE *out)
{
    fputs("kedge-server (--data DIR | --table TABLE --bucket BUCKET) --listen HOST:PORT\n"
          "             (--open | --jwks FILE|URL --issuer I --audience A)\n"
          "\n",
          out);
    fputs(kedge_stores_help, out);
    fputs(
        "  --listen HOST:PORT  a numeric address; [ADDRESS]:PORT for IPv6; port 0: any free one\n"
        "  --open              no tokens: everybody on loopback may do everything\n"
        "  --jwks FILE|URL     public keys (RFC 7517) that sign the bearer tokens; a URL is "
        "https,\n"
        "                      or http on loopback\n"
        "  --jwks-every SECONDS\n"
        "                      how often a URL is read again; default 300\n"
        "  --revoked FILE      tokens that are void before they expire\n"
        "  --issuer I, --audience A\n"
        "                      what the claims iss and aud must be\n"
        "  --algorithms LIST   accepted signatures; default RS256,PS256,ES256,EdDSA\n"
        "  --mutators LIBRARY  the app's mutators, run in child processes\n"
        "  --mutator-processes N\n"
        "                      how many child processes at most; default 8\n"
        "  --builtins LIST     the built-in mutators that may be pushed: all (default), none, or\n"
        "                      names such as kedge.put,kedge.batch\n"
        "  --policy FILE       which role may call which mutators (JSON)\n"
        "  --origin ORIGIN     a web origin that may read responses (CORS); may be repeated\n"
        "  --cadence compact|seed\n"
        "                      how versions are written; default compact\n"
        "  --mode direct|queued\n"
        "                      when a push gets its response: when it is committed (default), or\n"
        "                      when it is in the queue\n"
        "  --consumers N       queued mode: threads that take pushes out of the queue; default 4\n"
        "  --claim-bytes N     queued mode: larger pushes go through blobs; default 256000\n"
        "  --visibility SECONDS\n"
        "                      queued mode: a push comes again so long after its consumer died;\n"
        "                      default 10\n"
        "  --tls-certificate FILE, --tls-key FILE\n"
        "                      PEM; TLS 1.2 or later\n"
        "  --behind-proxy      listens beyond loopback without TLS: a proxy in front has it\n"
        "  --workers N         threads that run requests; default 16\n"
        "  --request-timeout SECONDS\n"
        "                      for a request's head, then its body, and then the work; default 30\n"
        "  --ping SECONDS      between two pings on an event stream; at most the default, 15\n"
        "  --new-clients-per-minute N\n"
        "                      new client ids of a user in a minute; default 600, and with "
        "--open,\n"
        "                      where everybody is one user, 0: no limit\n"
        "  --budget NAME=N     what one user or organization may take, by its name in GET\n"
        "                      /v1/limits, and 0: no limit (but of stranger_connections); may be "
        "repeated\n"
        "  --cost-header       each response tells in the header kedge-cost what it would cost on "
        "AWS\n"
        "  --log-level error|warning|info|debug\n"
        "                      default info; debug logs every request\n"
        "  --audit FILE        notes who was refused, and what was done to the server; - is "
        "stderr\n"
        "  --version           prints the version\n",
        out);
}

static const char **find_option(kedge_server_arguments *arguments, const char *name)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--listen", &arguments->listen},
        {"--jwks", &arguments->jwks},
        {"--jwks-every", &arguments->jwks_every},
        {"--revoked", &arguments->revoked},
        {"--issuer", &arguments->issuer},
        {"--audience", &arguments->audience},
        {"--algorithms", &arguments->algorithms},
        {"--mutators", &arguments->mutators},
        {"--mutator-processes", &arguments->mutator_processes},
        {"--builtins", &arguments->builtins},
        {"--policy", &arguments->policy},
        {"--cadence", &arguments->cadence},
        {"--tls-key", &arguments->key},
        {"--tls-certificate", &arguments->certificate},
        {"--workers", &arguments->workers},
        {"--request-timeout", &arguments->request_timeout},
        {"--ping", &arguments->ping},
        {"--log-level", &arguments->log_level},
        {"--audit", &arguments->audit},
        {"--mode", &arguments->mode},
        {"--consumers", &arguments->consumers},
        {"--visibility", &arguments->visibility},
        {"--claim-bytes", &arguments->claim_bytes},
        {"--new-clients-per-minute", &arguments->new_clients},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(name, options[i].name) == 0) return options[i].value;
    }
    const char **stores = kedge_stores_option(&arguments->stores, name);
    if (stores) return stores;
    kedge_cors_origins *origins = &arguments->origins;
    if (strcmp(name, "--origin") == 0 && origins->allowed_count < KEDGE_ORIGINS_MAX) {
        return &origins->allowed[origins->allowed_count++];
    }
    if (strcmp(name, "--budget") == 0 && arguments->budget_count < KEDGE_BUDGETS_GIVEN_MAX)
        return &arguments->budgets[arguments->budget_count++];
    return NULL;
}

static bool *find_flag(kedge_server_arguments *arguments, const char *name)
{
    if (strcmp(name, "--open") == 0) return &arguments->open;
    if (strcmp(name, "--cost-header") == 0) return &arguments->cost_header;
    if (strcmp(name, "--behind-proxy") == 0) return &arguments->behind_proxy;
    return kedge_stores_flag(&arguments->stores, name);
}

kedge_status kedge_server_arguments_parse(int argc, char **argv, kedge_server_arguments *arguments,
                                          kedge_error *error)
{
    for (int i = 1; i < argc; i++) {
        bool *flag = find_flag(arguments, argv[i]);
        if (flag) {
            *flag = true;
        } else {
            const char **value = find_option(arguments, argv[i]);
            if (!value || i + 1 == argc) {
                return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s %s; see --help",
                                  argv[i], value ? "needs a value" : "is not an option");
            }
            *value = argv[++i];
        }
    }
    kedge_status status = kedge_stores_check(&arguments->stores, error);
    if (status != KEDGE_OK) return status;
    if (!arguments->listen) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--listen HOST:PORT is missing; see --help");
    }
    if (!arguments->certificate != !arguments->key) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--tls-certificate and --tls-key go together");
    }
    if (arguments->open && (arguments->jwks || arguments->issuer || arguments->audience ||
                            arguments->algorithms || arguments->revoked)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--open takes no tokens: leave it out, or --jwks, --issuer, --audience, "
                          "--algorithms and --revoked");
    }
    if (arguments->jwks_every && !(arguments->jwks && kedge_key_source_is_url(arguments->jwks))) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--jwks-every is for a URL; a file is read again when it has changed");
    }
    if (arguments->jwks) {
        status = kedge_key_source_check(arguments->jwks, error);
        if (status != KEDGE_OK) return status;
    }
    arguments->origins.open = arguments->open;
    return kedge_cors_origins_check(&arguments->origins, error);
}

/* "127.0.0.1:7420" or "[::1]:7420". */
static kedge_status parse_listen(const char *listen, char *address, size_t address_size,
                                 uint16_t *port, kedge_error *error)
{
    const char *colon = strrchr(listen, ':');
    char *end = NULL;
    unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;
    size_t size = colon ? (size_t)(colon - listen) : 0;
    if (size >= 2 && listen[0] == '[' && listen[size - 1] == ']') {
        listen++;
        size -= 2;
    }
    if (!colon || end == colon + 1 || *end || number > 65535 || size == 0 || size >= address_size) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--listen takes ADDRESS:PORT, for example 127.0.0.1:7420");
    }
    memcpy(address, listen, size);
    address[size] = '\0';
    *port = (uint16_t)number;
    return KEDGE_OK;
}

/* An option that is a whole number; absent, `number` stays. */
static kedge_status parse_count(const char *option, const char *text, uint32_t least, uint32_t most,
                                uint32_t *number, kedge_error *error)
{
    if (!text) return KEDGE_OK;
    char *end = NULL;
    bool digits = *text >= '0' && *text <= '9';
    unsigned long value = digits ? strtoul(text, &end, 10) : 0;
    if (!digits || value < least || value > most || *end) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "%s takes a number from %u to %u, not \"%s\"", option, least, most, text);
    }
    *number = (uint32_t)value;
    return KEDGE_OK;
}

static kedge_status parse_cadence(const char *text, kedge_cadence *cadence, kedge_error *error)
{
    *cadence = KEDGE_CADENCE_COMPACT;
    if (!text || strcmp(text, "compact") == 0) return KEDGE_OK;
    *cadence = KEDGE_CADENCE_SEED;
    if (strcmp(text, "seed") == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "--cadence takes compact or seed, not \"%s\"", text);
}

static kedge_status parse_mode(const kedge_server_arguments *arguments, bool *queued,
                               kedge_error *error)
{
    const char *mode = arguments->mode ? arguments->mode : "direct";
    bool tuned = arguments->consumers || arguments->claim_bytes || arguments->visibility;
    *queued = strcmp(mode, "queued") == 0;
    if (*queued || (strcmp(mode, "direct") == 0 && !tuned)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "--mode takes direct or queued, not \"%s\"; --consumers, --claim-bytes and "
                      "--visibility are for queued mode",
                      mode);
}

static bool is_loopback(const char *address)
{
    return kedge_host_is_loopback(strcmp(address, "::1") ? address : "[::1]");
}

/* Beyond loopback the server needs tokens, and encryption, its own or a proxy's: neither a token
 * nor data crosses a network in the clear. */
static kedge_status check_listen(const kedge_server_arguments *arguments, const char *address,
                                 kedge_error *error)
{
    if (arguments->open && !is_loopback(address)) {
        return kedge_fail(
            error, KEDGE_INVALID_ARGUMENT, "open-not-loopback",
            "--open has no tokens and so listens only on 127.0.0.1 or [::1], not on %s", address);
    }
    if (!is_loopback(address) && !arguments->certificate && !arguments->behind_proxy) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "listen-unencrypted",
                          "--listen %s is beyond loopback and has no TLS: give --tls-certificate "
                          "and --tls-key, or --behind-proxy when a proxy in front of it has TLS",
                          address);
    }
    return KEDGE_OK;
}

/* Connections are limited by address only where the address tells peers apart: behind a proxy all
 * have the proxy's, and a proxy may stand on the same machine. */
static kedge_status read_budgets(const kedge_server_arguments *arguments, const char *address,
                                 kedge_budget_limits *limits, kedge_error *error)
{
    *limits = kedge_budget_limits_default(arguments->open);
    if (!is_loopback(address) && !arguments->behind_proxy)
        limits->address_connections = KEDGE_BUDGET_ADDRESS_CONNECTIONS;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < arguments->budget_count && status == KEDGE_OK; i++)
        status = kedge_budget_limits_parse(arguments->budgets[i], limits, error);
    return status;
}

kedge_status kedge_server_arguments_read(const kedge_server_arguments *arguments,
                                         kedge_server_settings *settings, kedge_error *error)
{
    *settings = (kedge_server_settings){
        .mutators = KEDGE_PLUGIN_OPTIONS_INIT,
        .workers = KEDGE_WORKERS_DEFAULT,
        .ping_s = KEDGE_SERVER_PING_S,
        .request_timeout_s = KEDGE_SERVER_REQUEST_TIMEOUT_S,
        .new_clients_per_minute = arguments->open ? 0 : KEDGE_NEW_CLIENTS_PER_MINUTE_DEFAULT,
        .jwks_every_s = KEDGE_KEYS_EVERY_S_DEFAULT,
        .consumers = KEDGE_CONSUMERS_DEFAULT,
        .claim_bytes = KEDGE_QUEUED_CLAIM_BYTES,
        .visibility_s = KEDGE_CONSUMERS_VISIBILITY_S};
    const struct {
        const char *option;
        const char *text;
        uint32_t least;
        uint32_t most;
        uint32_t *number;
    } counts[] = {
        {"--new-clients-per-minute", arguments->new_clients, 0, KEDGE_NEW_CLIENTS_PER_MINUTE_MAX,
         &settings->new_clients_per_minute},
        {"--jwks-every", arguments->jwks_every, 1, KEDGE_KEYS_EVERY_S_MAX, &settings->jwks_every_s},
        {"--mutator-processes", arguments->mutator_processes, 1, KEDGE_PLUGIN_CHILDREN_MAX,
         &settings->mutators.children},
        {"--workers", arguments->workers, 1, KEDGE_WORKERS_MAX, &settings->workers},
        {"--request-timeout", arguments->request_timeout, 1, 3600, &settings->request_timeout_s},
        {"--ping", arguments->ping, 1, KEDGE_SERVER_PING_S, &settings->ping_s},
        {"--consumers", arguments->consumers, 1, KEDGE_CONSUMERS_MAX, &settings->consumers},
        {"--claim-bytes", arguments->claim_bytes, 1, KEDGE_QUEUE_BODY_BYTES_MAX,
         &settings->claim_bytes},
        {"--visibility", arguments->visibility, 1, KEDGE_QUEUE_VISIBILITY_MS_MAX / 1000,
         &settings->visibility_s},
    };
    kedge_status status = parse_listen(arguments->listen, settings->address,
                                       sizeof settings->address, &settings->port, error);
    if (status == KEDGE_OK) status = parse_cadence(arguments->cadence, &settings->cadence, error);
    if (status == KEDGE_OK) status = parse_mode(arguments, &settings->queued, error);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == KEDGE_OK; i++) {
        status = parse_count(counts[i].option, counts[i].text, counts[i].least, counts[i].most,
                             counts[i].number, error);
    }
    if (status == KEDGE_OK)
        status = read_budgets(arguments, settings->address, &settings->budgets, error);
    if (status != KEDGE_OK) return status;
    return check_listen(arguments, settings->address, error);
}
