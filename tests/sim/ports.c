/* The ports as one processor sees them: the memory ports behind faults. Any call may be where the
 * processor dies, or sleeps while the world goes on. */
#include "common/error.h"
#include "tests/sim/sim.h"

#include <string.h>

static kedge_status unavailable(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "simulated", "simulated fault of a port");
}

static void crash(sim_instance *instance, sim_fault how)
{
    sim_trace(instance->world, "processor %u dies", instance->index);
    sim_took_effect(instance->world, how);
    instance->crashed = true;
}

/* The processor sleeps; meanwhile anything may happen, other processors at work included. */
static void pause_here(sim_instance *instance)
{
    sim_world *world = instance->world;
    sim_server *server = &world->server;
    if (server->nesting >= SIM_NESTING_MAX || !sim_strikes(world, &server->dice, SIM_SERVER_PAUSE))
        return;
    const sim_version *before = world->oracle.head;
    uint64_t steps = 1 + sim_dice_below(&server->dice, 12);
    sim_trace(world, "processor %u sleeps", instance->index);
    sim_took_effect(world, SIM_SERVER_PAUSE);
    server->nesting++;
    while (steps-- > 0 && !instance->crashed)
        sim_step(world);
    server->nesting--;
    sim_trace(world, "processor %u wakes up", instance->index);
    if (world->oracle.head == before) return;
    instance->raced = true;
    sim_took_effect(world, SIM_SERVER_RACE);
}

/* False: the call does not happen, and `*status` is what it gives. */
bool sim_port_enter(sim_instance *instance, kedge_status *status, kedge_error *error)
{
    sim_world *world = instance->world;
    if (!instance->crashed) pause_here(instance);
    if (!instance->crashed && sim_strikes(world, &world->server.dice, SIM_SERVER_CRASH_BEFORE))
        crash(instance, SIM_SERVER_CRASH_BEFORE);
    if (!instance->crashed) return true;
    *status = unavailable(error);
    return false;
}

void sim_port_leave(sim_instance *instance, kedge_status *status, kedge_error *error)
{
    sim_world *world = instance->world;
    if (!sim_strikes(world, &world->server.dice, SIM_SERVER_CRASH_AFTER)) return;
    crash(instance, SIM_SERVER_CRASH_AFTER);
    *status = unavailable(error);
}

static bool strikes(sim_instance *instance, sim_fault fault)
{
    sim_world *world = instance->world;
    if (!sim_strikes(world, &world->server.dice, fault)) return false;
    sim_took_effect(world, fault);
    return true;
}

/* ---- reads ---- */

static const kedge_records *read_from(sim_instance *instance, bool consistent)
{
    sim_server *server = &instance->world->server;
    if (consistent || !sim_strikes(instance->world, &server->dice, SIM_PORT_STALE_READ))
        return &server->records;
    if (server->replica_behind) sim_took_effect(instance->world, SIM_PORT_STALE_READ);
    return &server->replica;
}

static kedge_status end_read(sim_instance *instance, kedge_status status, kedge_record_set *set,
                             kedge_error *error)
{
    kedge_status left = status;
    sim_port_leave(instance, &left, error);
    if (left != status && status == KEDGE_OK) kedge_record_set_free(set);
    return left;
}

static kedge_status records_get(void *self, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    sim_instance *instance = self;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_PORT_THROTTLE)) return unavailable(error);
    const kedge_records *records = read_from(instance, consistent);
    status = records->vtable->get(records->self, key, consistent, set, error);
    return end_read(instance, status, set, error);
}

static kedge_status records_batch_get(void *self, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error)
{
    sim_instance *instance = self;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_PORT_THROTTLE)) return unavailable(error);
    const kedge_records *records = read_from(instance, consistent);
    status = records->vtable->batch_get(records->self, keys, count, consistent, set, error);
    return end_read(instance, status, set, error);
}

static kedge_status records_query(void *self, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error)
{
    sim_instance *instance = self;
    kedge_status status;
    kedge_records_query asked = *query;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_PORT_THROTTLE)) return unavailable(error);
    bool cut = asked.limit > 1 &&
               sim_strikes(instance->world, &instance->world->server.dice, SIM_PORT_SHORT_PAGE);
    if (cut) asked.limit = 1 + (uint32_t)sim_dice_below(&instance->world->server.dice, 3);
    if (cut && asked.limit > query->limit) asked.limit = query->limit;
    const kedge_records *records = read_from(instance, query->consistent);
    status = records->vtable->query(records->self, &asked, set, error);
    if (status == KEDGE_OK && set->more && asked.limit < query->limit)
        sim_took_effect(instance->world, SIM_PORT_SHORT_PAGE);
    return end_read(instance, status, set, error);
}

