/* The queue: a memory queue behind faults, and the consumers of it. */
#include "tests/sim/queue.h"

#include "backend/memory/memory_ports.h"
#include "backend/queued/message.h"
#include "common/error.h"
#include "tests/sim/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONSUME_SOON_MS  40
#define CONSUME_LATER_MS 400
#define LATE_MS          20000
#define LETTERS_MAX      20

static bool strikes(sim_instance *instance, sim_fault fault)
{
    if (!sim_strikes(instance->world, &instance->world->server.queue_dice, fault)) return false;
    sim_took_effect(instance->world, fault);
    return true;
}

static kedge_status unavailable(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "simulated", "simulated fault of the queue");
}

/* ---- when it is looked at ---- */

static void consume_in(sim_world *world, int64_t most_ms)
{
    sim_server *server = &world->server;
    if (server->consuming_soon) return;
    server->consuming_soon = true;
    int64_t in_ms = 1 + (int64_t)sim_dice_below(&server->queue_dice, (uint64_t)most_ms);
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms + in_ms, .kind = SIM_EVENT_CONSUME});
}

static kedge_status put(sim_world *world, kedge_bytes body)
{
    char name[32];
    sim_server *server = &world->server;
    kedge_project_ref ref = {KEDGE_BYTES(SIM_ORGANIZATION), KEDGE_BYTES(SIM_PROJECT)};
    kedge_key group = kedge_message_group(&ref);
    (void)snprintf(name, sizeof name, "sim-%" PRIu64, ++server->messages);
    consume_in(world, CONSUME_SOON_MS);
    return server->queue.vtable->send(server->queue.self, ref.organization, kedge_key_bytes(&group),
                                      kedge_bytes_of(name), body, NULL);
}

/* ---- the port ---- */

static void put_later(sim_world *world, kedge_bytes body)
{
    sim_message *message = sim_must_allocate(sizeof *message);
    message->method = sim_must_copy("", 0);
    message->path = sim_must_copy("", 0);
    message->body = sim_must_copy(body.data, body.size);
    message->body_size = body.size;
    int64_t in_ms = 1 + (int64_t)sim_dice_below(&world->server.queue_dice, LATE_MS);
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms + in_ms,
                                     .kind = SIM_EVENT_MESSAGE,
                                     .message = message});
}

void sim_queue_arrive(sim_world *world, const sim_event *event)
{
    (void)put(world, (kedge_bytes){event->message->body, event->message->body_size});
    sim_message_free(event->message);
}

static kedge_status queue_send(void *self, kedge_bytes owner, kedge_bytes group,
                               kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    sim_instance *instance = self;
    kedge_status status;
    (void)owner;
    (void)group;
    (void)deduplication;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_QUEUE_AWAY)) return unavailable(error);
    instance->world->report->queued++;
    if (strikes(instance, SIM_QUEUE_LATE)) {
        put_later(instance->world, body);
    } else {
        status = put(instance->world, body);
        if (strikes(instance, SIM_QUEUE_TWICE)) put_later(instance->world, body);
    }
    if (strikes(instance, SIM_QUEUE_TIMEOUT_DONE)) return unavailable(error);
    sim_port_leave(instance, &status, error);
    return status;
}

static kedge_status queue_receive(void *self, uint32_t count, int64_t visibility_ms,
                                  int64_t wait_ms, const kedge_queue_admission *admission,
                                  kedge_queue_batch *batch, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_queue *queue = &instance->world->server.queue;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_QUEUE_AWAY)) return unavailable(error);
    bool hurry = sim_strikes(instance->world, &instance->world->server.queue_dice,
                             SIM_QUEUE_PAST_VISIBILITY);
    sim_oracle_catch_up(instance->world);
    instance->round = (sim_round){.head = instance->world->oracle.head};
    status = queue->vtable->receive(queue->self, count, hurry ? 5 : visibility_ms, wait_ms,
                                    admission, batch, error);
    if (status == KEDGE_OK && hurry && batch->count > 0)
        sim_took_effect(instance->world, SIM_QUEUE_PAST_VISIBILITY);
    kedge_status left = status;
    sim_port_leave(instance, &left, error);
    if (left != status && status == KEDGE_OK) kedge_queue_batch_free(batch);
    return left;
}

static kedge_status queue_extend(void *self, const char *receipt, int64_t visibility_ms,
                                 kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_queue *queue = &instance->world->server.queue;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_QUEUE_AWAY)) return unavailable(error);
    status = queue->vtable->extend(queue->self, receipt, visibility_ms, error);
    sim_port_leave(instance, &status, error);
    return status;
}

