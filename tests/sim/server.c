/* The server: processors over the same ports, each of which may die and be started again; backups
 * and restores. */
#include "backend/logged/logged.h"
#include "backend/memory/memory_ports.h"
#include "tests/sim/files.h"
#include "tests/sim/queue.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A small cache of states, so that states are also built anew. */
#define STATE_CACHE_BYTES 200000
#define CLAIM_BYTES       1500
#define VISIBILITY_MS     10000
#define PROJECT_PATH      "/v1/orgs/" SIM_ORGANIZATION "/projects/" SIM_PROJECT "/"

/* ---- environment ---- */

static int64_t server_now(void *context)
{
    sim_world *world = context;
    return INT64_C(1790000000000) + world->now_ms + world->server.wall_offset_ms;
}

static int64_t server_monotonic(void *context)
{
    return ((sim_world *)context)->now_ms;
}

static void server_random(void *context, void *bytes, size_t size)
{
    sim_dice_fill(&((sim_world *)context)->server.random, bytes, size);
}

/* ---- processors ---- */

static void committed(void *context, kedge_bytes organization, kedge_bytes project, int64_t version)
{
    sim_instance *instance = context;
    (void)organization;
    (void)project;
    if (!instance->crashed) sim_network_poke_all(instance->world, version);
}

