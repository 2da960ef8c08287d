/* What the apps do: edits by every built-in mutator and by their own, cancel, dismiss, resubmit. */
#include "sdk/store/store_internal.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_PER_MILLE 200

/* ---- edits ---- */

/* Text that compresses badly, so that sizes are what they seem. */
static void write_noise(sim_dice *dice, size_t size, kedge_buffer *out)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    for (size_t i = 0; i < size; i++)
        kedge_buffer_append_byte(out, digits[sim_dice_next(dice) & 63]);
}

static void write_value(sim_dice *dice, bool large, kedge_buffer *args)
{
    uint64_t kind = sim_dice_below(dice, 100);
    if (large && kind < 50) kind = 99;
    size_t size = kind < 80   ? (size_t)sim_dice_below(dice, 40)
                  : kind < 95 ? (size_t)sim_dice_below(dice, 600)
                  : kind < 99 ? 6000 + (size_t)sim_dice_below(dice, 6000)
                              : 66000 + (size_t)sim_dice_below(dice, 4000);
    kedge_buffer_append_format(args, "{\"done\":%s,\"n\":%" PRIu64 ",\"text\":\"",
                               sim_dice_chance(dice, 500) ? "true" : "false",
                               sim_dice_below(dice, 10));
    write_noise(dice, size, args);
    kedge_buffer_append_text(args, "\"}");
}

static void write_place(sim_dice *dice, kedge_buffer *args)
{
    static const char *const collections[] = {"notes", "tasks", "notes", "_"};
    static const char *const ids[] = {"a", "b", "c", "d/e", "f", "", "g", "h\xc3\xa9"};
    kedge_buffer_append_format(args, "\"collection\":\"%s\",\"id\":\"%s%" PRIu64 "\"",
                               collections[sim_dice_below(dice, 4)], ids[sim_dice_below(dice, 8)],
                               sim_dice_below(dice, 3));
}

static const char *write_builtin(sim_dice *dice, bool large, kedge_buffer *args)
{
    uint64_t kind = sim_dice_below(dice, 12);
    if (kind == 11) {
        kedge_buffer_append_text(args, "null");
        return "kedge.noop";
    }
    if (kind == 10) {
        kedge_buffer_append_format(args, "{\"name\":\"plan %" PRIu64 "\",\"k%" PRIu64 "\":1}",
                                   sim_dice_below(dice, 100), sim_dice_below(dice, 5));
        return "kedge.project";
    }
    kedge_buffer_append_text(args, "{");
    write_place(dice, args);
    if (kind < 5) {
        kedge_buffer_append_text(args, ",\"value\":");
        write_value(dice, large, args);
        kedge_buffer_append_text(args, "}");
        return "kedge.put";
    }
    if (kind < 7) {
        kedge_buffer_append_format(args, ",\"patch\":{\"n\":%" PRIu64 ",\"text\":null}}",
                                   sim_dice_below(dice, 9));
        return "kedge.merge";
    }
    if (kind < 8) {
        kedge_buffer_append_format(args,
                                   ",\"patch\":[{\"op\":\"test\",\"path\":\"/n\",\"value\":%" PRIu64
                                   "},{\"op\":\"add\",\"path\":\"/seen\",\"value\":true}]}",
                                   sim_dice_below(dice, 4));
        return "kedge.patch";
    }
    kedge_buffer_append_text(args, "}");
    return "kedge.delete";
}

static const char *write_own(sim_dice *dice, kedge_buffer *args)
{
    static const char *const clients_own[] = {"sim.own-count", "sim.own-append", "sim.own-shift"};
    uint64_t number = sim_dice_below(dice, 20);
    switch (sim_dice_below(dice, 13)) {
    case 0:
    case 1:
    case 2:
        kedge_buffer_append_format(args, "{\"by\":1,\"id\":\"%" PRIu64 "\"}", number % 2);
        return "sim.count";
    case 3:
    case 4:
        kedge_buffer_append_format(args, "{\"text\":\"%" PRIu64 "\"}", number);
        return "sim.append";
    case 5:
        kedge_buffer_append_text(args, "{}");
        return "sim.shift";
    case 6:
    case 7:
        kedge_buffer_append_format(args, "{\"id\":\"%" PRIu64 "\"}", number % 5);
        return "sim.claim";
    case 8:
        kedge_buffer_append_format(args, "{\"id\":\"%" PRIu64 "\"}", number);
        return "sim.limited";
    case 10:
    case 11:
    case 12:
        kedge_buffer_append_format(args, "{\"by\":1,\"id\":\"%" PRIu64 "\"}", number % 2);
        return clients_own[number % 3];
    default:
        kedge_buffer_append_format(args, "{\"id\":\"%" PRIu64 "\"}", number);
        return "sim.newer";
    }
}

