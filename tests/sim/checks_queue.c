/* The checker of messages that leave the queue: what is in them is decided, or stands where the
 * rules drop it. What is dropped otherwise would be a mutation that was skipped silently. */
#include "tests/sim/queue.h"

#include "backend/api/push.h"
#include "backend/queued/message.h"
#include "common/gzip.h"
#include "mutate/batch.h"
#include "mutate/registry.h"

#include <inttypes.h>
#include <string.h>

/* What the message's push says of a client so far. */
typedef struct blocked {
    char clients[8][64]; /* met a mismatch, a gap or a mutation that waits */
    size_t count;
} blocked;

static bool is_blocked(const blocked *all, const char *client)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->clients[i], client) == 0) return true;
    return false;
}

static void block(blocked *all, const char *client)
{
    if (!is_blocked(all, client) && all->count < 8)
        (void)snprintf(all->clients[all->count++], sizeof all->clients[0], "%.63s", client);
}

/* At the end of the list the client is not followed: NULL. */
static int64_t *next_of(sim_instance *instance, const char *client)
{
    sim_round *round = &instance->round;
    for (size_t i = 0; i < round->count; i++)
        if (strcmp(round->clients[i].client, client) == 0) return &round->clients[i].next;
    if (round->count == sizeof round->clients / sizeof round->clients[0]) return NULL;
    (void)snprintf(round->clients[round->count].client, sizeof round->clients[0].client, "%.63s",
                   client);
    round->clients[round->count].next = sim_oracle_lmid(round->head, client) + 1;
    return &round->clients[round->count++].next;
}

static bool is_unknown(const sim_instance *instance, kedge_bytes name)
{
    return kedge_registry_find(instance->world->server.registry, name) == NULL;
}

/* For a backend that has its mutator, or those of its parts: its client keeps it. */
static bool waits(const sim_instance *instance, const kedge_push_mutation *mutation)
{
    kedge_batch_part part;
    if (!mutation->waits) return false;
    if (is_unknown(instance, mutation->name)) return true;
    if (!kedge_bytes_equal_text(mutation->name, KEDGE_BATCH_MUTATOR) ||
        kedge_batch_check(mutation->args, NULL) != KEDGE_OK)
        return false;
    kedge_json_iterator parts = kedge_batch_iterate(mutation->args);
    while (kedge_batch_next(&parts, &part)) {
        if (is_unknown(instance, kedge_bytes_of(part.name))) return true;
    }
    return false;
}

static void check_mutation(sim_instance *instance, const kedge_push_mutation *mutation,
                           blocked *all)
{
    char client[64];
    const sim_version *head = instance->world->oracle.head;
    (void)snprintf(client, sizeof client, "%.*s", (int)mutation->client.size,
                   mutation->client.data);
    int64_t *next = next_of(instance, client);
    instance->world->report->checks[SIM_I2]++;
    if (next == NULL || is_blocked(all, client) || sim_oracle_retired(head, client)) return;
    const sim_decided *decided = sim_oracle_decided(head, client, mutation->id, NULL);
    if (mutation->id == *next && waits(instance, mutation)) {
        /* If it is decided by now, it was out of a later message of the round, whose copy waits no
         * longer. What is after it in this one was left. */
        block(all, client);
    } else if (decided != NULL) {
        /* It may have been decided since, out of another message. */
        if (memcmp(decided->digest, mutation->digest, sizeof decided->digest) != 0)
            block(all, client);
        else if (mutation->id == *next)
            ++*next;
    } else if (mutation->id > *next) {
        block(all, client);
    } else {
        sim_violate(instance->world, SIM_I2,
                    "a message left the queue, and its (%.8s, %" PRId64 ") was skipped silently",
                    client, mutation->id);
    }
}

static void check_push(sim_instance *instance, kedge_bytes push)
{
    static const kedge_identity nobody = {.user = "", .role = "", .organization = ""};
    kedge_push_request request;
    blocked all = {.count = 0};
    if (kedge_push_body_read(&kedge_allocator_default, push, &nobody, &request, NULL) == KEDGE_OK) {
        for (size_t i = 0; i < request.push.count; i++)
            check_mutation(instance, &request.push.mutations[i], &all);
    }
    kedge_push_request_free(&request);
}

void check_message_is_done(sim_instance *instance, kedge_bytes body)
{
    sim_world *world = instance->world;
    kedge_message message;
    uint8_t hash[KEDGE_SHA256_SIZE];
    const kedge_blobs *blobs = &world->server.blobs;
    kedge_buffer stored = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    if (kedge_message_read(body, &message, NULL) != KEDGE_OK) {
        sim_violate(world, SIM_I2, "a message that nobody can read left the queue as done");
    } else if (message.claim[0] == '\0') {
        sim_oracle_catch_up(world);
        check_push(instance, message.push);
    } else {
        kedge_project_ref ref = kedge_message_ref(&message);
        (void)kedge_hex_decode(kedge_bytes_of(message.claim), hash, sizeof hash);
        kedge_key key = kedge_key_push(&ref, hash);
        sim_oracle_catch_up(world);
        if (blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, NULL) == KEDGE_OK &&
            kedge_gunzip(kedge_buffer_bytes(&stored), KEDGE_MESSAGE_BYTES_MAX, &text, NULL) ==
                KEDGE_OK &&
            kedge_message_read(kedge_buffer_bytes(&text), &message, NULL) == KEDGE_OK)
            check_push(instance, message.push);
    }
    kedge_buffer_free(&stored);
    kedge_buffer_free(&text);
}
