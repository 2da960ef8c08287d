/* Responses: finds the class of each for the core, and decodes it for the store.
 *
 * A 200 that is not exactly what the wire says comes from somebody else (a captive portal, a proxy)
 * and is tried again. So is a refusal without a problem document. Only a refusal in Kedge's own
 * words stops a client. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/driver/driver_internal.h"
#include "sdk/net/net.h"
#include "wire/push.h"
#include "wire/replicache.h"

#include <string.h>

/* ---- the event ---- */

kedge_core_event kedge_driver_request_ended(kedge_request_kind request)
{
    if (request == KEDGE_REQUEST_PUSH) return (kedge_core_event){.kind = KEDGE_EVENT_PUSH_ENDED};
    return (kedge_core_event){.kind = KEDGE_EVENT_PULL_STEP_ENDED,
                              .pull_step_ended = {.request = request}};
}

kedge_request_result *kedge_driver_result(kedge_core_event *event)
{
    KEDGE_ASSERT(event->kind == KEDGE_EVENT_PUSH_ENDED ||
                 event->kind == KEDGE_EVENT_PULL_STEP_ENDED);
    return event->kind == KEDGE_EVENT_PUSH_ENDED ? &event->push_ended.result
                                                 : &event->pull_step_ended.result;
}

/* ---- refusals ---- */

static bool is_one_of(const char *code, const char *const *codes)
{
    while (*codes != NULL) {
        if (strcmp(code, *codes++) == 0) return true;
    }
    return false;
}

static kedge_response_class class_by_code(kedge_request_kind kind, const char *code)
{
    static const char *const identity[] = {"client-retired", "mutation-mismatch", "client-unknown",
                                           NULL};
    static const char *const gone[] = {"version-gone", "version-not-found", "version-not-retained",
                                       "body-not-found", NULL};
    if (is_one_of(code, identity)) return KEDGE_RESPONSE_IDENTITY;
    if (is_one_of(code, gone)) return KEDGE_RESPONSE_GONE;
    if (strcmp(code, "mutation-gap") == 0) return KEDGE_RESPONSE_GAP;
    if (strcmp(code, "project-not-found") == 0) return KEDGE_RESPONSE_LATER;
    if (strcmp(code, "server-too-old") == 0 && kind == KEDGE_REQUEST_PUSH)
        return KEDGE_RESPONSE_HELD;
    if (strcmp(code, "push-too-large") == 0 || strcmp(code, "push-unfinished") == 0)
        return KEDGE_RESPONSE_SHORTER;
    if (strcmp(code, "client-not-found") == 0) return KEDGE_RESPONSE_FOREIGN;
    return KEDGE_RESPONSE_REFUSED;
}

static kedge_response_class refusal_class(kedge_request_kind kind, int status, const char *code)
{
    kedge_response_class by_code = class_by_code(kind, code);
    if (by_code != KEDGE_RESPONSE_REFUSED) return by_code;
    bool kedge = strcmp(code, "unexpected-status") != 0;
    if (status == 401) return kedge ? KEDGE_RESPONSE_UNAUTHORIZED : KEDGE_RESPONSE_DOUBTED;
    if (status == 413 && kind == KEDGE_REQUEST_PUSH) return KEDGE_RESPONSE_SHORTER;
    if (!kedge && status >= 500) return KEDGE_RESPONSE_NETWORK; /* a gateway's */
    bool refused = status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
    return kedge && refused ? KEDGE_RESPONSE_REFUSED : KEDGE_RESPONSE_TRANSIENT;
}

/* The server says nothing about a client of another user, and there is no other reason for this
 * refusal: a client that it does not know begins with its first push, or can be retired. A client
 * names its group as itself, so the group is never the reason. */
static void name_user(kedge_error *error)
{
    kedge_fail(error, KEDGE_FORBIDDEN, "other-user", "the folder was synced as another user");
}

/* ---- what a 200 says, and a response about a part ---- */