static kedge_status queue_done(void *self, const char *receipt, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_queue *queue = &instance->world->server.queue;
    kedge_queue_message message;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_QUEUE_AWAY)) return unavailable(error);
    if (kedge_memory_queue_find(queue, receipt, &message))
        check_message_is_done(instance, message.body);
    status = queue->vtable->done(queue->self, receipt, error);
    if (status == KEDGE_OK) instance->world->report->consumed++;
    if (strikes(instance, SIM_QUEUE_TIMEOUT_DONE)) return unavailable(error);
    sim_port_leave(instance, &status, error);
    return status;
}

static kedge_status queue_letters(void *self, uint32_t count, kedge_queue_batch *batch,
                                  kedge_error *error)
{
    const kedge_queue *queue = &((sim_instance *)self)->world->server.queue;
    return queue->vtable->dead_letters(queue->self, count, batch, error);
}

static kedge_status queue_redrive(void *self, const char *receipt, kedge_error *error)
{
    const kedge_queue *queue = &((sim_instance *)self)->world->server.queue;
    return queue->vtable->redrive(queue->self, receipt, error);
}

static void no_close(void *self)
{
    (void)self;
}

static const kedge_queue_vtable vtable = {.send = queue_send,
                                          .receive = queue_receive,
                                          .extend = queue_extend,
                                          .done = queue_done,
                                          .dead_letters = queue_letters,
                                          .redrive = queue_redrive,
                                          .close = no_close};

kedge_queue sim_ports_queue(sim_instance *instance)
{
    return (kedge_queue){&vtable, instance};
}

/* ---- consuming ---- */

void sim_queue_consume(sim_world *world)
{
    sim_server *server = &world->server;
    size_t received = 0;
    server->consuming_soon = false;
    if (kedge_memory_queue_waiting(&server->queue) == 0) return;
    if (sim_server_is_free(world)) received = sim_server_consume(world);
    consume_in(world, received > 0 ? CONSUME_SOON_MS : CONSUME_LATER_MS);
}

/* ---- trouble ---- */

static void poison(sim_world *world)
{
    static const char *const bodies[] = {
        "what is this?",
        "{\"format\":1,\"organization\":\"" SIM_ORGANIZATION "\",\"project\":\"" SIM_PROJECT
        "\",\"claim\":\"0000000000000000000000000000000000000000000000000000000000000000\"}",
        "{\"format\":1,\"organization\":\"" SIM_ORGANIZATION
        "\",\"project\":\"gone\",\"user\":\"a\","
        "\"role\":\"\",\"push\":{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{"
        "\"clientID\":\"g\",\"id\":1,\"name\":\"kedge.noop\",\"args\":{},\"timestamp\":1}]}}",
        "{\"format\":1,\"organization\":\"" SIM_ORGANIZATION "\",\"project\":\"" SIM_PROJECT
        "\",\"user\":\"killer\",\"role\":\"\",\"push\":{\"pushVersion\":1,\"clientGroupID\":"
        "\"killer\","
        "\"mutations\":[{\"clientID\":\"killer\",\"id\":1,\"name\":\"sim.die\",\"args\":{},"
        "\"timestamp\":1}]}}"};
    size_t at = (size_t)sim_dice_below(&world->server.queue_dice, 4);
    /* An entry with a mutator that no client has would stop all of them for good. */
    if (world->logged && at == 3) at = 0;
    if (put(world, kedge_bytes_of(bodies[at])) != KEDGE_OK) return;
    sim_trace(world, "poison %zu is queued", at);
    sim_took_effect(world, SIM_QUEUE_POISON);
}

static void redrive(sim_world *world)
{
    const kedge_queue *queue = &world->server.queue;
    kedge_queue_batch batch = {0};
    if (queue->vtable->dead_letters(queue->self, LETTERS_MAX, &batch, NULL) != KEDGE_OK) return;
    if (batch.count > 0) {
        size_t at = (size_t)sim_dice_below(&world->server.queue_dice, batch.count);
        if (queue->vtable->redrive(queue->self, batch.messages[at].receipt, NULL) == KEDGE_OK)
            sim_took_effect(world, SIM_QUEUE_REDRIVE);
        consume_in(world, CONSUME_SOON_MS);
    }
    kedge_queue_batch_free(&batch);
}

void sim_queue_trouble(sim_world *world)
{
    if (!world->queued) return;
    if (sim_strikes(world, &world->server.queue_dice, SIM_QUEUE_POISON)) poison(world);
    if (sim_strikes(world, &world->server.queue_dice, SIM_QUEUE_REDRIVE)) redrive(world);
}
