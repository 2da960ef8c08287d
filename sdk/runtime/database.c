/* kedge/database.h: opening and closing. Everything that can be wrong with the options is found
 * before the disk is touched; what was made is undone, in reverse, when a later step fails. */
#include "sdk/runtime/db.h"

#include "common/error.h"
#include "common/names.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/loop.h"
#include "sdk/runtime/structs.h"
#include "sdk/runtime/worker.h"

#include <unistd.h>

/* Push, pull, the event stream, and what the app asks itself. */
#define CONNECTIONS_MAX 8 /* the stream, a push, a pull, and some of the history */

static kedge_status missing(const char *option, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "option-missing",
                      "the option `%s` is required", option);
}

static kedge_status check_options(const kedge_options *options, kedge_error *error)
{
    if (options->path == NULL || options->path[0] == '\0') return missing("path", error);
    if (options->organization == NULL) return missing("organization", error);
    if (options->project == NULL) return missing("project", error);
    if (options->mutators == NULL && options->mutator_count > 0) return missing("mutators", error);
    if (options->client_mutators == NULL && options->client_mutator_count > 0)
        return missing("client_mutators", error);
    if (options->allocator != NULL &&
        (options->allocator->allocate == NULL || options->allocator->reallocate == NULL ||
         options->allocator->release == NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "allocator-invalid",
                          "an allocator needs allocate, reallocate and release");
    }
    if (options->server_wait_ms < -1) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "server-wait-invalid",
                          "server_wait_ms is %lld; allowed are a time in milliseconds, 0 and -1",
                          (long long)options->server_wait_ms);
    }
    if (options->log_level < KEDGE_LOG_ERROR || options->log_level > KEDGE_LOG_DEBUG) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "log-level-invalid",
                          "the log level is %d; KEDGE_LOG_ERROR to KEDGE_LOG_DEBUG are allowed",
                          (int)options->log_level);
    }
    if (options->ca_file != NULL && access(options->ca_file, R_OK) != 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "ca-file-unreadable",
                          "the certificates of `ca_file` cannot be read: %s", options->ca_file);
    }
    kedge_status status =
        kedge_check_name("organization", kedge_bytes_of(options->organization), error);
    if (status != KEDGE_OK) return status;
    status = kedge_check_name("project", kedge_bytes_of(options->project), error);
    if (status != KEDGE_OK || options->schema_version == NULL) return status;
    return kedge_check_name("schema version", kedge_bytes_of(options->schema_version), error);
}

static void free_strings(kedge_db *db)
{
    const kedge_allocator *allocator = db->environment.allocator;
    kedge_release(allocator, db->path);
    kedge_release(allocator, db->organization);
    kedge_release(allocator, db->project);
    kedge_release(allocator, db->url);
    kedge_release(allocator, db->user);
    kedge_release(allocator, db->role);
    kedge_release(allocator, db->schema_version);
}

static char *copy(const kedge_allocator *allocator, const char *text, bool *copied)
{
    char *made = kedge_copy_text(allocator, kedge_bytes_of(text == NULL ? "" : text));
    if (made == NULL) *copied = false;
    return made;
}

/* From the root on: the app may go to another folder meanwhile. */
static char *whole_path(const kedge_allocator *allocator, const char *path, bool *copied)
{
    char above[4096];
    kedge_buffer whole = kedge_buffer_make(allocator);
    if (path[0] != '/' && getcwd(above, sizeof above) != NULL)
        kedge_buffer_append_format(&whole, "%s/", above);
    kedge_buffer_append_text(&whole, path);
    if (whole.no_memory) *copied = false;
    return whole.data;
}

static kedge_status copy_strings(kedge_db *db, const kedge_options *options, kedge_error *error)
{
    const kedge_allocator *allocator = db->environment.allocator;
    bool copied = true;
    db->path = whole_path(allocator, options->path, &copied);
    db->organization = copy(allocator, options->organization, &copied);
    db->project = copy(allocator, options->project, &copied);
    db->user = copy(allocator, options->user, &copied);
    db->role = copy(allocator, options->role, &copied);
    db->schema_version = copy(allocator, options->schema_version, &copied);
    if (options->url != NULL) db->url = copy(allocator, options->url, &copied);
    return copied ? KEDGE_OK : kedge_fail_no_memory(error);
}