/* Begins what is held of a pull or a page: a copy of its body, from which it borrows. */
static kedge_status hold(kedge_driver_held *held, kedge_request_kind source, kedge_buffer *copy,
                         kedge_bytes body, kedge_error *error)
{
    held->source = source;
    held->next_body = 0;
    held->damage = (kedge_driver_damage){.count = 0};
    kedge_buffer_clear(copy);
    kedge_buffer_append_bytes(copy, body);
    return kedge_buffer_status(copy, error);
}

static kedge_status read_push(kedge_driver *driver, kedge_bytes body, kedge_core_event *event)
{
    kedge_wire_push_response response;
    kedge_status status = kedge_wire_push_response_read(driver->allocator, body, &response,
                                                        &event->push_ended.result.error);
    event->push_ended.version = response.version;
    event->push_ended.queued = response.queued;
    return status;
}

static kedge_status read_pull(kedge_driver *driver, kedge_bytes body, kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    kedge_driver_held_free_pull(held);
    kedge_status status = hold(held, KEDGE_REQUEST_PULL, &held->pull_body, body, error);
    if (status == KEDGE_OK)
        status = kedge_wire_pull_response_read(
            driver->allocator, kedge_buffer_bytes(&held->pull_body), &held->pull, error);
    if (status == KEDGE_OK) {
        kedge_driver_bound_pull(&held->pull);
        /* A snapshot's pages tell theirs. */
        if (!held->pull.snapshot) kedge_driver_damage_add_told(&held->damage, &held->pull.damaged);
    }
    held->pull_there = status == KEDGE_OK;
    if (status != KEDGE_OK) kedge_driver_held_free_pull(held);
    return status;
}

static kedge_status read_page(kedge_driver *driver, kedge_bytes body, kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    kedge_driver_held_free_page(held);
    kedge_status status = hold(held, KEDGE_REQUEST_PAGE, &held->page_body, body, error);
    if (status == KEDGE_OK)
        status = kedge_wire_page_response_read(
            driver->allocator, kedge_buffer_bytes(&held->page_body), &held->page, error);
    if (status == KEDGE_OK) status = kedge_driver_bound_page(&held->page, error);
    if (status == KEDGE_OK) kedge_driver_damage_add_told(&held->damage, &held->page.damaged);
    held->page_there = status == KEDGE_OK;
    if (status != KEDGE_OK) kedge_driver_held_free_page(held);
    return status;
}

static kedge_status read_retire(kedge_driver *driver, kedge_bytes body, kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    kedge_driver_held_free_retire(held);
    held->source = KEDGE_REQUEST_RETIRE;
    kedge_status status =
        kedge_wire_retire_response_read(driver->allocator, body, &held->retire, error);
    held->retire_there = status == KEDGE_OK;
    if (status != KEDGE_OK) kedge_driver_held_free_retire(held);
    return status;
}

/* A response that brings nothing although more was promised would be asked for again and again. */
static kedge_status read_outcomes(kedge_driver *driver, kedge_bytes body, kedge_error *error)
{
    kedge_wire_outcomes *outcomes = kedge_driver_held_outcomes(&driver->held);
    if (outcomes == NULL) return kedge_fail(error, KEDGE_INTERNAL, "not-asked", "nothing is held");
    size_t count = outcomes->count;
    int64_t next = outcomes->next;
    kedge_status status = kedge_wire_outcomes_response_read(body, outcomes, error);
    if (status == KEDGE_OK && outcomes->count == count && outcomes->next != 0) {
        outcomes->next = next;
        status = kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                            "a list of outcomes is empty and yet not the last");
    }
    return status;
}