/* The app was told; from now on the folder owes it. */
static void enter_in_ledger(sim_client *client, int64_t sequence, const uint8_t *content)
{
    kedge_pending row;
    client->disk.suspended = true;
    kedge_status status = kedge_outbox_find(&client->store->outbox, sequence, &row, NULL);
    client->disk.suspended = false;
    if (status != KEDGE_OK) {
        sim_violate(client->world, SIM_I6,
                    "client %u: %" PRId64 " was acknowledged and is not kept", client->index,
                    sequence);
        sim_note_made(client->world, content, NULL, 0);
        return;
    }
    if (sequence <= client->seen.last_sequence)
        sim_violate(client->world, SIM_I11, "client %u: sequence %" PRId64 " was given out twice",
                    client->index, sequence);
    client->seen.last_sequence = sequence;
    sim_entry *entry = sim_ledger_add(&client->ledger);
    entry->sequence = sequence;
    memcpy(entry->uid, row.uid.data, SIM_UID_SIZE);
    memcpy(entry->digest, row.digest.data, KEDGE_DIGEST_SIZE);
    memcpy(entry->first_uid, entry->uid, sizeof entry->first_uid);
    memcpy(entry->first_digest, entry->digest, sizeof entry->first_digest);
    memcpy(entry->content, content, sizeof entry->content);
    sim_note_made(client->world, content, entry->uid, row.timestamp_ms);
    client->world->report->mutations++;
    kedge_store_db_rollback(&client->store->outbox);
}

/* One edit. What failed, or ended the process, may be kept or not. */
static kedge_status make_edit(sim_client *client, const char *name, kedge_bytes args)
{
    uint8_t content[KEDGE_SHA256_SIZE];
    int64_t sequence = 0;
    kedge_status status =
        kedge_store_mutate(client->store, kedge_bytes_of(name), args, &sequence, NULL, NULL);
    sim_content(kedge_bytes_of(name), args, content);
    if (client->disk.dead || status != KEDGE_OK) {
        sim_note_made(client->world, content, NULL, 0);
        return status;
    }
    enter_in_ledger(client, sequence, content);
    kedge_driver_mutated(client->driver);
    return KEDGE_OK;
}

static const char *write_edit(sim_dice *dice, bool large, kedge_buffer *args)
{
    return sim_dice_chance(dice, 550) ? write_builtin(dice, large, args) : write_own(dice, args);
}

/* A few edits as one. */
static const char *write_batch(sim_dice *dice, bool large, kedge_buffer *args)
{
    kedge_buffer part = kedge_buffer_make(&kedge_allocator_default);
    uint64_t parts = 1 + sim_dice_below(dice, 4);
    kedge_buffer_append_text(args, "{\"mutations\":[");
    for (uint64_t i = 0; i < parts; i++) {
        kedge_buffer_clear(&part);
        const char *name = write_edit(dice, large, &part);
        kedge_buffer_append_format(args, "%s{\"args\":%s,\"name\":\"%s\"}", i == 0 ? "" : ",",
                                   part.data, name);
    }
    kedge_buffer_append_text(args, "]}");
    kedge_buffer_free(&part);
    return "kedge.batch";
}

static void mutate(sim_client *client)
{
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    sim_dice *dice = &client->dice;
    bool large = client->world->options.large;
    const char *name = sim_dice_chance(dice, 60) ? write_batch(dice, large, &args)
                                                 : write_edit(dice, large, &args);
    kedge_status status = make_edit(client, name, kedge_buffer_bytes(&args));
    sim_trace(client->world, "client %u: %s %zu bytes: %s", client->index, name, args.size,
              client->disk.dead ? "dies" : kedge_status_name(status));
    kedge_buffer_free(&args);
}

