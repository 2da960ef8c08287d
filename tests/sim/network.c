/* The network between the clients and the server: latency, and all that goes wrong with requests,
 * responses and event streams. */
#include "common/error.h"
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PING_MS 15000

static const char portal[] = "<!doctype html><html><body>Please accept our terms.</body></html>";

static int64_t latency(sim_world *world)
{
    return 1 + (int64_t)sim_dice_below(&world->dice, 20);
}

/* ---- open requests of a client ---- */

static uint64_t *slot_of(sim_client *client, uint64_t number)
{
    for (size_t i = 0; i < SIM_REQUESTS_MAX; i++)
        if (client->open_requests[i] == number) return &client->open_requests[i];
    return NULL;
}

static sim_message *make_message(sim_client *client, const kedge_driver_request *request)
{
    sim_message *message = sim_must_allocate(sizeof *message);
    message->client = client->index;
    message->life = client->life;
    message->number = request->number;
    message->order = ++client->request_order;
    message->method = sim_must_copy(request->method, strlen(request->method));
    message->path = sim_must_copy(request->path, strlen(request->path));
    message->body = sim_must_copy(request->body.data, request->body.size);
    message->body_size = request->body.size;
    memcpy(message->user, client->user, sizeof message->user);
    if (request->range != NULL)
        (void)snprintf(message->range, sizeof message->range, "%s", request->range);
    return message;
}

static void schedule_message(sim_client *client, sim_event_kind kind, int64_t in_ms,
                             sim_message *message)
{
    sim_schedule(client->world, &(sim_event){.at_ms = client->world->now_ms + in_ms,
                                             .kind = kind,
                                             .client = client->index,
                                             .life = message->life,
                                             .number = message->number,
                                             .message = message});
}

/* ---- sending ---- */

static void respond_at_once(sim_client *client, sim_message *message, const char *body)
{
    if (body != NULL) {
        message->status = 200;
        memcpy(message->content_type, "text/html", sizeof "text/html");
        message->response = sim_must_copy(body, strlen(body));
        message->response_size = strlen(body);
    }
    schedule_message(client, SIM_EVENT_RESPONSE, latency(client->world), message);
}

static int64_t time_of_arrival(sim_client *client, const kedge_driver_request *request)
{
    sim_world *world = client->world;
    if (sim_strikes(world, &world->dice, SIM_NET_LATE)) {
        sim_took_effect(world, SIM_NET_LATE);
        return request->deadline_ms + (int64_t)sim_dice_below(&world->dice, 30000);
    }
    if (sim_strikes(world, &world->dice, SIM_NET_DELAY)) {
        sim_took_effect(world, SIM_NET_DELAY);
        return 500 + (int64_t)sim_dice_below(&world->dice, 15000);
    }
    return latency(world);
}

static void set_off(sim_client *client, const kedge_driver_request *request, sim_message *message)
{
    sim_world *world = client->world;
    if (sim_strikes(world, &world->dice, SIM_NET_DROP)) {
        sim_took_effect(world, SIM_NET_DROP);
        respond_at_once(client, message, NULL);
        return;
    }
    if (sim_strikes(world, &world->dice, SIM_NET_PORTAL)) {
        sim_took_effect(world, SIM_NET_PORTAL);
        respond_at_once(client, message, portal);
        return;
    }
    if (sim_strikes(world, &world->dice, SIM_NET_DUPLICATE)) {
        sim_took_effect(world, SIM_NET_DUPLICATE);
        sim_message *twice = sim_message_copy(message);
        twice->unanswered = true;
        schedule_message(client, SIM_EVENT_REQUEST,
                         latency(world) + (int64_t)sim_dice_below(&world->dice, 5000), twice);
    }
    schedule_message(client, SIM_EVENT_REQUEST, time_of_arrival(client, request), message);
}

