/* The app's mutators: counters, ordered lists, things that are taken, limits. The last one is known
 * to clients only: what a server without it makes of it is a rejection. */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIMIT 12

static kedge_status read_id(const char *args, size_t size, char *id, size_t id_room,
                            size_t *id_size, kedge_error *error)
{
    return kedge_args_text(args, size, "id", id, id_room, id_size, error);
}

/* {id, by}: adds to a counter. */
static kedge_status count(kedge_tx *tx, const char *args, size_t size, void *userdata,
                          kedge_error *error)
{
    char id[64], text[64];
    const char *value;
    size_t id_size = 0, value_size = 0;
    int64_t by = 0, sum = 0;
    (void)userdata;
    kedge_status status = read_id(args, size, id, sizeof id, &id_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, size, "by", &by, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_get(tx, "counters", id, id_size, &value, &value_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(value, value_size, "sum", &sum, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    int length = snprintf(text, sizeof text, "{\"sum\":%" PRId64 "}", sum + by);
    return kedge_tx_put(tx, "counters", id, id_size, text, (size_t)length, error);
}

/* {text}: puts an entry after the last one of the list. */
static kedge_status append(kedge_tx *tx, const char *args, size_t size, void *userdata,
                           kedge_error *error)
{
    char last[16] = "0", after[16];
    const char *id, *value;
    size_t id_size, value_size, after_size = 0, places = 0;
    kedge_status status;
    (void)userdata;
    while ((status = kedge_tx_next(tx, "list", places == 0 ? NULL : after, after_size, &id,
                                   &id_size, &value, &value_size, error)) == KEDGE_OK) {
        if (id_size >= sizeof after) break;
        memcpy(after, id, id_size);
        after_size = id_size;
        places++;
    }
    if (status != KEDGE_DONE && status != KEDGE_OK) return status;
    if (places > 0) memcpy(last, after, after_size);
    unsigned long place = 0;
    (void)sscanf(last, "%lu", &place);
    int length = snprintf(last, sizeof last, "%06lu", (place + 1) % 1000000);
    return kedge_tx_put(tx, "list", last, (size_t)length, args, size, error);
}

/* {}: takes the first entry off the list. */
static kedge_status shift(kedge_tx *tx, const char *args, size_t size, void *userdata,
                          kedge_error *error)
{
    const char *id, *value;
    size_t id_size, value_size;
    char first[64];
    (void)args;
    (void)size;
    (void)userdata;
    kedge_status status =
        kedge_tx_next(tx, "list", NULL, 0, &id, &id_size, &value, &value_size, error);
    if (status == KEDGE_DONE)
        return kedge_tx_reject(tx, "list-empty", "there is nothing to take", error);
    if (status != KEDGE_OK) return status;
    if (id_size >= sizeof first) return kedge_tx_reject(tx, "odd-id", "not an entry", error);
    memcpy(first, id, id_size);
    return kedge_tx_delete(tx, "list", first, id_size, error);
}

/* {id}: first come, first served. */
static kedge_status claim(kedge_tx *tx, const char *args, size_t size, void *userdata,
                          kedge_error *error)
{
    char id[64], owner[64], text[128];
    const char *value;
    size_t id_size = 0, value_size = 0, owner_size = 0;
    const kedge_caller *caller = kedge_tx_caller(tx);
    (void)userdata;
    kedge_status status = read_id(args, size, id, sizeof id, &id_size, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_get(tx, "claims", id, id_size, &value, &value_size, error);
    if (status == KEDGE_OK) {
        status =
            kedge_args_text(value, value_size, "owner", owner, sizeof owner, &owner_size, error);
        if (status != KEDGE_OK) return status;
        if (strcmp(owner, caller->user) != 0)
            return kedge_tx_reject(tx, "taken", "somebody else has it", error);
        return kedge_tx_delete(tx, "claims", id, id_size, error);
    }
    if (status != KEDGE_NOT_FOUND) return status;
    int length = snprintf(text, sizeof text, "{\"at\":%" PRId64 ",\"owner\":\"%.40s\"}",
                          caller->now_ms, caller->user);
    return kedge_tx_put(tx, "claims", id, id_size, text, (size_t)length, error);
}

/* {id}: at most LIMIT of them; one over it is refused, which only the server can know for sure. */
static kedge_status limited(kedge_tx *tx, const char *args, size_t size, void *userdata,
                            kedge_error *error)
{
    char id[64], after[64];
    const char *found, *value;
    size_t id_size = 0, found_size, value_size, after_size = 0, there = 0;
    (void)userdata;
    kedge_status status = read_id(args, size, id, sizeof id, &id_size, error);
    while (status == KEDGE_OK) {
        status = kedge_tx_next(tx, "limited", there == 0 ? NULL : after, after_size, &found,
                               &found_size, &value, &value_size, error);
        if (status != KEDGE_OK || found_size >= sizeof after) break;
        memcpy(after, found, found_size);
        after_size = found_size;
        if (++there == LIMIT) return kedge_tx_reject(tx, "full", "there are enough", error);
    }
    if (status != KEDGE_DONE) return status;
    return kedge_tx_put(tx, "limited", id, id_size, args, size, error);
}

/* {id}: does nothing here, and is unknown to the server. */
static kedge_status newer(kedge_tx *tx, const char *args, size_t size, void *userdata,
                          kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "newer", "x", 1, args, size, error);
}

kedge_status sim_die(kedge_tx *tx, const char *args, size_t size, void *userdata,
                     kedge_error *error)
{
    sim_world *world = userdata;
    (void)tx;
    (void)args;
    (void)size;
    (void)error;
    world->server.at_work->crashed = true;
    sim_trace(world, "processor %u is killed", world->server.at_work->index);
    sim_took_effect(world, SIM_QUEUE_KILLER);
    return KEDGE_OK;
}

const kedge_mutator sim_mutators[] = {
    {"sim.count", 1, count, NULL}, {"sim.append", 1, append, NULL},   {"sim.shift", 1, shift, NULL},
    {"sim.claim", 1, claim, NULL}, {"sim.limited", 1, limited, NULL}, {"sim.newer", 1, newer, NULL},
};
/* The same on the same items, and nobody else has them: they are sent as what they do. */
const kedge_mutator sim_client_mutators[] = {{"sim.own-count", 1, count, NULL},
                                             {"sim.own-append", 1, append, NULL},
                                             {"sim.own-shift", 1, shift, NULL}};
const size_t sim_client_mutator_count = sizeof sim_client_mutators / sizeof sim_client_mutators[0];
const size_t sim_mutator_count = sizeof sim_mutators / sizeof sim_mutators[0];
const size_t sim_mutator_count_server = sizeof sim_mutators / sizeof sim_mutators[0] - 1;
