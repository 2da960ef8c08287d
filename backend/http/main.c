/* kedge-server: one process that serves projects from a folder, or from AWS.
 *
 * It prints one line when it is ready, logs JSON lines on stderr, and ends in order on SIGINT or
 * SIGTERM. */
#include "backend/effects/apply.h"
#include "backend/front/builtins.h"
#include "backend/front/failures.h"
#include "backend/front/memory.h"
#include "backend/front/mutators.h"
#include "backend/front/policy.h"
#include "backend/http/arguments.h"
#include "backend/http/consumers.h"
#include "backend/http/followers.h"
#include "backend/http/key_source.h"
#include "backend/http/server.h"
#include "backend/http/signals.h"
#include "backend/http/tls.h"
#include "backend/plugin/plugin.h"
#include "backend/stores/stores.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What runs, to be taken down in reverse. */
typedef struct kedge_service {
    kedge_environment environment;
    kedge_logger log;
    kedge_audit *audit; /* NULL: none */
    kedge_reload_options reloads;
    kedge_reload *reload;
    kedge_stores *stores;
    kedge_plugin *plugin;
    kedge_registry *registry;
    kedge_auth *auth;
    kedge_consumers *consumers; /* NULL: direct mode */
    kedge_followers *followers; /* NULL: nobody here follows the logs */
    kedge_server *server;
    kedge_backend *backend;
} kedge_service;

