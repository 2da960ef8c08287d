/* The driver's loop: an event goes to the core, the core's actions are carried out in order, what
 * they bring about becomes the next event, until none waits.
 *
 * The host has one timer. It serves the core and the check of the cache in the background, which is
 * done in slices; between two slices the thread does other work. */
#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"
#include "sdk/driver/driver_internal.h"
#include "wire/poke.h"

#include <string.h>

/* The check of the cache. */
#define CHECK_FIRST_MS 1000  /* opening and resync come first */
#define CHECK_SLICE_MS 20    /* a slice takes about one */
#define CHECK_RETRY_MS 60000 /* the disk or the memory failed */

/* ---- making and freeing ---- */

kedge_status kedge_driver_new(const kedge_environment *environment, kedge_store *store,
                              const kedge_transport *transport, const kedge_driver_host *host,
                              bool online, kedge_driver **out, kedge_error *error)
{
    kedge_driver *driver = kedge_allocate(environment->allocator, sizeof *driver);
    if (driver == NULL) return kedge_fail_no_memory(error);
    driver->environment = environment;
    driver->allocator = environment->allocator;
    driver->store = store;
    driver->transport = *transport;
    driver->host = *host;
    driver->core_timer_ms = driver->check_timer_ms = KEDGE_DRIVER_NEVER;
    kedge_core_init(&driver->core, online);
    kedge_driver_held_init(&driver->held, driver->allocator);
    driver->upload.packed = kedge_buffer_make(driver->allocator);
    *out = driver;
    return KEDGE_OK;
}

void kedge_driver_set_schema_version(kedge_driver *driver, const char *schema_version)
{
    KEDGE_ASSERT(strlen(schema_version) < sizeof driver->schema_version);
    memcpy(driver->schema_version, schema_version, strlen(schema_version) + 1);
}

void kedge_driver_free(kedge_driver *driver)
{
    if (driver == NULL) return;
    kedge_driver_shutdown(driver);
    kedge_driver_held_free(&driver->held);
    kedge_driver_upload_end(driver);
    kedge_cleanse(driver->token_text, sizeof driver->token_text);
    kedge_release(driver->allocator, driver);
}

/* ---- the events that wait while another one is carried out, oldest first ---- */

/* An event that got lost would leave the core waiting for it for ever. Few wait at once: the ends
 * of what the core has begun, and what the host tells meanwhile. */
static void add_event(kedge_driver *driver, const kedge_core_event *event)
{
    KEDGE_ASSERT(driver->event_count < KEDGE_DRIVER_EVENTS_MAX);
    size_t at = (driver->event_first + driver->event_count) % KEDGE_DRIVER_EVENTS_MAX;
    driver->events[at] = *event;
    driver->event_count++;
}

static bool next_event(kedge_driver *driver, kedge_core_event *event)
{
    if (driver->event_count == 0) return false;
    *event = driver->events[driver->event_first];
    driver->event_first = (driver->event_first + 1) % KEDGE_DRIVER_EVENTS_MAX;
    driver->event_count--;
    return true;
}

/* ---- the timer ---- */

/* Sets the host's timer to what comes first. */
static void arm(kedge_driver *driver)
{
    int64_t at_ms = driver->core_timer_ms < driver->check_timer_ms ? driver->core_timer_ms
                                                                   : driver->check_timer_ms;
    if (at_ms != KEDGE_DRIVER_NEVER) driver->host.set_timer(driver->host.context, at_ms);
}

static int64_t monotonic_ms(const kedge_driver *driver)
{
    return driver->environment->monotonic_ms(driver->environment->context);
}

static void arm_check(kedge_driver *driver, int64_t delay_ms)
{
    driver->check_timer_ms = monotonic_ms(driver) + delay_ms;
    arm(driver);
}

/* The cache is checked once after it was opened and once after each resync. */
static void plan_check(kedge_driver *driver)
{
    if (driver->check_timer_ms != KEDGE_DRIVER_NEVER) return;
    if (kedge_store_check_is_due(driver->store)) arm_check(driver, CHECK_FIRST_MS);
}

/* One slice. False: the cache turned out to be damaged, was set aside, and is to be pulled
 * again. */
