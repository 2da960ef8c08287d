/* kedge-server: one process that serves projects from a folder, or from AWS.
 *
 * It prints one line when it is ready, logs JSON lines on stderr, and ends in order on SIGINT or
 * SIGTERM. */
#include "backend/base/new_clients.h"
#include "backend/effects/apply.h"
#include "backend/front/builtins.h"
#include "backend/front/failures.h"
#include "backend/front/file.h"
#include "backend/http/consumers.h"
#include "backend/http/followers.h"
#include "backend/http/server.h"
#include "backend/http/signals.h"
#include "backend/plugin/plugin.h"
#include "backend/stores/stores.h"

#include "common/error.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE_BLOCK 262144

typedef struct kedge_arguments {
    kedge_stores_options stores;
    const char *listen;
    const char *jwks;
    const char *issuer;
    const char *audience;
    const char *algorithms;
    const char *mutators;
    const char *builtins;
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
    const char *new_clients;
    bool open;
    bool cost_header;
    bool behind_proxy;
    kedge_cors_origins origins;
} kedge_arguments;

/* What the arguments mean. */
typedef struct kedge_settings {
    char address[64];
    uint16_t port;
    kedge_cadence cadence;
    bool queued;
    uint32_t workers;
    uint32_t ping_s;
    uint32_t request_timeout_s;
    uint32_t new_clients_per_minute; /* 0: no limit */
    uint32_t consumers;              /* these three in queued mode */
    uint32_t claim_bytes;
    uint32_t visibility_s;
} kedge_settings;

/* What runs, to be taken down in reverse. */
typedef struct kedge_service {
    kedge_environment environment;
    kedge_logger log;
    char *certificate;
    char *key;
    kedge_stores *stores;
    kedge_plugin *plugin;
    kedge_registry *registry;
    kedge_auth *auth;
    kedge_consumers *consumers; /* NULL: direct mode */
    kedge_followers *followers; /* NULL: nobody here follows the logs */
    kedge_server *server;
    kedge_backend *backend;
} kedge_service;

static void print_help(FILE *out)
{
    fputs("kedge-server (--data DIR | --table TABLE --bucket BUCKET) --listen HOST:PORT\n"
          "             (--open | --jwks FILE --issuer I --audience A)\n"
          "\n",
          out);
    fputs(kedge_stores_help, out);
    fputs(
        "  --listen HOST:PORT  a numeric address; [ADDRESS]:PORT for IPv6; port 0: any free one\n"
        "  --open              no tokens: everybody on loopback may do everything\n"
        "  --jwks FILE         public keys (RFC 7517) that sign the bearer tokens\n"
        "  --issuer I, --audience A\n"
        "                      what the claims iss and aud must be\n"
        "  --algorithms LIST   accepted signatures; default RS256,PS256,ES256,EdDSA\n"
        "  --mutators LIBRARY  the app's mutators, run in child processes\n"
        "  --builtins LIST     the built-in mutators that may be pushed: all (default), none, or\n"
        "                      names such as kedge.put,kedge.batch\n"
        "  --origin ORIGIN     a web origin that may read responses (CORS); may be repeated\n"
        "  --cadence compact|seed\n"
        "                      how versions are written; default compact\n"
        "  --mode direct|queued\n"
        "                      whether a push is answered when it is committed (default), or when\n"
        "                      it stands in the queue\n"
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
        "                      for a request's head, and then for its body; default 30\n"
        "  --ping SECONDS      between two pings on an event stream; at most the default, 15\n"
        "  --new-clients-per-minute N\n"
        "                      client ids that one user may begin with; default 600, and with "
        "--open,\n"
        "                      where everybody is one user, 0: no limit\n"
        "  --cost-header       each response tells in the header kedge-cost what it would cost on "
        "AWS\n"
        "  --log-level error|warning|info|debug\n"
        "                      default info; debug logs every request\n"
        "  --version           prints the version\n",
        out);
}

