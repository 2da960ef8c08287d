/* kedge-lambda, the `bootstrap` of a Lambda function: opens the stores once, then answers one event
 * after another, until Lambda ends the process.
 *
 * Logs are JSON lines on stderr, which Lambda puts into CloudWatch. */
#include "backend/aws/dynamodb_stream.h"
#include "backend/front/builtins.h"
#include "backend/front/failures.h"
#include "backend/front/memory.h"
#include "backend/front/mutators.h"
#include "backend/front/policy.h"
#include "backend/lambda/event_http.h"
#include "backend/lambda/event_messages.h"
#include "backend/lambda/event_snapshots.h"
#include "backend/lambda/event_sqs.h"
#include "backend/lambda/event_stream.h"
#include "backend/lambda/runtime.h"
#include "backend/lambda/settings.h"
#include "backend/plugin/plugin.h"
#include "common/error.h"
#include <kedge/limits.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUTHORITIES "lib/ca-certificates.crt" /* of the package */

/* What runs, to be taken down in reverse. */
typedef struct kedge_function {
    kedge_environment environment;
    kedge_settings settings;
    kedge_logger log;
    kedge_runtime *runtime;
    kedge_stores *stores;
    kedge_plugin *plugin;
    kedge_registry *registry;
    kedge_policy *policy; /* NULL: each role may call all mutators */
    kedge_auth *auth;
    kedge_queued *queued;
    kedge_backend *backend;
} kedge_function;

/* ---- starting ---- */

/* Where a system keeps its authorities differs; the package brings some along. */
static void trust_package(const kedge_allocator *allocator)
{
    char *path = kedge_settings_file(allocator, AUTHORITIES);
    if (path != NULL && access(path, R_OK) == 0) (void)setenv("SSL_CERT_FILE", path, 0);
    kedge_release(allocator, path);
}

static kedge_status open_auth(kedge_function *self, kedge_error *error)
{
    if (!self->settings.tokens) return KEDGE_OK;
    kedge_auth_options options = {
        .environment = &self->environment,
        .jwks = self->settings.jwks,
        .issuer = self->settings.issuer,
        .audience = self->settings.audience,
        .algorithms = self->settings.algorithms,
    };
    return kedge_auth_new(&options, &self->auth, error);
}

static kedge_status open_registry(kedge_function *self, kedge_error *error)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    if (self->settings.mutators != NULL) {
        kedge_plugin_options options = KEDGE_PLUGIN_OPTIONS_INIT;
        options.failed = kedge_failure_log_mutator;
        options.failed_context = &self->log;
        options.children = 1; /* one invocation at a time runs one mutation at a time */
        kedge_status status = kedge_plugin_start(&self->environment, self->settings.mutators,
                                                 &options, &self->plugin, error);
        if (status != KEDGE_OK) return status;
        kedge_plugin_mutators(self->plugin, &mutators, &count);
    }
    kedge_status status =
        kedge_registry_new(self->environment.allocator, mutators, count, &self->registry, error);
    if (status == KEDGE_OK && self->settings.builtins != NULL)
        status = kedge_builtins_allow(self->registry, self->settings.builtins, error);
    bool changed;
    if (status == KEDGE_OK && self->settings.policy != NULL)
        status = kedge_policy_take(self->environment.allocator, "KEDGE_POLICY",
                                   self->settings.policy, &self->policy, &changed, error);
    return status;
}

static kedge_status open_queued(kedge_function *self, kedge_error *error)
{
    kedge_queued_options options = {
        .environment = &self->environment,
        .records = kedge_stores_records(self->stores),
        .blobs = kedge_stores_blobs(self->stores),
        .queue = kedge_stores_queue(self->stores),
        .claim_bytes = self->settings.claim_bytes,
        .failed = kedge_failure_log,
        .failed_context = &self->log,
        .call_failed = kedge_failure_log_call,
        .call_failed_context = &self->log,
    };
    return kedge_queued_new(&options, &self->queued, error);
}