static kedge_status network_send(void *context, const kedge_driver_request *request,
                                 kedge_error *error)
{
    sim_client *client = context;
    sim_world *world = client->world;
    uint64_t *slot = slot_of(client, 0);
    if (slot == NULL) return kedge_fail(error, KEDGE_BUSY, "sim", "too many requests are open");
    *slot = request->number;
    if (client->disk.dead) return KEDGE_OK;
    sim_trace(world, "client %u sends %" PRIu64 " %s %s, %zu bytes", client->index, request->number,
              request->method, request->path, request->body.size);
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms + request->deadline_ms,
                                     .kind = SIM_EVENT_DEADLINE,
                                     .client = client->index,
                                     .life = client->life,
                                     .number = request->number});
    sim_message *message = make_message(client, request);
    if (client->partitioned) {
        sim_took_effect(world, SIM_NET_PARTITION);
        sim_message_free(message);
        return KEDGE_OK;
    }
    set_off(client, request, message);
    return KEDGE_OK;
}

static void network_cancel(void *context, uint64_t number)
{
    uint64_t *slot = slot_of(context, number);
    if (slot != NULL) *slot = 0;
}

static kedge_status network_open_stream(void *context, const char *path, const char *token,
                                        kedge_error *error)
{
    sim_client *client = context;
    (void)path;
    (void)token;
    (void)error;
    client->stream = ++client->last_stream;
    client->stream_up = false;
    client->stream_silent = false;
    if (client->disk.dead) return KEDGE_OK;
    sim_schedule(client->world,
                 &(sim_event){.at_ms = client->world->now_ms + latency(client->world),
                              .kind = SIM_EVENT_STREAM_OPEN,
                              .client = client->index,
                              .life = client->life,
                              .number = client->stream});
    return KEDGE_OK;
}

static void network_close_stream(void *context)
{
    sim_client *client = context;
    client->stream = 0;
    client->stream_up = false;
}

kedge_transport sim_network(sim_client *client)
{
    return (kedge_transport){.context = client,
                             .send = network_send,
                             .cancel = network_cancel,
                             .open_stream = network_open_stream,
                             .close_stream = network_close_stream};
}

/* ---- at the server ---- */

static void note_order(sim_world *world, sim_client *client, const sim_message *message)
{
    if (message->unanswered || message->life != client->life) return;
    if (message->order < client->arrived_order) sim_took_effect(world, SIM_NET_REORDER);
    if (message->order > client->arrived_order) client->arrived_order = message->order;
}

/* What becomes of the response on its way back. NULL: nothing arrives. */
static sim_message *send_back(sim_world *world, sim_client *client, sim_message *message)
{
    if (client->one_way || client->partitioned) {
        sim_took_effect(world, client->one_way ? SIM_NET_ONE_WAY : SIM_NET_PARTITION);
        return NULL;
    }
    if (sim_strikes(world, &world->dice, SIM_NET_HANG)) {
        sim_took_effect(world, SIM_NET_HANG);
        return NULL;
    }
    if (sim_strikes(world, &world->dice, SIM_NET_RESET)) {
        sim_took_effect(world, SIM_NET_RESET);
        message->status = 0;
    }
    if (message->response_size > 1 && sim_strikes(world, &world->dice, SIM_NET_TRUNCATE)) {
        sim_took_effect(world, SIM_NET_TRUNCATE);
        message->response_size = (size_t)sim_dice_below(&world->dice, message->response_size);
    }
    return message;
}

void sim_network_request(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    sim_message *message = event->message;
    if (client->partitioned && message->life == client->life) {
        sim_took_effect(world, SIM_NET_PARTITION);
        sim_message_free(message);
        return;
    }
    if (!sim_server_is_free(world)) {
        schedule_message(client, SIM_EVENT_REQUEST, 5, message);
        return;
    }
    note_order(world, client, message);
    bool answered = sim_server_handle(world, message);
    check_i22_sent(world, message);
    sim_trace(world, "server responds to client %u's %" PRIu64 ": %d, %zu bytes", message->client,
              message->number, answered ? message->status : -1, message->response_size);
    if (answered && message->status >= 400)
        sim_trace(world, "  %.*s", (int)message->response_size, message->response);
    if (!answered) message->status = 0;
    sim_message *back = message->unanswered ? NULL : send_back(world, client, message);
    if (back == NULL)
        sim_message_free(message);
    else
        schedule_message(client, SIM_EVENT_RESPONSE, latency(world), back);
}