static const char **find_option(kedge_arguments *arguments, const char *name)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--listen", &arguments->listen},
        {"--jwks", &arguments->jwks},
        {"--issuer", &arguments->issuer},
        {"--audience", &arguments->audience},
        {"--algorithms", &arguments->algorithms},
        {"--mutators", &arguments->mutators},
        {"--builtins", &arguments->builtins},
        {"--cadence", &arguments->cadence},
        {"--tls-key", &arguments->key},
        {"--tls-certificate", &arguments->certificate},
        {"--workers", &arguments->workers},
        {"--request-timeout", &arguments->request_timeout},
        {"--ping", &arguments->ping},
        {"--log-level", &arguments->log_level},
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
    return NULL;
}

static bool *find_flag(kedge_arguments *arguments, const char *name)
{
    if (strcmp(name, "--open") == 0) return &arguments->open;
    if (strcmp(name, "--cost-header") == 0) return &arguments->cost_header;
    if (strcmp(name, "--behind-proxy") == 0) return &arguments->behind_proxy;
    return kedge_stores_flag(&arguments->stores, name);
}

static kedge_status parse_arguments(int argc, char **argv, kedge_arguments *arguments,
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
    if (arguments->open &&
        (arguments->jwks || arguments->issuer || arguments->audience || arguments->algorithms)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--open takes no tokens: leave it out, or --jwks, --issuer, --audience "
                          "and --algorithms");
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

static kedge_status parse_mode(const kedge_arguments *arguments, bool *queued, kedge_error *error)
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

/* Nothing is opened or made for arguments that are wrong. */
static kedge_status read_settings(const kedge_arguments *arguments, kedge_settings *settings,
                                  kedge_error *error)
{
    *settings = (kedge_settings){.workers = KEDGE_WORKERS_DEFAULT,
                                 .ping_s = KEDGE_SERVER_PING_S,
                                 .request_timeout_s = KEDGE_SERVER_REQUEST_TIMEOUT_S,
                                 .new_clients_per_minute =
                                     arguments->open ? 0 : KEDGE_NEW_CLIENTS_PER_MINUTE_DEFAULT,
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
    return status;
}

static bool is_loopback(const char *address)
{
    return kedge_host_is_loopback(strcmp(address, "::1") ? address : "[::1]");
}

static kedge_status open_auth(kedge_service *service, const kedge_arguments *arguments,
                              const char *address, kedge_error *error)
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
    char *jwks = NULL;
    kedge_status status = KEDGE_OK;
    if (arguments->jwks) {
        status = kedge_file_read(service->environment.allocator, arguments->jwks, &jwks, error);
    }
    kedge_auth_options options = {
        .environment = &service->environment,
        .open = arguments->open,
        .jwks = jwks,
        .issuer = arguments->issuer,
        .audience = arguments->audience,
        .algorithms = arguments->algorithms,
    };
    if (status == KEDGE_OK) status = kedge_auth_new(&options, &service->auth, error);
    kedge_release(service->environment.allocator, jwks);
    return status;
}

static kedge_status open_registry(kedge_service *service, const kedge_arguments *arguments,
                                  kedge_error *error)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    if (arguments->mutators) {
        kedge_plugin_options options = KEDGE_PLUGIN_OPTIONS_INIT;
        options.failed = kedge_failure_log_mutator;
        options.failed_context = &service->log;
        kedge_status status = kedge_plugin_start(&service->environment, arguments->mutators,
                                                 &options, &service->plugin, error);
        if (status != KEDGE_OK) return status;
        kedge_plugin_mutators(service->plugin, &mutators, &count);
    }
    kedge_status status = kedge_registry_new(service->environment.allocator, mutators, count,
                                             &service->registry, error);
    if (status == KEDGE_OK && arguments->builtins)
        status = kedge_builtins_allow(service->registry, arguments->builtins, error);
    return status;
}

static void write_metrics(void *context, kedge_buffer *out)
{
    kedge_service *service = context;
    if (service->consumers) kedge_consumers_write_metrics(service->consumers, out);
    if (service->followers) kedge_followers_write_metrics(service->followers, out);
    kedge_stores_write_metrics(service->stores, out);
}

