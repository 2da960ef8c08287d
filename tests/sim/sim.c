/* One run: a world is made from its seed, lives through its edits, heals, and must converge. */
#include "tests/sim/sim.h"

#include "tests/sim/files.h"
#include "tests/sim/queue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STEPS_MAX      40000
#define VIOLATIONS_END 8

/* How often a fault strikes where it may, per mille. A seed takes about half of the kinds. */
static const uint32_t usual_rates[SIM_FAULTS] = {
    [SIM_NET_DROP] = 40,
    [SIM_NET_DELAY] = 40,
    [SIM_NET_LATE] = 10,
    [SIM_NET_DUPLICATE] = 60,
    [SIM_NET_REORDER] = 1000,
    [SIM_NET_TRUNCATE] = 30,
    [SIM_NET_RESET] = 40,
    [SIM_NET_PORTAL] = 20,
    [SIM_NET_HANG] = 15,
    [SIM_NET_PARTITION] = 30,
    [SIM_NET_ONE_WAY] = 30,
    [SIM_STREAM_CUT] = 30,
    [SIM_STREAM_SILENT] = 150,
    [SIM_APP_OFFLINE] = 40,
    [SIM_SERVER_CRASH_BEFORE] = 4,
    [SIM_SERVER_CRASH_AFTER] = 4,
    [SIM_SERVER_PAUSE] = 15,
    [SIM_SERVER_RACE] = 1000,
    [SIM_RESTORE_RECORDS] = 8,
    [SIM_RESTORE_BLOBS] = 5,
    [SIM_RESTORE_BOTH] = 8,
    [SIM_PORT_THROTTLE] = 8,
    [SIM_PORT_TIMEOUT_DONE] = 15,
    [SIM_PORT_TIMEOUT_LOST] = 15,
    [SIM_PORT_STALE_READ] = 900,
    [SIM_PORT_SHORT_PAGE] = 100,
    [SIM_BLOB_SLOW_DOWN] = 20,
    [SIM_BLOB_TIMEOUT_STORED] = 50,
    [SIM_BLOB_MISSING] = 10,
    [SIM_CLIENT_KILL] = 150,
    [SIM_RESTORE_ROWS_STAY] = 500,
    [SIM_RESTORE_AGAIN] = 150,
    [SIM_OLD_RESPONSE] = 60,
    [SIM_CLIENT_POWER_CUT] = 150,
    [SIM_POWER_WRITE_DROPPED] = 1000,
    [SIM_POWER_WRITE_TORN] = 1000,
    [SIM_DISK_FULL] = 60,
    [SIM_DISK_ERROR] = 60,
    [SIM_CACHE_CORRUPT] = 20,
    [SIM_NO_MEMORY] = 60,
    [SIM_FOLDER_COPIED] = 15,
    [SIM_FOLDER_RESTORED] = 30,
    [SIM_ROW_FLIPPED_OUTBOX] = 30,
    [SIM_ROW_FLIPPED_CACHE] = 30,
    [SIM_PAGE_SWAPPED_OUTBOX] = 10,
    [SIM_PAGE_SWAPPED_CACHE] = 20,
    [SIM_OUTBOX_OLDER] = 20,
    [SIM_CACHE_OLDER] = 20,
    [SIM_WAL_LOST] = 10,
    [SIM_OPENING_CUT] = 700,
    [SIM_CLOCK_JUMP] = 50,
    [SIM_CLOCK_1970] = 15,
    [SIM_SERVER_CLOCK_JUMP] = 30,
    [SIM_QUEUE_AWAY] = 30,
    [SIM_QUEUE_TIMEOUT_DONE] = 30,
    [SIM_QUEUE_TWICE] = 60,
    [SIM_QUEUE_LATE] = 40,
    [SIM_QUEUE_PAST_VISIBILITY] = 200,
    [SIM_QUEUE_POISON] = 40,
    [SIM_QUEUE_KILLER] = 1000,
    [SIM_QUEUE_REDRIVE] = 100,
};

/* ---- telling ---- */