static kedge_status open_auth(kedge_service *service, const kedge_server_arguments *arguments,
                              kedge_error *error)
{
    char *jwks = NULL;
    kedge_status status = KEDGE_OK;
    if (arguments->jwks) {
        status = kedge_key_source_read(&service->environment, arguments->jwks, NULL, &jwks, error);
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
    service->reloads.auth = service->auth;
    if (status != KEDGE_OK || !arguments->revoked) return status;
    bool changed;
    return kedge_reload_read_revoked(&service->reloads, &changed, error);
}

static kedge_status open_registry(kedge_service *service, const kedge_server_arguments *arguments,
                                  const kedge_server_settings *settings, kedge_error *error)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    if (arguments->mutators) {
        kedge_plugin_options options = settings->mutators;
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

static kedge_status open_policy(kedge_service *service, kedge_error *error)
{
    bool changed;
    kedge_reload_options *reloads = &service->reloads;
    if (!reloads->policy_path) return KEDGE_OK;
    return kedge_policy_read(service->environment.allocator, reloads->policy_path, &reloads->policy,
                             &changed, error);
}

static void write_metrics(void *context, kedge_buffer *out)
{
    kedge_service *service = context;
    if (service->consumers) kedge_consumers_write_metrics(service->consumers, out);
    if (service->followers) kedge_followers_write_metrics(service->followers, out);
    if (service->reload) kedge_reload_write_metrics(service->reload, out);
    if (service->audit) kedge_audit_write_metrics(service->audit, out);
    kedge_stores_write_metrics(service->stores, out);
}

/* A folder of SQLite stores has one server at a time. */
static bool is_alone(const kedge_server_arguments *arguments)
{
    return arguments->stores.data != NULL;
}

static kedge_status open_server(kedge_service *service, kedge_server_arguments *arguments,
                                const kedge_server_settings *settings, kedge_error *error)
{
    if (arguments->certificate) {
        kedge_status status = kedge_reload_read_certificate(&service->reloads, error);
        if (status != KEDGE_OK) return status;
    }
    kedge_server_options options = {
        .environment = &service->environment,
        .address = settings->address,
        .port = settings->port,
        .tls = arguments->certificate != NULL,
        .worker_count = settings->workers,
        .request_timeout_s = settings->request_timeout_s,
        .ping_s = settings->ping_s,
        .budgets = &settings->budgets,
        .auth = service->auth,
        .origins = &arguments->origins,
        .log = &service->log,
        .audit = service->audit,
        .behind_proxy = arguments->behind_proxy,
        .write_metrics = write_metrics,
        .write_metrics_context = service,
        .alone = is_alone(arguments),
        .cost_header = arguments->cost_header,
    };
    return kedge_server_start(&options, &service->server, error);
}

/* NULL consumers in direct mode. */
static kedge_status open_queue(kedge_service *service, const kedge_server_settings *settings,
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

static kedge_status open_followers(kedge_service *service, const kedge_server_arguments *arguments,
                                   kedge_error *error)
{
    const kedge_followers_options options = {
        .environment = &service->environment,
        .records = kedge_stores_records(service->stores),
        .stream = kedge_stores_stream(service->stores),
        .snapshots = kedge_stores_snapshots(service->stores),
        .alone = is_alone(arguments),
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

static kedge_status open_backend(kedge_service *service, const kedge_server_arguments *arguments,
                                 const kedge_server_settings *settings, kedge_error *error)
{
    kedge_backend_options options = {
        .environment = &service->environment,
        .records = kedge_stores_records(service->stores),
        .blobs = kedge_stores_blobs(service->stores),
        .registry = service->registry,
        .policy = service->reloads.policy,
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
        .organization_projects = settings->budgets.projects,
        .organization_stored_bytes = settings->budgets.stored_bytes,
        .write_budgets = kedge_budget_limits_write,
        .write_budgets_context = kedge_server_budgets(service->server),
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

static void end_streams(void *context)
{
    kedge_service *service = context;
    kedge_server_end_streams(service->server);
}

static void describe_reloads(kedge_service *service, const kedge_server_arguments *arguments,
                             const kedge_server_settings *settings)
{
    service->reloads = (kedge_reload_options){
        .environment = &service->environment,
        .log = &service->log,
        .audit = service->audit,
        .jwks = arguments->jwks,
        .jwks_every_ms = (int64_t)settings->jwks_every_s * 1000,
        .revoked = arguments->revoked,
        .policy_path = arguments->policy,
        .certificate = arguments->certificate,
        .key = arguments->key,
        .changed = end_streams,
        .context = service,
    };
}

static void log_start(kedge_service *service, const kedge_server_arguments *arguments,
                      const char *url)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    kedge_logger_line line;
    if (service->plugin) kedge_plugin_mutators(service->plugin, &mutators, &count);
    if (!kedge_logger_begin(&line, &service->log, KEDGE_LOGGER_INFO, "started")) return;
    kedge_logger_texts(&line, "url", url, "stores", kedge_stores_name(service->stores), "identity",
                       arguments->open ? "open" : "tokens", "mode",
                       service->consumers ? "queued" : "direct", "version", kedge_library_version(),
                       NULL);
    kedge_mutators_log(&line.json, mutators, count);
    kedge_logger_end(&line);
}

static kedge_status start(kedge_service *service, kedge_server_arguments *arguments,
                          kedge_error *error)
{
    kedge_server_settings settings;
    const char *address = settings.address;
    kedge_status status = kedge_server_arguments_read(arguments, &settings, error);
    if (status == KEDGE_OK && arguments->audit)
        status = kedge_audit_open(&service->environment, arguments->audit, &service->audit, error);
    if (status == KEDGE_OK) describe_reloads(service, arguments, &settings);
    if (status == KEDGE_OK) status = open_auth(service, arguments, error);
    if (status == KEDGE_OK) status = open_registry(service, arguments, &settings, error);
    if (status == KEDGE_OK) status = open_policy(service, error);
    arguments->stores.changes_of = KEDGE_EFFECTS_PARTITIONS;
    if (status == KEDGE_OK) {
        status = kedge_stores_open(&service->environment, &arguments->stores, KEDGE_STORES_SERVE,
                                   &service->stores, error);
    }
    if (status == KEDGE_OK) status = open_queue(service, &settings, error);
    if (status == KEDGE_OK) status = open_followers(service, arguments, error);
    if (status == KEDGE_OK) status = open_server(service, arguments, &settings, error);
    if (status == KEDGE_OK) status = kedge_reload_start(&service->reloads, &service->reload, error);
    if (status == KEDGE_OK) status = open_backend(service, arguments, &settings, error);
    if (status != KEDGE_OK) return status;
    kedge_error warning = {0};
    for (size_t i = 0; kedge_stores_warning(service->stores, i, &warning); i++) {
        kedge_logger_write(&service->log, KEDGE_LOGGER_WARNING, warning.code, "message",
                           warning.message, NULL);
    }
    char url[96];
    snprintf(url, sizeof url, "%s://%s%s%s:%u", arguments->certificate ? "https" : "http",
             strchr(address, ':') ? "[" : "", address, strchr(address, ':') ? "]" : "",
             kedge_server_port(service->server));
    log_start(service, arguments, url);
    kedge_audit_act(service->audit, &(kedge_audit_entry){.what = "started", .detail = url});
    printf("kedge-server ready on %s\n", url);
    fflush(stdout);
    return KEDGE_OK;
}

/* All but the audit log, which tells of this in the end. */
static void stop(kedge_service *service)
{
    kedge_consumers_stop(service->consumers);
    kedge_followers_stop(service->followers);
    kedge_reload_stop(service->reload); /* it ends streams of the server */
    kedge_server_stop(service->server);
    kedge_reload_free(service->reload); /* its counters were among the server's metrics */
    kedge_followers_free(service->followers);
    kedge_consumers_free(service->consumers);
    kedge_backend_free(service->backend);
    kedge_registry_free(service->registry);
    kedge_policy_free(service->reloads.policy);
    kedge_plugin_stop(service->plugin);
    kedge_stores_close(service->stores);
    kedge_auth_free(service->auth);
    kedge_tls_unload();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        kedge_server_arguments_print_help(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("kedge-server %s\n", kedge_library_version());
        return 0;
    }
    int child = kedge_plugin_child_dispatch(argc, argv);
    if (child >= 0) return child;

    umask(077); /* what the server makes is its user's alone */

    kedge_memory_begin();
    kedge_signals_block();

    kedge_server_arguments arguments = {0};
    kedge_error error = {0};
    kedge_service service = {.environment = kedge_environment_system(NULL)};
    kedge_status status = kedge_server_arguments_parse(argc, argv, &arguments, &error);
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
        kedge_audit_close(service.audit);
        return status == KEDGE_INVALID_ARGUMENT ? 2 : 1;
    }
    int signal_number = kedge_signals_await_stop(service.reload, service.audit);
    kedge_logger_write(&service.log, KEDGE_LOGGER_INFO, "stopping", "signal",
                       strsignal(signal_number), NULL);
    stop(&service);
    kedge_audit_act(service.audit, &(kedge_audit_entry){.what = "stopped"});
    kedge_audit_close(service.audit);
    kedge_logger_write(&service.log, KEDGE_LOGGER_INFO, "stopped", NULL);
    return 0;
}