static void init_locks(kedge_db *db, const kedge_options *options)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifndef __APPLE__ /* sync_wait.c does without */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_mutex_init(&db->lock, NULL);
    pthread_cond_init(&db->moved, &attributes);
    pthread_condattr_destroy(&attributes);
    kedge_callbacks_init(&db->callbacks);
    kedge_due_watches_init(&db->sync_watches.due, db, options->dispatch, options->userdata);
    kedge_due_watches_init(&db->query_watches, db, options->dispatch, options->userdata);
}

/* The parts that know neither disk nor thread. */
static kedge_status make_parts(kedge_db *db, const kedge_options *options, kedge_error *error)
{
    const kedge_allocator *allocator = db->environment.allocator;
    kedge_net_sink sink = kedge_worker_sink(db);
    kedge_status status = kedge_registry_new_for_client(
        allocator, options->mutators, options->mutator_count, options->client_mutators,
        options->client_mutator_count, &db->registry, error);
    if (status == KEDGE_OK) {
        status = kedge_watches_new(allocator, options->dispatch, options->userdata, &db->callbacks,
                                   &db->watches, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_http_new(&db->environment, CONNECTIONS_MAX, &db->http, error);
    }
    if (status == KEDGE_OK && db->caller_driven) {
        status = kedge_http_use_descriptor(db->http, error);
    }
    if (status == KEDGE_OK && options->ca_file != NULL) {
        bool copied = true;
        char *file = whole_path(allocator, options->ca_file, &copied);
        status = copied ? kedge_http_trust(db->http, file, error) : kedge_fail_no_memory(error);
        kedge_release(allocator, file);
    }
    if (status == KEDGE_OK && db->url != NULL) {
        status = kedge_net_new(&db->environment, db->http, db->url, db->organization, db->project,
                               &sink, &db->net, error);
    }
    if (status == KEDGE_OK && db->net != NULL && options->token == NULL && db->user[0] != '\0') {
        status = kedge_net_name_user(db->net, db->user, error);
    }
    return status;
}

/* The cache was set aside: readers see another state, and the worker must pull. Or the outbox is
 * refused: the worker is to stop, and the app to look at the status; a watch may be all that it
 * listens to. */
static void file_damaged(void *context)
{
    kedge_db *db = context;
    kedge_db_changed(db, NULL);
    kedge_db_committed(db);
}

static bool store_watched(void *context)
{
    kedge_db *db = context;
    return kedge_watches_any(db->watches);
}

/* Nobody is told before this process shows the others that it is there. */
static bool store_has_company(void *context)
{
    kedge_db *db = context;
    return db->peers != NULL && kedge_peers_present(db->peers);
}

static void store_changed(void *context, const kedge_change_set *changes)
{
    kedge_db *db = context;
    kedge_db_changed(db, changes);
}

static kedge_status open_store(kedge_db *db, kedge_store_phase_function phase, void *phase_context,
                               kedge_error *error)
{
    kedge_store_options options = {.environment = &db->environment,
                                   .path = db->path,
                                   .organization = db->organization,
                                   .project = db->project,
                                   .user = db->user,
                                   .role = db->role,
                                   .registry = db->registry,
                                   .server_wait_ms = db->server_wait_ms,
                                   .phase = phase,
                                   .phase_context = phase_context,
                                   .set_aside = file_damaged,
                                   .set_aside_context = db,
                                   .refused = file_damaged,
                                   .refused_context = db,
                                   .observer = {.context = db,
                                                .watched = store_watched,
                                                .company = store_has_company,
                                                .changed = store_changed}};
    kedge_status status = kedge_store_open(&options, &db->store, error);
    if (status == KEDGE_OK) {
        status = kedge_peers_open(&db->environment, db->path, &db->peers, error);
    }
    /* Behind this turn, whoever commits knows that this process is there. */
    if (status == KEDGE_OK && kedge_peers_present(db->peers)) {
        status = kedge_store_follow(db->store, error);
    }
    if (status == KEDGE_OK && db->net != NULL) {
        kedge_transport transport = kedge_net_transport(db->net);
        kedge_driver_host host = kedge_worker_host(db);
        status = kedge_driver_new(&db->environment, db->store, &transport, &host, false,
                                  &db->driver, error);
        if (status == KEDGE_OK) kedge_driver_set_schema_version(db->driver, db->schema_version);
    }
    return status;
}

/* Takes the lead here, so that the status is right from the start. */
static kedge_connection first_connection(kedge_db *db)
{
    if (!db->shared.online || db->net == NULL) return KEDGE_OFFLINE;
    return kedge_peers_lead(db->peers) ? KEDGE_CONNECTING : KEDGE_FOLLOWER;
}

static void free_db(kedge_db *db)
{
    const kedge_allocator *allocator = db->environment.allocator;
    kedge_driver_free(db->driver);
    kedge_net_free(db->net);
    kedge_http_free(db->http);
    kedge_peers_close(db->peers);
    kedge_store_close(db->store);
    kedge_watches_free(db->watches);
    kedge_due_watches_destroy(&db->sync_watches.due);
    kedge_due_watches_destroy(&db->query_watches);
    kedge_registry_free(db->registry);
    kedge_token_forget(&db->token);
    kedge_callbacks_destroy(&db->callbacks);
    pthread_cond_destroy(&db->moved);
    pthread_mutex_destroy(&db->lock);
    free_strings(db);
    kedge_release(allocator, db);
}

kedge_status kedge_open(const kedge_options *options, kedge_db **db, kedge_error *error)
{
    return kedge_open_with_phases(options, NULL, NULL, db, error);
}

kedge_status kedge_open_with_phases(const kedge_options *options, kedge_store_phase_function phase,
                                    void *phase_context, kedge_db **db, kedge_error *error)
{
    static const kedge_struct_kind kind = {"KEDGE_OPTIONS_INIT", KEDGE_OPTIONS_VERSION,
                                           sizeof(kedge_options)};
    kedge_options own;
    if (options == NULL) return kedge_fail_null("options", error);
    if (db == NULL) return kedge_fail_null("db", error);
    kedge_status status = kedge_struct_take(kind, options, &own, error);
    options = &own;
    if (status == KEDGE_OK) status = check_options(options, error);
    if (status != KEDGE_OK) return status;

    kedge_environment environment = kedge_environment_system(options->allocator);
    kedge_db *made = kedge_allocate(environment.allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = environment;
    made->userdata = options->userdata;
    made->token.function = options->token;
    made->token.userdata = options->userdata;
    made->shared.online = !options->offline;
    made->create_project = options->create_project;
    made->server_wait_ms = options->server_wait_ms;
    made->log.function = options->log;
    made->log.level = options->log_level;
    made->caller_driven = options->caller_driven;
    init_locks(made, options);

    status = copy_strings(made, options, error);
    if (status == KEDGE_OK) status = make_parts(made, options, error);
    if (status == KEDGE_OK) status = open_store(made, phase, phase_context, error);
    if (status == KEDGE_OK) {
        made->shared.connection = first_connection(made);
        status = kedge_worker_start(made, error);
    }
    if (status != KEDGE_OK) {
        free_db(made);
        return status;
    }
    made->userdata_free = options->userdata_free;
    *db = made;
    return KEDGE_OK;
}

kedge_status kedge_close(kedge_db *db)
{
    if (db == NULL) return KEDGE_OK;
    if (kedge_is_calling_back(db)) return KEDGE_INVALID_ARGUMENT;
    void *userdata = db->userdata;
    void (*userdata_free)(void *) = db->userdata_free;
    kedge_worker_stop(db);
    if (db->caller_driven) kedge_loop_end(db);
    kedge_worker_join(db);
    free_db(db);
    if (userdata_free != NULL) userdata_free(userdata);
    return KEDGE_OK;
}