/* ---- at the client ---- */

/* ---- a response that another process got, and applies late ---- */

/* The folder may have been put back, or have rotated, since. */
static bool is_of_this_client(const sim_client *client)
{
    kedge_store_position at;
    return kedge_store_position_get(client->store, &at, NULL) == KEDGE_OK &&
           strcmp(at.client, client->old_response_client) == 0;
}

static void keep_response(sim_client *client, const sim_message *message)
{
    /* A response says neither whose version it starts from nor who has asked, so one of a lost
     * lineage or of an earlier client id would fit by its number; only a process that pulls without
     * the folder's lock could bring one. */
    char asker[KEDGE_CLIENT_ID_SIZE] = "";
    kedge_bytes native;
    kedge_bytes request = {message->body, message->body_size};
    bool pull = strcmp(message->path, "pull") == 0 && message->status == 200;
    if (client->world->restored) client->old_response_size = 0;
    pull = pull && !client->world->restored;
    if (!pull || (client->old_response != NULL && !sim_dice_chance(&client->dice, 300))) return;
    if (!kedge_json_member(request, "kedge", &native) ||
        !kedge_json_member_chars(native, "client", asker, sizeof asker))
        return;
    memcpy(client->old_response_client, asker, sizeof asker);
    free(client->old_response);
    client->old_response = sim_must_copy(message->response, message->response_size);
    client->old_response_size = message->response_size;
}

/* A difference only: it must not be applied on any version but its own. */
static bool is_difference(const kedge_wire_pull_response *pull)
{
    if (pull->lost || pull->snapshot || pull->from == 0 || pull->outcomes.next != 0) return false;
    for (size_t i = 0; i < pull->patch.count; i++)
        if (pull->patch.operations[i].kind == KEDGE_WIRE_PATCH_PUT_HASH) return false;
    return pull->patch.count == 0 || pull->patch.operations[0].kind != KEDGE_WIRE_PATCH_CLEAR;
}

static void apply_old_response(sim_client *client)
{
    kedge_wire_pull_response pull = {0};
    kedge_apply_result result = KEDGE_APPLY_DONE;
    kedge_bytes text = {client->old_response, client->old_response_size};
    if (text.size == 0 || client->world->restored || !sim_client_runs(client) ||
        !is_of_this_client(client) || !sim_strikes(client->world, &client->dice, SIM_OLD_RESPONSE))
        return;
    if (kedge_wire_pull_response_read(&kedge_allocator_default, text, &pull, NULL) == KEDGE_OK &&
        is_difference(&pull)) {
        kedge_status status = kedge_store_apply(client->store, &pull, &result, NULL, NULL);
        sim_trace(client->world, "client %u applies an old answer: %s, %d", client->index,
                  kedge_status_name(status), (int)result);
        if (status == KEDGE_OK && result == KEDGE_APPLY_STALE)
            sim_took_effect(client->world, SIM_OLD_RESPONSE);
    }
    kedge_wire_pull_response_free(&pull);
    sim_client_settle(client);
}

void sim_network_respond(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    sim_message *message = event->message;
    if (message->life == client->life) apply_old_response(client);
    uint64_t *slot = slot_of(client, message->number);
    if (sim_client_runs(client) && message->life == client->life && slot != NULL) {
        keep_response(client, message);
        kedge_driver_response response = {.number = message->number,
                                          .status = message->status,
                                          .content_type = kedge_bytes_of(message->content_type),
                                          .content_range = kedge_bytes_of(message->content_range),
                                          .gzip = message->gzip,
                                          .retry_after_ms = message->retry_after_ms};
        *slot = 0;
        if (message->status == 0)
            (void)kedge_fail(&response.error, KEDGE_NETWORK, "connection-broken", "simulated");
        else
            response.body = (kedge_bytes){message->response, message->response_size};
        sim_trace(world, "client %u gets %" PRIu64 ": %d", client->index, message->number,
                  message->status);
        kedge_driver_response_arrived(client->driver, &response);
        sim_client_settle(client);
    }
    sim_message_free(message);
}

