/* The driver's loop: an event goes to the core, the core's actions are carried out in order, what
 * they bring about becomes the next event, until none waits. */
#include "common/error.h"
#include "sdk/driver/driver_internal.h"
#include "wire/poke.h"

#include <string.h>

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

void kedge_driver_free(kedge_driver *driver)
{
    if (driver == NULL) return;
    kedge_driver_shutdown(driver);
    kedge_driver_held_free(&driver->held);
    kedge_driver_upload_end(driver);
    explicit_bzero(driver->token_text, sizeof driver->token_text);
    kedge_release(driver->allocator, driver);
}

/* ---- actions ---- */

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
        kedge_driver_tell(driver, &event);
    }
}

static void perform(kedge_driver *driver, const kedge_core_action *action)
{
    const kedge_driver_host *host = &driver->host;
    switch (action->kind) {
    case KEDGE_ACTION_PUSH:
    case KEDGE_ACTION_PULL_STEP:
        kedge_driver_send(driver, action);
        break;
    case KEDGE_ACTION_CANCEL:
        cancel(driver, action->cancel.request);
        break;
    case KEDGE_ACTION_APPLY:
        kedge_driver_apply(driver, action->apply.request);
        break;
    case KEDGE_ACTION_ROTATE:
        kedge_driver_rotate(driver, action->rotate.lost);
        break;
    case KEDGE_ACTION_UNSTAGE:
        kedge_driver_unstage(driver);
        break;
    case KEDGE_ACTION_TIMER:
        driver->core_timer_ms = action->timer.at_ms;
        kedge_driver_arm(driver);
        break;
    case KEDGE_ACTION_OPEN_STREAM:
        open_stream(driver);
        break;
    case KEDGE_ACTION_CLOSE_STREAM:
        driver->transport.close_stream(driver->transport.context);
        break;
    case KEDGE_ACTION_ASK_TOKEN:
        host->ask_token(host->context);
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
    const kedge_environment *environment = driver->environment;
    kedge_error error;
    add_position(driver, event, &error);
    if (event->kind == KEDGE_EVENT_SYNC && driver->position_due) {
        /* Without the position it is not known for what to wait. */
        driver->host.synced(driver->host.context, false, &error);
        return;
    }
    event->now_ms = environment->monotonic_ms(environment->context);
    event->random = kedge_random_u64(environment);
    kedge_core_step(&driver->core, event, &actions);
    for (size_t i = 0; i < actions.count; i++)
        perform(driver, &actions.list[i]);
}

static void run(kedge_driver *driver, const kedge_core_event *event)
{
    kedge_core_event next;
    kedge_driver_tell(driver, event);
    if (driver->running) return;
    driver->running = true;
    while (kedge_driver_next_event(driver, &next))
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
    kedge_driver_plan_check(driver);
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
        if (!kedge_driver_check(driver)) kedge_driver_mutated(driver);
        return;
    }
    driver->core_timer_ms = KEDGE_DRIVER_NEVER;
    run_kind(driver, KEDGE_EVENT_TIMER);
    kedge_driver_arm(driver);
}

/* A response to a cancelled request has another number and is dropped. */
void kedge_driver_response_arrived(kedge_driver *driver, const kedge_driver_response *response)
{
    kedge_request_kind kind;
    if (!kedge_driver_take_back(driver, response->number, &kind)) return;
    kedge_core_event event = kedge_driver_request_ended(kind);
    if (kind == KEDGE_REQUEST_PUSH && driver->upload.step != KEDGE_UPLOAD_NONE) {
        if (kedge_driver_upload_goes_on(driver, response, &event)) return;
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

void kedge_driver_stream_down(kedge_driver *driver, const kedge_error *error)
{
    kedge_core_event event = {.kind = KEDGE_EVENT_STREAM_DOWN};
    if (error != NULL) event.stream_down.error = *error;
    run(driver, &event);
}

/* Any other event shows that the stream is alive. */
void kedge_driver_stream_event(kedge_driver *driver, kedge_bytes event, kedge_bytes data)
{
    kedge_wire_poke poke;
    kedge_core_event told = {.kind = KEDGE_EVENT_PING};
    if (kedge_wire_poke_read(event, data, &poke)) {
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
    explicit_bzero(driver->token_text, sizeof driver->token_text);
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