static bool check_slice(kedge_driver *driver)
{
    kedge_change_set everything = {.all = true};
    kedge_status status = kedge_store_check_cache(driver->store, NULL);
    driver->check_timer_ms = KEDGE_DRIVER_NEVER;
    if (status == KEDGE_OK) {
        arm_check(driver, CHECK_SLICE_MS);
    } else if (status == KEDGE_DONE) {
        arm(driver);
    } else {
        arm_check(driver, status == KEDGE_CORRUPT ? CHECK_FIRST_MS : CHECK_RETRY_MS);
    }
    if (status == KEDGE_CORRUPT) driver->host.changed(driver->host.context, &everything);
    return status != KEDGE_CORRUPT;
}

/* ---- actions ---- */

static void send(kedge_driver *driver, const kedge_core_action *action)
{
    kedge_core_event ended;
    if (!kedge_driver_send(driver, action, &ended)) add_event(driver, &ended);
}

static void work(kedge_driver *driver, const kedge_core_action *action)
{
    int64_t began_ms = monotonic_ms(driver);
    kedge_core_event applied = kedge_driver_work(driver, action);
    applied.applied.took_ms = monotonic_ms(driver) - began_ms;
    driver->worked_ms += applied.applied.took_ms;
    driver->position_due = true;
    plan_check(driver);
    add_event(driver, &applied);
}

static void cancel(kedge_driver *driver, kedge_request_kind kind)
{
    kedge_driver_give_up(driver, kind);
    if (kind == KEDGE_REQUEST_PUSH) kedge_driver_upload_end(driver);
}

static void open_stream(kedge_driver *driver)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_STREAM_DOWN};
    if (driver->transport.open_stream(driver->transport.context, "events", driver->token,
                                      &event.stream_down.error) != KEDGE_OK) {
        add_event(driver, &event);
    }
}

static void perform(kedge_driver *driver, const kedge_core_action *action)
{
    const kedge_driver_host *host = &driver->host;
    switch (action->kind) {
    case KEDGE_ACTION_PUSH:
    case KEDGE_ACTION_PULL_STEP:
        send(driver, action);
        break;
    case KEDGE_ACTION_CANCEL:
        cancel(driver, action->cancel.request);
        break;
    case KEDGE_ACTION_APPLY:
    case KEDGE_ACTION_ROTATE:
    case KEDGE_ACTION_UNSTAGE:
        work(driver, action);
        break;
    case KEDGE_ACTION_TIMER:
        driver->core_timer_ms = action->timer.at_ms + driver->worked_ms;
        arm(driver);
        break;
    case KEDGE_ACTION_OPEN_STREAM:
        open_stream(driver);
        break;
    case KEDGE_ACTION_CLOSE_STREAM:
        driver->transport.close_stream(driver->transport.context);
        break;
    case KEDGE_ACTION_ASK_TOKEN:
        host->ask_token(host->context, action->ask_token.doubted);
        break;
    case KEDGE_ACTION_REPORT:
        host->report(host->context, action->report.connection, &action->report.error);
        break;
    case KEDGE_ACTION_SYNCED:
        host->synced(host->context, action->synced.ok, &action->synced.error);
        break;
    }
}

/* ---- the loop ---- */

/* The core's decisions depend on the store's position, so every event that may have changed it
 * carries it. When it cannot be read, the next event tries again. */
static void add_position(kedge_driver *driver, kedge_core_event *event, kedge_error *error)
{
    kedge_store_position position;
    if (!driver->position_due) return;
    if (kedge_store_position_get(driver->store, &position, error) != KEDGE_OK) return;
    driver->position_due = false;
    event->has_position = true;
    event->position = (kedge_core_position){.version = position.version,
                                            .lowest_pending_id = position.lowest_pending,
                                            .highest_id = position.highest_id,
                                            .staging = position.staged_version != 0};
}

static void step(kedge_driver *driver, kedge_core_event *event)
{
    kedge_core_actions actions;
    kedge_error error;
    add_position(driver, event, &error);
    if (event->kind == KEDGE_EVENT_SYNC && driver->position_due) {
        /* Without the position it is not known for what to wait. */
        driver->host.synced(driver->host.context, false, &error);
        return;
    }
    event->now_ms = monotonic_ms(driver) - driver->worked_ms;
    event->random = kedge_random_u64(driver->environment);
    kedge_core_step(&driver->core, event, &actions);
    for (size_t i = 0; i < actions.count; i++)
        perform(driver, &actions.list[i]);
}

static void run(kedge_driver *driver, const kedge_core_event *event)
{
    kedge_core_event next;
    add_event(driver, event);
    if (driver->running) return;
    driver->running = true;
    while (next_event(driver, &next))
        step(driver, &next);
    driver->running = false;
}