static void no_pause(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static bool start_queue(sim_instance *instance)
{
    kedge_queued_options options = {.environment = &instance->world->server.environment,
                                    .records = sim_ports_records(instance),
                                    .blobs = sim_ports_blobs(instance),
                                    .queue = sim_ports_queue(instance),
                                    .claim_bytes = CLAIM_BYTES,
                                    .visibility_ms = VISIBILITY_MS};
    return kedge_queued_new(&options, &instance->queued, NULL) == KEDGE_OK;
}

static bool start(sim_instance *instance)
{
    sim_world *world = instance->world;
    kedge_backend_options options = {.environment = &world->server.environment,
                                     .records = sim_ports_records(instance),
                                     .blobs = sim_ports_blobs(instance),
                                     .registry = world->server.registry,
                                     .create_projects = true,
                                     .state_cache_bytes = STATE_CACHE_BYTES,
                                     .committed = committed,
                                     .committed_context = instance,
                                     .pause = no_pause};
    instance->crashed = false;
    instance->raced = false;
    if (world->queued) {
        if (!start_queue(instance)) return false;
        options.enqueue = kedge_queued_enqueue;
        options.enqueue_context = instance->queued;
    }
    return kedge_backend_new(&options, &instance->backend, NULL) == KEDGE_OK &&
           (!world->queued || kedge_consumer_new(instance->queued, instance->backend,
                                                 &instance->consumer, NULL) == KEDGE_OK);
}

static void end(sim_instance *instance)
{
    kedge_consumer_free(instance->consumer);
    kedge_backend_free(instance->backend);
    kedge_queued_free(instance->queued);
    instance->backend = NULL;
    instance->consumer = NULL;
    instance->queued = NULL;
}

bool sim_server_is_free(const sim_world *world)
{
    for (size_t i = 0; i < SIM_INSTANCES; i++)
        if (!world->server.instances[i].busy) return true;
    return false;
}

static sim_instance *choose(sim_world *world)
{
    sim_server *server = &world->server;
    size_t at = (size_t)sim_dice_below(&server->dice, SIM_INSTANCES);
    while (server->instances[at].busy)
        at = (at + 1) % SIM_INSTANCES;
    return &server->instances[at];
}

/* ---- requests ---- */

static void take_response(sim_message *message, const kedge_api_response *response)
{
    message->status = response->status;
    const char *type = response->content_type == NULL ? "" : response->content_type;
    (void)snprintf(message->content_type, sizeof message->content_type, "%s", type);
    message->gzip = response->content_encoding != NULL;
    memcpy(message->content_range, response->content_range, sizeof message->content_range);
    message->retry_after_ms = (int64_t)response->retry_after_s * 1000;
    message->response = sim_must_copy(response->body.data, response->body.size);
    message->response_size = response->body.size;
}

static void ask(sim_instance *instance, const sim_message *message, kedge_api_response *response)
{
    char path[8192];
    bool whole = message->path[0] == '/';
    (void)snprintf(path, sizeof path, "%s%s", whole ? "" : PROJECT_PATH, message->path);
    char *query = strchr(path, '?');
    kedge_identity identity = {.user = message->user,
                               .role = "member",
                               .organization = whole ? "*" : SIM_ORGANIZATION,
                               .admin = whole};
    kedge_api_request request = {.method = kedge_bytes_of(message->method),
                                 .body = {message->body, message->body_size},
                                 .accepts_gzip = message->range[0] != '\0',
                                 .range = kedge_bytes_of(message->range),
                                 .identity = &identity};
    if (query != NULL) {
        *query = '\0';
        request.query = kedge_bytes_of(query + 1);
    }
    request.path = kedge_bytes_of(path);
    kedge_backend_handle(instance->backend, &request, response);
}

/* The processor's process is gone, with all that it knew. */
static void bury(sim_instance *instance)
{
    end(instance);
    instance->crashed = false;
    sim_network_cut_streams(instance->world);
}

/* Work may begin while another processor sleeps in the middle of its own. */
static sim_instance *begin_work(sim_instance *instance)
{
    sim_server *server = &instance->world->server;
    sim_instance *interrupted = server->at_work;
    instance->busy = true;
    instance->raced = false;
    server->at_work = instance;
    return interrupted;
}

/* Whether the processor died of it. */
static bool end_work(sim_instance *instance, sim_instance *interrupted)
{
    instance->world->server.at_work = interrupted;
    if (instance->raced) check_i17_paused(instance->world, instance);
    sim_oracle_catch_up(instance->world);
    return instance->crashed;
}

size_t sim_server_consume(sim_world *world)
{
    sim_instance *instance = choose(world);
    size_t received = 0, left = 0;
    if (instance->backend == NULL && !start(instance)) return 0;
    sim_instance *interrupted = begin_work(instance);
    (void)kedge_consumer_round(instance->consumer, 0, &received, &left, NULL);
    if (received > 0)
        sim_trace(world, "processor %u consumes %zu messages, %zu are left", instance->index,
                  received, left);
    if (end_work(instance, interrupted)) bury(instance);
    instance->busy = false;
    return received;
}

bool sim_server_handle(sim_world *world, sim_message *message)
{
    sim_instance *instance = choose(world);
    if (instance->backend == NULL && !start(instance)) return false;
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    const sim_version *before = world->oracle.head;
    sim_instance *interrupted = begin_work(instance);
    world->report->requests++;
    ask(instance, message, &response);
    bool crashed = end_work(instance, interrupted);
    if (crashed) {
        bury(instance);
    } else {
        take_response(message, &response);
        check_response_to(world, message, before);
    }
    instance->busy = false;
    kedge_buffer_free(&response.body);
    return !crashed;
}

/* ---- log projects ---- */

static int handle_as_admin(sim_world *world, const char *method, const char *path, const char *body)
{
    char method_text[8], path_text[128], body_text[64];
    (void)snprintf(method_text, sizeof method_text, "%s", method);
    (void)snprintf(path_text, sizeof path_text, "%s", path);
    (void)snprintf(body_text, sizeof body_text, "%s", body);
    sim_message message = {.method = method_text,
                           .path = path_text,
                           .body = body_text,
                           .body_size = strlen(body_text),
                           .user = "operator"};
    bool answered = sim_server_handle(world, &message);
    free(message.response);
    return answered ? message.status : -1;
}

static int end_segment(sim_world *world)
{
    sim_instance *instance = choose(world);
    kedge_project_ref ref = {KEDGE_BYTES(SIM_ORGANIZATION), KEDGE_BYTES(SIM_PROJECT)};
    kedge_log_place first;
    if (instance->backend == NULL && !start(instance)) return -1;
    kedge_project project = kedge_project_of(instance->backend, &ref);
    kedge_log log = kedge_logged_log(&project);
    sim_instance *interrupted = begin_work(instance);
    kedge_status status = kedge_log_new_segment(&log, &first, NULL);
    if (end_work(instance, interrupted)) bury(instance);
    instance->busy = false;
    return (int)status;
}

/* More often than a server does: a snapshot is due after 1,000 entries, and seeds are shorter. */
void sim_server_maintain_log(sim_world *world)
{
    sim_dice *dice = &world->server.log_dice;
    if (!sim_server_is_free(world)) return;
    if (sim_dice_chance(dice, 250)) {
        int status = handle_as_admin(world, "POST", PROJECT_PATH "snapshot", "");
        if (status == 200) world->report->snapshots++;
        sim_trace(world, "a snapshot is made: %d", status);
    }
    if (sim_server_is_free(world) && sim_dice_chance(dice, 60)) {
        int status = end_segment(world);
        if (status == KEDGE_OK) world->report->segments++;
        sim_trace(world, "a segment is ended: %d", status);
    }
}

int64_t sim_server_version(sim_world *world)
{
    return world->oracle.head == NULL ? 0 : world->oracle.head->number;
}

/* ---- backups ---- */

void sim_server_backup(sim_world *world)
{
    sim_server *server = &world->server;
    sim_oracle_catch_up(world);
    sim_backup *backup = &server->backups[sim_dice_below(&server->dice, SIM_BACKUPS)];
    if (kedge_memory_records_copy(&server->records, &backup->records, NULL) != KEDGE_OK ||
        kedge_memory_blobs_copy(&server->blobs, &backup->blobs, NULL) != KEDGE_OK)
        return;
    backup->head = world->oracle.head;
    backup->there = true;
    sim_trace(world, "server backed up at version %" PRId64, sim_server_version(world));
}

static void stop_all(sim_world *world)
{
    for (size_t i = 0; i < SIM_INSTANCES; i++) {
        sim_instance *instance = &world->server.instances[i];
        if (instance->busy)
            instance->crashed = true;
        else
            end(instance);
    }
    sim_network_cut_streams(world);
}

/* Puts the rows that the backup lacks into it, all but versions: a restore that is no moment's
 * picture brings versions back and leaves what was derived from the later ones. */
static bool keep_rows(sim_world *world, const sim_backup *backup)
{
    static const char version[] = "ProjectVersion#";
    const kedge_records *records = &world->server.records;
    kedge_records_query query = {.partition =
                                     KEDGE_BYTES("Project#" SIM_ORGANIZATION "/" SIM_PROJECT),
                                 .limit = KEDGE_RECORDS_QUERY_MAX,
                                 .consistent = true};
    kedge_record_set set = {0};
    bool kept = false;
    if (records->vtable->query(records->self, &query, &set, NULL) != KEDGE_OK) return false;
    for (size_t i = 0; i < set.count; i++) {
        kedge_record_write put = {
            .kind = KEDGE_WRITE_PUT, .record = set.records[i], .condition = KEDGE_IF_ABSENT};
        if (kedge_bytes_start_with(set.records[i].key.sort, kedge_bytes_of(version))) continue;
        if (backup->records.vtable->write(backup->records.self, &put, NULL) == KEDGE_OK)
            kept = true;
    }
    kedge_record_set_free(&set);
    return kept;
}

/* A version's own parts are no less the truth than its record: an operator who restores blobs alone
 * keeps those that are there, since nothing could make them again. Of a log project all of them are
 * such parts, of entries and of snapshots: the records of another backup may need them later. */
static bool restore_blobs(sim_world *world, const sim_backup *backup)
{
    static const char prefix[] = SIM_ORGANIZATION "/projects/" SIM_PROJECT "/versions/";
    const kedge_blobs *blobs = &world->server.blobs;
    kedge_blob_list list = {0};
    kedge_buffer parts[64];
    if (world->logged) return true;
    if (blobs->vtable->list(blobs->self, kedge_bytes_of(prefix), (kedge_bytes){"", 0}, 64, &list,
                            NULL) != KEDGE_OK)
        return false;
    for (size_t i = 0; i < list.count; i++) {
        parts[i] = kedge_buffer_make(&kedge_allocator_default);
        (void)blobs->vtable->get(blobs->self, kedge_bytes_of(list.blobs[i].key), &parts[i], NULL);
    }
    bool good = kedge_memory_blobs_copy(&backup->blobs, blobs, NULL) == KEDGE_OK;
    for (size_t i = 0; i < list.count; i++) {
        (void)blobs->vtable->put_if_absent(blobs->self, kedge_bytes_of(list.blobs[i].key),
                                           kedge_buffer_bytes(&parts[i]), NULL);
        kedge_buffer_free(&parts[i]);
    }
    kedge_blob_list_free(&list);
    return good;
}

/* Whether some client still is in a lineage that an earlier restore has ended. */
static bool is_one_behind(sim_world *world)
{
    for (uint32_t i = 0; world->restored && i < world->client_count; i++) {
        const sim_seen *seen = &world->clients[i].seen;
        const sim_version *at = sim_oracle_find(&world->oracle, seen->lineage, seen->version);
        if (at != NULL && !sim_oracle_descends(world->oracle.head, at)) return true;
    }
    return false;
}

bool sim_server_restore(sim_world *world, sim_fault how)
{
    sim_server *server = &world->server;
    sim_backup *backup = &server->backups[sim_dice_below(&server->dice, SIM_BACKUPS)];
    sim_oracle_catch_up(world);
    if (!backup->there || backup->head == world->oracle.head) return false;
    if (world->logged && how == SIM_RESTORE_BLOBS) return false;
    stop_all(world);
    if (how != SIM_RESTORE_BLOBS) {
        bool stay = sim_strikes(world, &world->dice, SIM_RESTORE_ROWS_STAY);
        if (stay && keep_rows(world, backup)) sim_took_effect(world, SIM_RESTORE_ROWS_STAY);
        if (kedge_memory_records_copy(&backup->records, &server->records, NULL) != KEDGE_OK ||
            kedge_memory_records_copy(&backup->records, &server->replica, NULL) != KEDGE_OK)
            return false;
        server->replica_behind = false;
        if (is_one_behind(world)) sim_took_effect(world, SIM_RESTORE_AGAIN);
        for (uint32_t i = 0; i < world->client_count; i++)
            sim_damage_may_rotate(&world->clients[i]);
        world->restored = true;
        world->restored_ms = world->now_ms;
        sim_oracle_restore(world, backup->head);
    }
    if (how != SIM_RESTORE_RECORDS && !restore_blobs(world, backup)) return false;
    sim_trace(world, "%s: version %" PRId64, sim_fault_names[how], sim_server_version(world));
    return true;
}

/* ---- making and ending ---- */

/* What clients have but the newest, and one that no client has. */
static bool open_registry(sim_world *world)
{
    kedge_mutator mutators[16];
    size_t count = sim_mutator_count_server;
    memcpy(mutators, sim_mutators, count * sizeof *mutators);
    mutators[count++] = (kedge_mutator){"sim.die", 1, sim_die, world};
    return kedge_registry_new(&kedge_allocator_default, mutators, count, &world->server.registry,
                              NULL) == KEDGE_OK;
}

/* Before there are faults: the first push would make a project of versions. */
static bool create_log_project(sim_world *world)
{
    static char body[] = "{\"kind\":\"log\"}";
    sim_server *server = &world->server;
    kedge_backend *backend = NULL;
    kedge_backend_options options = {.environment = &server->environment,
                                     .records = server->records,
                                     .blobs = server->blobs,
                                     .registry = server->registry,
                                     .pause = no_pause};
    kedge_identity identity = {
        .user = "operator", .role = "admin", .organization = "*", .admin = true};
    kedge_api_request request = {
        .method = KEDGE_BYTES("PUT"),
        .path = KEDGE_BYTES("/v1/orgs/" SIM_ORGANIZATION "/projects/" SIM_PROJECT),
        .body = {body, sizeof body - 1},
        .identity = &identity};
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    if (kedge_backend_new(&options, &backend, NULL) != KEDGE_OK) return false;
    kedge_backend_handle(backend, &request, &response);
    kedge_backend_free(backend);
    kedge_buffer_free(&response.body);
    return response.status == 201 &&
           kedge_memory_records_copy(&server->records, &server->replica, NULL) == KEDGE_OK;
}

bool sim_server_open(sim_world *world)
{
    sim_server *server = &world->server;
    kedge_environment *environment = &server->environment;
    *environment = (kedge_environment){.allocator = &kedge_allocator_default,
                                       .now_ms = server_now,
                                       .monotonic_ms = server_monotonic,
                                       .random = server_random,
                                       .context = world};
    server->random = sim_dice_make(world->options.seed, 100);
    server->dice = sim_dice_make(world->options.seed, 101);
    bool good = kedge_memory_records_open(environment, &server->records, NULL) == KEDGE_OK &&
                kedge_memory_records_open(environment, &server->replica, NULL) == KEDGE_OK &&
                kedge_memory_blobs_open(environment, &server->blobs, NULL) == KEDGE_OK &&
                kedge_memory_queue_open(environment, SIM_QUEUE_DELIVERIES, &server->queue, NULL) ==
                    KEDGE_OK &&
                open_registry(world);
    for (uint32_t i = 0; i < SIM_INSTANCES; i++)
        server->instances[i] = (sim_instance){.world = world, .index = i};
    for (size_t i = 0; i < SIM_BACKUPS && good; i++) {
        sim_backup *backup = &server->backups[i];
        good = kedge_memory_records_open(environment, &backup->records, NULL) == KEDGE_OK &&
               kedge_memory_blobs_open(environment, &backup->blobs, NULL) == KEDGE_OK;
    }
    return good && (!world->logged || create_log_project(world));
}

void sim_server_close(sim_world *world)
{
    sim_server *server = &world->server;
    for (size_t i = 0; i < SIM_INSTANCES; i++)
        end(&server->instances[i]);
    for (size_t i = 0; i < SIM_BACKUPS; i++) {
        server->backups[i].records.vtable->close(server->backups[i].records.self);
        server->backups[i].blobs.vtable->close(server->backups[i].blobs.self);
    }
    server->records.vtable->close(server->records.self);
    server->replica.vtable->close(server->replica.self);
    server->blobs.vtable->close(server->blobs.self);
    server->queue.vtable->close(server->queue.self);
    kedge_registry_free(server->registry);
}