static kedge_status open_backend(kedge_function *self, kedge_error *error)
{
    kedge_backend_options options = {
        .environment = &self->environment,
        .records = kedge_stores_records(self->stores),
        .blobs = kedge_stores_blobs(self->stores),
        .registry = self->registry,
        .policy = self->policy,
        .cadence = self->settings.cadence,
        .enqueue = self->settings.queued ? kedge_queued_enqueue : NULL,
        .enqueue_context = self->queued,
        .stream_is_followed = self->settings.followed,
        .organization_projects = self->settings.organization_projects,
        .organization_stored_bytes = self->settings.organization_stored_bytes,
        .write_budgets = kedge_settings_write_budgets,
        .write_budgets_context = &self->settings,
        .push_bytes_max = KEDGE_LAMBDA_PUSH_BYTES,
        .response_bytes_max = KEDGE_LAMBDA_RESPONSE_BODY_BYTES,
        .failed = kedge_failure_log_background,
        .failed_context = &self->log,
    };
    return kedge_backend_new(&options, &self->backend, error);
}

static void log_start(kedge_function *self)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    kedge_logger_line line;
    if (self->plugin != NULL) kedge_plugin_mutators(self->plugin, &mutators, &count);
    if (!kedge_logger_begin(&line, &self->log, KEDGE_LOGGER_INFO, "started")) return;
    kedge_logger_texts(&line, "stores", kedge_stores_name(self->stores), "mode",
                       self->settings.queued ? "queued" : "direct", "version",
                       kedge_library_version(), NULL);
    kedge_mutators_log(&line.json, mutators, count);
    kedge_logger_end(&line);
}

static kedge_status start(kedge_function *self, kedge_error *error)
{
    const kedge_environment *environment = &self->environment;
    kedge_status status = kedge_settings_read(environment->allocator, &self->settings, error);
    if (status != KEDGE_OK) return status;
    self->log.level = self->settings.log_level;
    status = open_auth(self, error);
    if (status == KEDGE_OK) status = open_registry(self, error);
    if (status == KEDGE_OK) {
        status = kedge_stores_open(environment, &self->settings.stores, KEDGE_STORES_SERVE,
                                   &self->stores, error);
    }
    if (status == KEDGE_OK) status = open_queued(self, error);
    if (status == KEDGE_OK) status = open_backend(self, error);
    if (status != KEDGE_OK) return status;
    kedge_error warning = {0};
    for (size_t i = 0; kedge_stores_warning(self->stores, i, &warning); i++) {
        kedge_logger_write(&self->log, KEDGE_LOGGER_WARNING, warning.code, "message",
                           warning.message, NULL);
    }
    log_start(self);
    return KEDGE_OK;
}

static void stop(kedge_function *self)
{
    kedge_backend_free(self->backend);
    kedge_queued_free(self->queued);
    kedge_registry_free(self->registry);
    kedge_policy_free(self->policy);
    kedge_plugin_stop(self->plugin);
    kedge_stores_close(self->stores);
    kedge_auth_free(self->auth);
    kedge_runtime_free(self->runtime);
    kedge_settings_free(self->environment.allocator, &self->settings);
}

/* ---- running ---- */

static kedge_status check(const kedge_buffer *event, kedge_error *error)
{
    return kedge_json_check(kedge_buffer_bytes(event), KEDGE_LIMIT_JSON_DEPTH,
                            &kedge_allocator_default, error);
}

/* A batch of the table's stream with items that Kedge has not written: nobody would get past it. */
static bool is_foreign_stream(const kedge_buffer *text, const kedge_error *refusal,
                              kedge_bytes *event)
{
    return kedge_dynamodb_change_may_have(refusal) &&
           kedge_json_skip(kedge_buffer_bytes(text), event, NULL) && kedge_event_is_stream(*event);
}