static kedge_status open_server(kedge_service *service, kedge_arguments *arguments,
                                const kedge_settings *settings, kedge_error *error)
{
    const kedge_allocator *allocator = service->environment.allocator;
    kedge_status status = KEDGE_OK;
    if (arguments->certificate) {
        status = kedge_file_read(allocator, arguments->certificate, &service->certificate, error);
        if (status == KEDGE_OK)
            status = kedge_file_read(allocator, arguments->key, &service->key, error);
    }
    if (status != KEDGE_OK) return status;
    kedge_server_options options = {
        .environment = &service->environment,
        .address = settings->address,
        .port = settings->port,
        .tls_certificate = service->certificate,
        .tls_key = service->key,
        .worker_count = settings->workers,
        .request_timeout_s = settings->request_timeout_s,
        .ping_s = settings->ping_s,
        .auth = service->auth,
        .origins = &arguments->origins,
        .log = &service->log,
        .write_metrics = write_metrics,
        .write_metrics_context = service,
        .cost_header = arguments->cost_header,
    };
    return kedge_server_start(&options, &service->server, error);
}

/* NULL consumers in direct mode. */
static kedge_status open_queue(kedge_service *service, const kedge_settings *settings,
                               kedge_error *error)
{
    if (!settings->queued) return KEDGE_OK;
    if (!kedge_stores_queue(service->stores).vtable) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--mode queued needs a queue: give --queue QUEUE");
    }
    kedge_queued_options options = {
        .environment = &service->environment,
        .records = kedge_stores_records(service->stores),
        .blobs = kedge_stores_blobs(service->stores),
        .queue = kedge_stores_queue(service->stores),
        .claim_bytes = settings->claim_bytes,
        .visibility_ms = (int64_t)settings->visibility_s * 1000,
    };
    return kedge_consumers_new(&options, &service->log, &service->consumers, error);
}

/* A folder has one server. */
static kedge_status open_followers(kedge_service *service, const kedge_arguments *arguments,
                                   kedge_error *error)
{
    const kedge_followers_options options = {
        .environment = &service->environment,
        .records = kedge_stores_records(service->stores),
        .stream = kedge_stores_stream(service->stores),
        .snapshots = kedge_stores_snapshots(service->stores),
        .alone = arguments->stores.data != NULL,
        .log = &service->log,
    };
    if (!options.stream.vtable) return KEDGE_OK;
    return kedge_followers_new(&options, &service->followers, error);
}

static void note_appended(void *context, kedge_bytes organization, kedge_bytes project,
                          kedge_bytes log, int64_t number)
{
    kedge_service *service = context;
    kedge_server_appended(service->server, organization, project, log, number);
    if (service->followers) kedge_followers_appended(service->followers);
}

static kedge_status open_backend(kedge_service *service, const kedge_arguments *arguments,
                                 const kedge_settings *settings, kedge_error *error)
{
    kedge_backend_options options = {
        .environment = &service->environment,
        .records = kedge_stores_records(service->stores),
        .blobs = kedge_stores_blobs(service->stores),
        .registry = service->registry,
        .cadence = settings->cadence,
        .create_projects = arguments->open,
        .committed = kedge_server_committed,
        .committed_context = service->server,
        .appended = note_appended,
        .appended_context = service,
        .stream_is_followed = service->followers != NULL,
        .later = kedge_server_later,
        .later_context = service->server,
        .failed = kedge_server_failed,
        .failed_context = service->server,
        .enqueue = service->consumers ? kedge_consumers_enqueue : NULL,
        .enqueue_context = service->consumers,
        .new_clients_per_minute = settings->new_clients_per_minute,
    };
    kedge_status status = kedge_backend_new(&options, &service->backend, error);
    if (status == KEDGE_OK && service->consumers) {
        status =
            kedge_consumers_start(service->consumers, service->backend, settings->consumers, error);
    }
    if (status == KEDGE_OK && service->followers)
        status = kedge_followers_start(service->followers, service->backend, error);
    if (status == KEDGE_OK) kedge_server_serve(service->server, service->backend);
    return status;
}