static void run_kind(kedge_driver *driver, kedge_event_kind kind)
{
    run(driver, &(kedge_core_event){.kind = kind});
}

/* ---- events ---- */

void kedge_driver_start(kedge_driver *driver)
{
    driver->position_due = true;
    run_kind(driver, KEDGE_EVENT_START);
    plan_check(driver);
}

void kedge_driver_mutated(kedge_driver *driver)
{
    driver->position_due = true;
    run_kind(driver, KEDGE_EVENT_MUTATION);
}

/* The timer was set to whichever comes first. */
void kedge_driver_timer(kedge_driver *driver)
{
    if (driver->check_timer_ms < driver->core_timer_ms) {
        if (!check_slice(driver)) kedge_driver_mutated(driver);
        return;
    }
    driver->core_timer_ms = KEDGE_DRIVER_NEVER;
    run_kind(driver, KEDGE_EVENT_TIMER);
    arm(driver);
}

void kedge_driver_request_moved(kedge_driver *driver, uint64_t number)
{
    if (number == driver->push_number) run_kind(driver, KEDGE_EVENT_PUSH_MOVED);
    if (number == driver->pull_number) run_kind(driver, KEDGE_EVENT_PULL_STEP_MOVED);
}

/* A response to a cancelled request has another number and is dropped. */
void kedge_driver_response_arrived(kedge_driver *driver, const kedge_driver_response *response)
{
    kedge_request_kind kind;
    if (!kedge_driver_take_back(driver, response->number, &kind)) return;
    kedge_core_event event = kedge_driver_request_ended(kind);
    if (kind == KEDGE_REQUEST_PUSH && driver->upload.step != KEDGE_UPLOAD_NONE) {
        if (kedge_driver_upload_goes_on(driver, response, &event)) {
            run_kind(driver, KEDGE_EVENT_PUSH_MOVED);
            return;
        }
        kedge_driver_upload_end(driver);
    } else {
        kedge_driver_read_response(driver, kind, response, &event);
    }
    run(driver, &event);
}

void kedge_driver_stream_up(kedge_driver *driver)
{
    run_kind(driver, KEDGE_EVENT_STREAM_UP);
}

void kedge_driver_stream_down(kedge_driver *driver, const kedge_error *error,
                              int64_t retry_after_ms)
{
    run(driver,
        &(kedge_core_event){.kind = KEDGE_EVENT_STREAM_DOWN,
                            .stream_down = {.error = *error, .retry_after_ms = retry_after_ms}});
}

/* Any other event shows that the stream is alive. */
void kedge_driver_stream_event(kedge_driver *driver, kedge_bytes event, kedge_bytes data)
{
    kedge_wire_poke poke;
    kedge_core_event told = {.kind = KEDGE_EVENT_PING};
    if (kedge_wire_poke_read(driver->allocator, event, data, &poke)) {
        told = (kedge_core_event){.kind = KEDGE_EVENT_POKE, .poke = {.version = poke.version}};
    }
    run(driver, &told);
}

void kedge_driver_set_online(kedge_driver *driver, bool online)
{
    run_kind(driver, online ? KEDGE_EVENT_ONLINE : KEDGE_EVENT_OFFLINE);
}

void kedge_driver_token(kedge_driver *driver, const char *token)
{
    size_t size = token == NULL ? 0 : strlen(token);
    bool fits = token != NULL && size < sizeof driver->token_text;
    kedge_cleanse(driver->token_text, sizeof driver->token_text);
    if (fits) memcpy(driver->token_text, token, size + 1);
    driver->token = fits ? driver->token_text : NULL;
    run(driver, &(kedge_core_event){.kind = KEDGE_EVENT_TOKEN, .token = {.given = fits}});
}

void kedge_driver_sync(kedge_driver *driver)
{
    driver->position_due = true;
    run_kind(driver, KEDGE_EVENT_SYNC);
}

void kedge_driver_hurry(kedge_driver *driver)
{
    run_kind(driver, KEDGE_EVENT_HURRY);
}

bool kedge_driver_syncs(const kedge_driver *driver)
{
    return kedge_core_syncs(&driver->core);
}

void kedge_driver_shutdown(kedge_driver *driver)
{
    run_kind(driver, KEDGE_EVENT_SHUTDOWN);
}