/* ---- writes ---- */

static kedge_status end_write(sim_instance *instance, kedge_status status, kedge_error *error)
{
    if (status == KEDGE_OK) instance->world->server.replica_behind = true;
    if (status == KEDGE_OK && strikes(instance, SIM_PORT_TIMEOUT_DONE)) return unavailable(error);
    sim_port_leave(instance, &status, error);
    return status;
}

static kedge_status records_write(void *self, const kedge_record_write *write, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_records *records = &instance->world->server.records;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_PORT_THROTTLE)) return unavailable(error);
    if (strikes(instance, SIM_PORT_TIMEOUT_LOST)) return unavailable(error);
    status = records->vtable->write(records->self, write, error);
    return end_write(instance, status, error);
}

static kedge_status records_transact(void *self, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_records *records = &instance->world->server.records;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_PORT_THROTTLE)) return unavailable(error);
    if (strikes(instance, SIM_PORT_TIMEOUT_LOST)) return unavailable(error);
    status = records->vtable->transact(records->self, writes, count, error);
    return end_write(instance, status, error);
}

static void no_close(void *self)
{
    (void)self;
}

static const kedge_records_vtable records_vtable = {.get = records_get,
                                                    .batch_get = records_batch_get,
                                                    .query = records_query,
                                                    .write = records_write,
                                                    .transact = records_transact,
                                                    .close = no_close};

kedge_records sim_ports_records(sim_instance *instance)
{
    return (kedge_records){&records_vtable, instance};
}

/* ---- blobs ---- */

static kedge_status blobs_put_tagged(void *self, kedge_bytes key, kedge_bytes bytes,
                                     const kedge_blob_tag *tag, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_BLOB_SLOW_DOWN)) return unavailable(error);
    status = tag == NULL ? blobs->vtable->put_if_absent(blobs->self, key, bytes, error)
                         : blobs->vtable->put_tagged(blobs->self, key, bytes, tag, error);
    if (status == KEDGE_OK && strikes(instance, SIM_BLOB_TIMEOUT_STORED)) return unavailable(error);
    sim_port_leave(instance, &status, error);
    return status;
}

static kedge_status blobs_put(void *self, kedge_bytes key, kedge_bytes bytes, kedge_error *error)
{
    return blobs_put_tagged(self, key, bytes, NULL, error);
}

static kedge_status blobs_get(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    if (strikes(instance, SIM_BLOB_SLOW_DOWN)) return unavailable(error);
    if (strikes(instance, SIM_BLOB_MISSING))
        return kedge_fail(error, KEDGE_NOT_FOUND, "simulated", "simulated: not there yet");
    size_t size = out->size;
    status = blobs->vtable->get(blobs->self, key, out, error);
    kedge_status left = status;
    sim_port_leave(instance, &left, error);
    if (left != status && status == KEDGE_OK) kedge_buffer_truncate(out, size);
    return left;
}

static kedge_status blobs_tag(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                              kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    return blobs->vtable->tag(blobs->self, key, name, value, error);
}

static kedge_status blobs_get_tag(void *self, kedge_bytes key, kedge_bytes name,
                                  kedge_buffer *value, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    return blobs->vtable->get_tag(blobs->self, key, name, value, error);
}

static kedge_status blobs_remove(void *self, kedge_bytes key, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    return blobs->vtable->remove(blobs->self, key, error);
}

static kedge_status blobs_list(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    sim_instance *instance = self;
    const kedge_blobs *blobs = &instance->world->server.blobs;
    kedge_status status;
    if (!sim_port_enter(instance, &status, error)) return status;
    return blobs->vtable->list(blobs->self, prefix, after, limit, list, error);
}

static const kedge_blobs_vtable blobs_vtable = {.put_if_absent = blobs_put,
                                                .put_tagged = blobs_put_tagged,
                                                .get = blobs_get,
                                                .tag = blobs_tag,
                                                .get_tag = blobs_get_tag,
                                                .remove = blobs_remove,
                                                .list = blobs_list,
                                                .close = no_close};

kedge_blobs sim_ports_blobs(sim_instance *instance)
{
    return (kedge_blobs){&blobs_vtable, instance};
}