static kedge_status read_by_kind(kedge_driver *driver, kedge_request_kind kind,
                                 const kedge_driver_response *response, kedge_core_event *event)
{
    kedge_bytes body = response->body;
    kedge_error *error = &kedge_driver_result(event)->error;
    switch (kind) {
    case KEDGE_REQUEST_PUSH:
        return read_push(driver, body, event);
    case KEDGE_REQUEST_PULL:
        return read_pull(driver, body, error);
    case KEDGE_REQUEST_PAGE:
        return read_page(driver, body, error);
    case KEDGE_REQUEST_OUTCOMES:
        return read_outcomes(driver, body, error);
    case KEDGE_REQUEST_BODY:
        return kedge_driver_read_body(driver, response, error);
    case KEDGE_REQUEST_RETIRE:
        return read_retire(driver, body, error);
    }
    return KEDGE_INTERNAL;
}

static void tell_what_is_lacking(kedge_driver *driver, kedge_core_event *event)
{
    kedge_wire_outcomes *outcomes = kedge_driver_held_outcomes(&driver->held);
    if (outcomes != NULL && outcomes->next != 0) kedge_driver_bound_outcomes(driver, outcomes);
    event->pull_step_ended.more_outcomes = outcomes != NULL && outcomes->next != 0;
    if (!event->pull_step_ended.more_outcomes && driver->held.parts.size == 0)
        kedge_driver_take_shown_bodies(driver);
    event->pull_step_ended.more_bodies = kedge_driver_held_next_body(&driver->held) != NULL;
}

static void read_ok(kedge_driver *driver, kedge_request_kind kind,
                    const kedge_driver_response *response, kedge_core_event *event)
{
    kedge_request_result *result = kedge_driver_result(event);
    result->response = KEDGE_RESPONSE_TRANSIENT;
    if (read_by_kind(driver, kind, response, event) != KEDGE_OK) {
        /* The server does not support this client's protocol version. */
        if (response->status != 200 ||
            !kedge_wire_version_not_supported_read(driver->allocator, response->body)) {
            return;
        }
        result->response = KEDGE_RESPONSE_REFUSED;
        kedge_fail(&result->error, KEDGE_UNSUPPORTED, "version-not-supported",
                   "the server does not speak this version of the protocol");
        return;
    }
    result->response = KEDGE_RESPONSE_OK;
    if (kind == KEDGE_REQUEST_PUSH) {
        event->push_ended.last_id = driver->push_last_id;
        return;
    }
    tell_what_is_lacking(driver, event);
}

/* The server no longer has this body, though a version that it keeps has the item. Another request
 * would fail, too. */
static bool is_lost_body(kedge_request_kind kind, const char *code)
{
    static const char *const lost[] = {"item-body-missing", "item-body-damaged", NULL};
    return kind == KEDGE_REQUEST_BODY && is_one_of(code, lost);
}

static void read_lost_body(kedge_driver *driver, kedge_core_event *event)
{
    kedge_request_result *result = kedge_driver_result(event);
    result->response = KEDGE_RESPONSE_TRANSIENT;
    if (kedge_driver_leave_body_out(driver, &result->error) != KEDGE_OK) return;
    result->error = (kedge_error){.status = KEDGE_OK};
    result->response = KEDGE_RESPONSE_OK;
    tell_what_is_lacking(driver, event);
}

void kedge_driver_read_response(kedge_driver *driver, kedge_request_kind kind,
                                const kedge_driver_response *response, kedge_core_event *event)
{
    bool part = kind == KEDGE_REQUEST_BODY && (response->status == 206 || response->status == 416);
    kedge_request_result *result = kedge_driver_result(event);
    result->retry_after_ms = response->retry_after_ms;
    if (kind == KEDGE_REQUEST_PUSH) event->push_ended.count = driver->push_held;
    if (response->status == 0) {
        result->response = KEDGE_RESPONSE_NETWORK;
        result->error = response->error;
    } else if (response->status == 200 || part) {
        read_ok(driver, kind, response, event);
    } else {
        kedge_net_problem(driver->allocator, response->status, response->content_type,
                          response->body, &result->error);
        result->response = refusal_class(kind, response->status, result->error.code);
        if (result->response == KEDGE_RESPONSE_FOREIGN) name_user(&result->error);
        if (is_lost_body(kind, result->error.code)) read_lost_body(driver, event);
    }
}