void sim_same_edit(sim_client *client)
{
    if (!sim_client_runs(client)) return;
    kedge_status status = make_edit(client, "sim.count", KEDGE_BYTES("{\"by\":1,\"id\":\"same\"}"));
    sim_trace(client->world, "client %u makes the same edit: %s", client->index,
              client->disk.dead ? "dies" : kedge_status_name(status));
    sim_client_settle(client);
}

/* ---- second thoughts ---- */

/* A row with the number of one edit may be that of another, whose number was damaged. */
static sim_entry *find_entry(sim_client *client, int64_t sequence)
{
    sim_entry *found = NULL;
    for (size_t i = client->ledger.count; i-- > 0;) {
        sim_entry *entry = &client->ledger.entries[i];
        if (!sim_entry_is(entry, sequence)) continue;
        if (found == NULL || entry->damaged) found = entry;
    }
    return found;
}

static void cancel(sim_client *client)
{
    if (client->ledger.count == 0) return;
    sim_entry *entry = &client->ledger.entries[client->ledger.count - 1];
    if (entry->cancelled || entry->released) return;
    int64_t sequence = entry->sequence;
    kedge_status status = kedge_store_cancel(client->store, sequence, NULL, NULL);
    sim_trace(client->world, "client %u cancels %" PRId64 ": %s", client->index, sequence,
              client->disk.dead ? "dies" : kedge_status_name(status));
    /* Whether a cancel that failed took hold cannot be told: nothing is owed for it any more. */
    if (status == KEDGE_OK && !client->disk.dead)
        entry->cancelled = true;
    else if (status != KEDGE_CONFLICT && status != KEDGE_NOT_FOUND)
        entry->released = true;
    if (sim_client_runs(client)) kedge_driver_mutated(client->driver);
}

/* The oldest in the inbox that the app has not answered, and what it says. */
static int64_t oldest_rejected(sim_client *client, uint8_t content[KEDGE_SHA256_SIZE])
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int64_t sequence = 0;
    if (kedge_store_rejected_open(client->store, &list, NULL) != KEDGE_OK) return 0;
    if (kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK) {
        sequence = mutation.sequence;
        sim_content(kedge_bytes_of(mutation.name), (kedge_bytes){mutation.args, mutation.args_size},
                    content);
    }
    kedge_store_list_close(list);
    return sequence;
}

/* The row of another edit may have had its sequence changed to this one: what the row says decides.
 * A damaged row may be of either. */
static sim_entry *find_rejected(sim_client *client, int64_t sequence, const uint8_t *content)
{
    for (size_t i = 0; i < client->ledger.count; i++) {
        sim_entry *entry = &client->ledger.entries[i];
        if (entry->sequence == sequence &&
            memcmp(entry->content, content, sizeof entry->content) == 0)
            return entry;
    }
    return find_entry(client, sequence);
}

/* What it became by resubmitting. A damaged edit must not become one that looks sound. The ledger
 * lacks an edit whose process died; where its sequence is given a second time, it has another. */
static void enter_resubmitted(sim_client *client, const sim_entry *entry, int64_t sequence,
                              const uint8_t *content)
{
    if (entry != NULL && memcmp(entry->content, content, sizeof entry->content) != 0 &&
        !sim_was_made(client->world, content))
        sim_violate(client->world, SIM_I22,
                    "client %u: %" PRId64 " is resubmitted as what nobody made", client->index,
                    entry->sequence);
    enter_in_ledger(client, sequence, content);
}

static void respond_rejection(sim_client *client)
{
    uint8_t content[KEDGE_SHA256_SIZE] = {0};
    int64_t sequence = oldest_rejected(client, content);
    sim_entry *entry = find_rejected(client, sequence, content);
    if (sequence == 0 || client->disk.dead) return;
    int64_t fresh = 0;
    bool again = sim_dice_chance(&client->dice, 400);
    kedge_status status = again ? kedge_store_resubmit(client->store, sequence, &fresh, NULL, NULL)
                                : kedge_store_dismiss(client->store, sequence, NULL);
    sim_trace(client->world, "client %u %s %" PRId64 ": %s", client->index,
              again ? "resubmits" : "dismisses", sequence,
              client->disk.dead ? "dies" : kedge_status_name(status));
    if (entry != NULL && status != KEDGE_REJECTED) entry->released = true;
    if (again && (status != KEDGE_OK || client->disk.dead))
        sim_note_made(client->world, content, NULL, 0);
    if (status != KEDGE_OK || client->disk.dead) return;
    if (entry != NULL) entry->answered = true;
    if (again) enter_resubmitted(client, entry, fresh, content);
    kedge_driver_mutated(client->driver);
}