void sim_trace(sim_world *world, const char *format, ...)
{
    char line[512];
    va_list arguments;
    int size = snprintf(line, sizeof line, "%8" PRId64 " ", world->now_ms);
    va_start(arguments, format);
    (void)vsnprintf(line + size, sizeof line - (size_t)size, format, arguments);
    va_end(arguments);
    for (const char *at = line; *at != '\0'; at++)
        world->trace_hash = (world->trace_hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    if (world->options.trace != NULL) fprintf(world->options.trace, "%s\n", line);
}

void sim_violate(sim_world *world, sim_check check, const char *format, ...)
{
    sim_result *result = world->result;
    sim_violation *violation = &result->violations[result->violation_count];
    if (result->violation_count == SIM_VIOLATION_MAX) return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(violation->text, sizeof violation->text, format, arguments);
    va_end(arguments);
    violation->check = check;
    result->violation_count++;
    world->report->violations++;
    sim_trace(world, "VIOLATION of %s: %s", sim_check_names[check], violation->text);
}

bool sim_strikes(sim_world *world, sim_dice *dice, sim_fault fault)
{
    if ((world->faults & SIM_FAULT_BIT(fault)) == 0) return false;
    return sim_dice_chance(dice, world->rates[fault]);
}

void sim_took_effect(sim_world *world, sim_fault fault)
{
    world->report->faults[fault]++;
}

/* ---- steps ---- */

static void dispatch(sim_world *world, const sim_event *event)
{
    switch (event->kind) {
    case SIM_EVENT_TIMER:
        sim_client_timer(world, event);
        break;
    case SIM_EVENT_WAKE:
        sim_client_wake(world, event);
        break;
    case SIM_EVENT_EDIT:
        sim_edit(world, event);
        break;
    case SIM_EVENT_REOPEN:
        sim_client_reopen(world, event);
        break;
    case SIM_EVENT_REQUEST:
        sim_network_request(world, event);
        break;
    case SIM_EVENT_RESPONSE:
        sim_network_respond(world, event);
        break;
    case SIM_EVENT_DEADLINE:
        sim_network_deadline(world, event);
        break;
    case SIM_EVENT_STREAM_OPEN:
    case SIM_EVENT_STREAM_POKE:
    case SIM_EVENT_STREAM_PING:
    case SIM_EVENT_STREAM_END:
        sim_network_stream(world, event);
        break;
    case SIM_EVENT_CONSUME:
        sim_queue_consume(world);
        break;
    case SIM_EVENT_MESSAGE:
        sim_queue_arrive(world, event);
        break;
    case SIM_EVENT_TROUBLE:
        sim_trouble(world);
        break;
    }
}

void sim_step(sim_world *world)
{
    sim_event event;
    if (!sim_next_event(world, &event)) return;
    if (event.at_ms > world->now_ms) world->now_ms = event.at_ms;
    world->steps++;
    dispatch(world, &event);
}

/* ---- a world ---- */

/* Four seeds of ten have files that lie: what is forgiven for it must not weaken all of them. */
static void choose_faults(sim_world *world)
{
    sim_dice damage = sim_dice_make(world->options.seed, 103);
    bool lies = sim_dice_chance(&damage, 400);
    for (size_t i = 0; i < SIM_FAULTS; i++) {
        bool natural = usual_rates[i] == 1000;
        bool of_queue = i >= SIM_QUEUE_AWAY && i <= SIM_QUEUE_REDRIVE;
        sim_dice *dice = of_queue ? &world->server.queue_dice : &world->dice;
        if (i == SIM_OPENING_CUT) dice = &damage;
        bool chosen = sim_dice_chance(dice, 500);
        world->rates[i] = usual_rates[i];
        bool of_files = i >= SIM_ROW_FLIPPED_OUTBOX && i <= SIM_OPENING_CUT;
        if ((natural || chosen) && (lies || !of_files)) world->faults |= SIM_FAULT_BIT(i);
    }
    world->faults &= world->options.faults;
}

static void choose_mode(sim_world *world)
{
    sim_dice dice = sim_dice_make(world->options.seed, 102);
    world->queued = world->options.mode == SIM_MODE_QUEUED ||
                    (world->options.mode == SIM_MODE_BY_SEED && sim_dice_chance(&dice, 400));
    world->server.queue_dice = dice;
    if (world->queued) world->report->queued_seeds++;
}

/* By a die of its own: a versioned seed is what it was before there were log projects. */
static void choose_kind(sim_world *world)
{
    sim_dice dice = sim_dice_make(world->options.seed, 104);
    world->logged = world->options.kind == SIM_KIND_LOG ||
                    (world->options.kind == SIM_KIND_BY_SEED && sim_dice_chance(&dice, 250));
    world->server.log_dice = dice;
    if (world->logged) world->report->log_seeds++;
}

static bool make_world(sim_world *world)
{
    choose_mode(world);
    choose_kind(world);
    world->dice = sim_dice_make(world->options.seed, 0);
    world->trace_hash = UINT64_C(14695981039346656037);
    world->client_count = world->options.clients;
    world->edits_left = world->options.edits;
    sim_vfs_seed(world->options.seed);
    choose_faults(world);
    if (kedge_registry_new_for_client(&kedge_allocator_default, sim_mutators, sim_mutator_count,
                                      sim_client_mutators, sim_client_mutator_count,
                                      &world->registry, NULL) != KEDGE_OK)
        return false;
    if (!sim_server_open(world) || !sim_oracle_open(world)) return false;
    for (uint32_t i = 0; i < world->client_count; i++)
        sim_client_make(world, i);
    return true;
}

static void start_world(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        sim_client_open(&world->clients[i]);
        sim_schedule(world, &(sim_event){.at_ms = 1 + i, .kind = SIM_EVENT_EDIT, .client = i});
    }
    sim_schedule(world, &(sim_event){.at_ms = 200, .kind = SIM_EVENT_TROUBLE});
}

static void free_world(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++)
        sim_client_free(&world->clients[i]);
    sim_events_free(world);
    sim_oracle_close(world);
    sim_server_close(world);
    kedge_registry_free(world->registry);
    free(world->made.edits);
}

static bool goes_on(const sim_world *world)
{
    return world->edits_left > 0 && world->steps < STEPS_MAX &&
           world->result->violation_count < VIOLATIONS_END;
}

void sim_run(const sim_options *options, sim_report *report, sim_result *result)
{
    sim_world *world = sim_must_allocate(sizeof *world);
    world->options = *options;
    world->report = report;
    world->result = result;
    memset(result, 0, sizeof *result);
    if (!make_world(world)) abort();
    start_world(world);
    while (goes_on(world))
        sim_step(world);
    if (result->violation_count < VIOLATIONS_END) {
        sim_heal(world);
        check_i18_converged(world);
        if (result->violation_count == 0) check_i11_living_copies(world);
    }
    report->seeds++;
    report->steps += world->steps;
    result->trace_hash = world->trace_hash;
    free_world(world);
    free(world);
}