void sim_network_deadline(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    uint64_t *slot = slot_of(client, event->number);
    if (!sim_client_runs(client) || event->life != client->life || slot == NULL) return;
    kedge_driver_response response = {.number = event->number};
    *slot = 0;
    (void)kedge_fail(&response.error, KEDGE_TIMEOUT, "deadline", "simulated");
    sim_trace(world, "client %u gives up %" PRIu64, client->index, event->number);
    kedge_driver_response_arrived(client->driver, &response);
    sim_client_settle(client);
}

/* ---- streams ---- */

static void end_stream(sim_client *client)
{
    kedge_error error = {0};
    client->stream = 0;
    client->stream_up = false;
    (void)kedge_fail(&error, KEDGE_NETWORK, "stream-ended", "simulated");
    sim_trace(client->world, "client %u loses its stream", client->index);
    kedge_driver_stream_down(client->driver, &error, 0);
}

static void schedule_stream(sim_client *client, sim_event_kind kind, int64_t in_ms, int64_t value)
{
    sim_schedule(client->world, &(sim_event){.at_ms = client->world->now_ms + in_ms,
                                             .kind = kind,
                                             .client = client->index,
                                             .life = client->life,
                                             .number = client->stream,
                                             .value = value});
}

static void open_stream(sim_client *client)
{
    sim_world *world = client->world;
    if (client->partitioned || sim_strikes(world, &world->dice, SIM_NET_DROP)) {
        end_stream(client);
        return;
    }
    client->stream_up = true;
    client->stream_silent = sim_strikes(world, &world->dice, SIM_STREAM_SILENT);
    kedge_driver_stream_up(client->driver);
    if (!client->stream_up) return;
    schedule_stream(client, SIM_EVENT_STREAM_POKE, latency(world), sim_server_version(world));
    schedule_stream(client, SIM_EVENT_STREAM_PING, PING_MS, 0);
}

static void tell(sim_client *client, const char *event, int64_t version)
{
    char data[64];
    if (client->partitioned || client->one_way || client->stream_silent) {
        if (client->stream_silent) sim_took_effect(client->world, SIM_STREAM_SILENT);
        return;
    }
    int size = version < 0 ? 0 : snprintf(data, sizeof data, "{\"version\":%" PRId64 "}", version);
    kedge_driver_stream_event(client->driver, kedge_bytes_of(event),
                              (kedge_bytes){data, (size_t)size});
}

void sim_network_stream(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    if (!sim_client_runs(client) || event->life != client->life || event->number != client->stream)
        return;
    if (event->kind == SIM_EVENT_STREAM_OPEN) {
        open_stream(client);
    } else if (event->kind == SIM_EVENT_STREAM_END) {
        end_stream(client);
    } else if (sim_strikes(world, &world->dice, SIM_STREAM_CUT)) {
        sim_took_effect(world, SIM_STREAM_CUT);
        end_stream(client);
    } else if (event->kind == SIM_EVENT_STREAM_POKE) {
        tell(client, "poke", event->value);
    } else {
        schedule_stream(client, SIM_EVENT_STREAM_PING, PING_MS, 0);
        if (sim_strikes(world, &world->dice, SIM_STREAM_SILENT)) client->stream_silent = true;
        tell(client, "ping", -1);
    }
    sim_client_settle(client);
}

void sim_network_poke_all(sim_world *world, int64_t version)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        sim_client *client = &world->clients[i];
        if (!client->stream_up) continue;
        schedule_stream(client, SIM_EVENT_STREAM_POKE, latency(world), version);
    }
}

/* A processor that died took the streams along that it held. */
void sim_network_cut_streams(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        sim_client *client = &world->clients[i];
        if (!client->stream_up || !sim_dice_chance(&world->dice, 1000 / SIM_INSTANCES)) continue;
        schedule_stream(client, SIM_EVENT_STREAM_END, latency(world), 0);
    }
}