static kedge_status handle(kedge_function *self, kedge_invocation *invocation,
                           kedge_buffer *response, kedge_error *error)
{
    kedge_lambda lambda = {
        .environment = &self->environment,
        .log = &self->log,
        .backend = self->backend,
        .auth = self->auth,
        .origins = &self->settings.origins,
        .cost_header = self->settings.cost_header,
        .queued = self->queued,
        .queue = kedge_stores_queue(self->stores),
        .snapshots = kedge_stores_snapshots(self->stores),
    };
    char queue[KEDGE_SETTINGS_QUEUE_SIZE];
    kedge_bytes event;
    kedge_error failure = {0};
    kedge_status status = check(&invocation->event, &failure);
    if (status != KEDGE_OK && is_foreign_stream(&invocation->event, &failure, &event))
        return kedge_event_stream(&lambda, event, invocation->deadline_ms, response, error);
    bool has_nul = status != KEDGE_OK && strcmp(failure.code, "json-nul") == 0;
    if (has_nul) {
        kedge_event_http_blank_nuls(&invocation->event);
        status = check(&invocation->event, NULL);
    }
    bool http = status == KEDGE_OK &&
                kedge_json_skip(kedge_buffer_bytes(&invocation->event), &event, NULL) &&
                kedge_event_is_http(event);
    if (has_nul && http) return kedge_event_http_refuse_nul(&lambda, event, response, error);
    if (has_nul || status != KEDGE_OK) {
        if (error != NULL) *error = failure;
        return failure.status;
    }
    if (http) return kedge_event_http(&lambda, event, invocation->deadline_ms, response, error);
    if (kedge_event_is_stream(event))
        return kedge_event_stream(&lambda, event, invocation->deadline_ms, response, error);
    if (kedge_event_messages_queue(event, queue, sizeof queue))
        return queue[0] != '\0' && strcmp(queue, self->settings.snapshots) == 0
                   ? kedge_event_snapshots(&lambda, event, invocation->deadline_ms, response, error)
                   : kedge_event_sqs(&lambda, event, invocation->deadline_ms, response, error);
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "event-unknown",
                      "the event is neither a request in API Gateway's payload format 2.0 nor a "
                      "batch of SQS or of a DynamoDB stream");
}

/* One invocation. A failure ends the process: Lambda starts another. */
static kedge_status step(kedge_function *self, kedge_invocation *invocation, kedge_buffer *response,
                         kedge_error *error)
{
    kedge_error failure = {0};
    kedge_status status = kedge_runtime_next(self->runtime, invocation, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(response);
    status = handle(self, invocation, response, &failure);
    if (status == KEDGE_OK) {
        status = kedge_runtime_respond(self->runtime, invocation->id, kedge_buffer_bytes(response),
                                       &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
    }
    kedge_logger_write(&self->log, KEDGE_LOGGER_ERROR, "invocation-failed", "request",
                       invocation->id, "code", failure.code, "detail", failure.message, NULL);
    return kedge_runtime_fail(self->runtime, invocation->id, &failure, error);
}

static void run(kedge_function *self, kedge_error *error)
{
    const kedge_allocator *allocator = self->environment.allocator;
    kedge_invocation invocation = {.event = kedge_buffer_make(allocator)};
    kedge_buffer response = kedge_buffer_make(allocator);
    while (step(self, &invocation, &response, error) == KEDGE_OK) {
    }
    kedge_buffer_free(&invocation.event);
    kedge_buffer_free(&response);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("kedge-lambda %s\n", kedge_library_version());
        return 0;
    }
    int child = kedge_plugin_child_dispatch(argc, argv);
    if (child >= 0) return child;

    kedge_memory_begin();
    signal(SIGPIPE, SIG_IGN);

    kedge_error error = {0};
    kedge_function self = {.environment = kedge_environment_system(NULL)};
    self.log = (kedge_logger){
        .environment = &self.environment, .file = STDERR_FILENO, .level = KEDGE_LOGGER_INFO};
    trust_package(self.environment.allocator);
    const char *address = getenv("AWS_LAMBDA_RUNTIME_API");
    if (address == NULL) {
        fputs("kedge-lambda runs on AWS Lambda, or where AWS_LAMBDA_RUNTIME_API names the like\n",
              stderr);
        return 2;
    }
    kedge_status status = kedge_runtime_new(&self.environment, address, &self.runtime, &error);
    if (status == KEDGE_OK) {
        status = start(&self, &error);
        if (status != KEDGE_OK) (void)kedge_runtime_fail(self.runtime, NULL, &error, NULL);
    }
    if (status == KEDGE_OK) run(&self, &error);
    kedge_logger_write(&self.log, KEDGE_LOGGER_ERROR, "ended", "code", error.code, "detail",
                       error.message, NULL);
    stop(&self);
    return 1;
}