static kedge_status start(kedge_service *service, kedge_arguments *arguments, kedge_error *error)
{
    kedge_settings settings;
    const char *address = settings.address;
    kedge_status status = read_settings(arguments, &settings, error);
    if (status == KEDGE_OK) status = open_auth(service, arguments, address, error);
    if (status == KEDGE_OK) status = open_registry(service, arguments, error);
    arguments->stores.changes_of = KEDGE_EFFECTS_PARTITIONS;
    if (status == KEDGE_OK) {
        status = kedge_stores_open(&service->environment, &arguments->stores, KEDGE_STORES_SERVE,
                                   &service->stores, error);
    }
    if (status == KEDGE_OK) status = open_queue(service, &settings, error);
    if (status == KEDGE_OK) status = open_followers(service, arguments, error);
    if (status == KEDGE_OK) status = open_server(service, arguments, &settings, error);
    if (status == KEDGE_OK) status = open_backend(service, arguments, &settings, error);
    if (status != KEDGE_OK) return status;
    kedge_error warning = {0};
    if (kedge_stores_warning(service->stores, &warning)) {
        kedge_logger_write(&service->log, KEDGE_LOGGER_WARNING, warning.code, "message",
                           warning.message, NULL);
    }
    char url[96];
    snprintf(url, sizeof url, "%s://%s%s%s:%u", arguments->certificate ? "https" : "http",
             strchr(address, ':') ? "[" : "", address, strchr(address, ':') ? "]" : "",
             kedge_server_port(service->server));
    kedge_logger_write(
        &service->log, KEDGE_LOGGER_INFO, "started", "url", url, "stores",
        kedge_stores_name(service->stores), "identity", arguments->open ? "open" : "tokens", "mode",
        service->consumers ? "queued" : "direct", "version", kedge_library_version(), NULL);
    printf("kedge-server ready on %s\n", url);
    fflush(stdout);
    return KEDGE_OK;
}

static void stop(kedge_service *service)
{
    kedge_consumers_stop(service->consumers);
    kedge_followers_stop(service->followers);
    kedge_server_stop(service->server);
    kedge_followers_free(service->followers);
    kedge_consumers_free(service->consumers);
    kedge_backend_free(service->backend);
    kedge_registry_free(service->registry);
    kedge_plugin_stop(service->plugin);
    kedge_stores_close(service->stores);
    kedge_auth_free(service->auth);
    kedge_release(service->environment.allocator, service->certificate);
    kedge_release(service->environment.allocator, service->key);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("kedge-server %s\n", kedge_library_version());
        return 0;
    }
    int child = kedge_plugin_child_dispatch(argc, argv);
    if (child >= 0) return child;

    umask(077); /* what the server makes is its user's alone */

    /* Bodies, responses and states come and go by the megabyte. From this size on a block goes back
     * to the system when it is freed, also after a larger one was. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);

    kedge_signals_block();

    kedge_arguments arguments = {0};
    kedge_error error = {0};
    kedge_service service = {.environment = kedge_environment_system(NULL)};
    kedge_status status = parse_arguments(argc, argv, &arguments, &error);
    service.log = (kedge_logger){
        .environment = &service.environment, .file = STDERR_FILENO, .level = KEDGE_LOGGER_INFO};
    if (status == KEDGE_OK && arguments.log_level &&
        !kedge_logger_level_of(arguments.log_level, &service.log.level)) {
        status = kedge_fail(&error, KEDGE_INVALID_ARGUMENT, "usage",
                            "--log-level takes error, warning, info or debug, not \"%s\"",
                            arguments.log_level);
    }
    if (status == KEDGE_OK) status = start(&service, &arguments, &error);
    if (status != KEDGE_OK) {
        fprintf(stderr, "kedge-server: %s (%s)\n", error.message, error.code);
        stop(&service);
        return status == KEDGE_INVALID_ARGUMENT ? 2 : 1;
    }
    const kedge_signals_keys keys = {&service.environment, service.auth, arguments.jwks,
                                     &service.log};
    int signal_number = kedge_signals_await_stop(&keys);
    kedge_logger_write(&service.log, KEDGE_LOGGER_INFO, "stopping", "signal",
                       strsignal(signal_number), NULL);
    stop(&service);
    kedge_logger_write(&service.log, KEDGE_LOGGER_INFO, "stopped", NULL);
    return 0;
}