/* ---- the event ---- */

static void schedule_next(sim_client *client)
{
    sim_world *world = client->world;
    if (world->healing || world->edits_left == 0) return;
    /* Bursts, and pauses between them. */
    uint64_t within = sim_dice_chance(&client->dice, 700) ? 60 : 4000;
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms + 1 +
                                              (int64_t)sim_dice_below(&client->dice, within),
                                     .kind = SIM_EVENT_EDIT,
                                     .client = client->index});
}

void sim_edit(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    schedule_next(client);
    if (!sim_client_runs(client) || world->healing || world->edits_left == 0) return;
    world->edits_left--;
    uint64_t what = sim_dice_below(&client->dice, 100);
    if (what < 6)
        cancel(client);
    else if (what < 14)
        respond_rejection(client);
    else
        mutate(client);
    /* As the SDK's worker does after commits: without it the files themselves would stay empty. */
    if (sim_client_runs(client) && sim_dice_chance(&client->dice, CHECKPOINT_PER_MILLE))
        (void)kedge_store_checkpoint(client->store, NULL);
    sim_client_settle(client);
}

/* ---- an operator's repair ---- */

static bool body_is_lost(sim_world *world, const sim_change *change)
{
    char hex[KEDGE_SHA256_HEX], key[800];
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_hex_encode(change->hash, sizeof change->hash, hex);
    int size = snprintf(key, sizeof key, "%s/projects/%s/%s/%s.json.gz", SIM_ORGANIZATION,
                        SIM_PROJECT, change->collection, hex);
    const kedge_blobs *blobs = &world->server.blobs;
    kedge_status status =
        blobs->vtable->get(blobs->self, (kedge_bytes){key, (size_t)size}, &body, NULL);
    kedge_buffer_free(&body);
    return status == KEDGE_NOT_FOUND;
}

/* An operator's own client pushes it: those of the apps may all wait for what is lost. */
static void write_over(sim_world *world, const sim_change *change, int64_t id)
{
    char uid[2 * SIM_UID_SIZE + 1];
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_random_hex(&world->server.environment, SIM_UID_SIZE, uid);
    kedge_buffer_append_format(&body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"operator\",\"profileID\":"
                               "\"\",\"schemaVersion\":\"\","
                               "\"kedge\":{\"client\":\"operator\"},\"mutations\":[{\"clientID\":"
                               "\"operator\",\"id\":%" PRId64
                               ",\"name\":\"kedge.put\",\"timestamp\":1,\"uid\":\"%s\",\"args\":",
                               id, uid);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "collection");
    kedge_json_chars(&writer, change->collection);
    kedge_json_key(&writer, "id");
    kedge_json_text(&writer, (kedge_bytes){change->id, change->id_size});
    kedge_json_key(&writer, "value");
    kedge_json_chars(&writer, "lost");
    kedge_json_end_object(&writer);
    kedge_buffer_append_text(&body, "}]}");
    char method[] = "POST", path[] = "push";
    sim_message message = {.method = method,
                           .path = path,
                           .body = body.data,
                           .body_size = body.size,
                           .user = "operator"};
    (void)sim_server_handle(world, &message);
    sim_trace(world, "the operator writes over a lost body: %d", message.status);
    free(message.response);
    kedge_buffer_free(&body);
}

void sim_replace_lost_bodies(sim_world *world)
{
    const sim_version *head = world->oracle.head;
    int64_t id = sim_oracle_lmid(head, "operator");
    bool lacking = false;
    for (uint32_t i = 0; i < world->client_count; i++)
        lacking = lacking || world->clients[i].lacks_items;
    for (const sim_version *at = head; at != NULL; at = at->parent) {
        for (size_t i = 0; i < at->change_count; i++) {
            if (at->changes[i].in_blobs && (lacking || body_is_lost(world, &at->changes[i])))
                write_over(world, &at->changes[i], ++id);
        }
    }
}
