/* kedge_history on the worker: sends the call, with the token that the sync uses, asks for another
 * one after a 401, and reshapes the response. */
#include "sdk/runtime/history.h"

#include "common/error.h"
#include "common/json.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/worker.h"

#include <inttypes.h>
#include <stdio.h>

#define RESPONSE_BYTES_MAX 67108864

typedef char member_name[10];

static kedge_status no_list(kedge_status cause, kedge_error *error)
{
    if (cause == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the server's response is no list of versions");
}

/* Copies the members of `object` that `names` lists, up to an empty one, in canonical form. Each
 * is checked by itself: what is around it may make the response deeper than a value may be. */
static kedge_status copy_members(kedge_json_writer *writer, kedge_bytes object,
                                 const member_name *names)
{
    kedge_bytes value;
    kedge_status status = KEDGE_OK;
    for (; **names != '\0' && status == KEDGE_OK; names++) {
        if (!kedge_json_member(object, *names, &value)) continue;
        kedge_json_key(writer, *names);
        kedge_json_raw(writer, KEDGE_BYTES("")); /* what the buffer gets next is the value */
        status = kedge_json_normalize(value, KEDGE_LIMIT_JSON_DEPTH, writer->buffer, NULL);
    }
    return status;
}

static bool is_whole(kedge_bytes object)
{
    kedge_bytes key, value;
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value)) {
    }
    return kedge_json_type_of(object) == KEDGE_JSON_OBJECT && !members.failed;
}

typedef kedge_status (*copy_function)(kedge_json_writer *writer, kedge_bytes object);

/* An array of objects. */
static kedge_status copy_all(kedge_json_writer *writer, kedge_bytes array, copy_function copy)
{
    kedge_bytes object;
    kedge_status status = KEDGE_OK;
    kedge_json_iterator iterator = kedge_json_iterate(array);
    kedge_json_begin_array(writer);
    while (status == KEDGE_OK && kedge_json_next_element(&iterator, &object)) {
        if (!is_whole(object)) return KEDGE_INVALID_JSON;
        kedge_json_begin_object(writer);
        status = copy(writer, object);
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
    return iterator.failed ? KEDGE_INVALID_JSON : status;
}

static kedge_status copy_mutation(kedge_json_writer *writer, kedge_bytes mutation)
{
    static const member_name names[] = {"args", "client",  "code",      "id",   "message",
                                        "name", "outcome", "timestamp", "user", ""};
    return copy_members(writer, mutation, names);
}

static kedge_status copy_version(kedge_json_writer *writer, kedge_bytes version)
{
    static const member_name before[] = {"created", ""}, after[] = {"version", ""};
    kedge_bytes mutations = KEDGE_BYTES("[]");
    kedge_json_member(version, "mutations", &mutations);
    kedge_status status = copy_members(writer, version, before);
    kedge_json_key(writer, "mutations");
    if (status == KEDGE_OK) status = copy_all(writer, mutations, copy_mutation);
    return status == KEDGE_OK ? copy_members(writer, version, after) : status;
}

kedge_status kedge_history_reshape(kedge_bytes body, kedge_buffer *versions, kedge_error *error)
{
    kedge_bytes key, value, list = {NULL, 0};
    size_t size_before = versions->size;
    kedge_json_writer writer = kedge_json_write(versions);
    kedge_json_iterator members = kedge_json_iterate(body);
    while (kedge_json_next_member(&members, &key, &value))
        if (kedge_json_text_equals(key, "versions")) list = value;
    kedge_status status =
        members.failed ? KEDGE_INVALID_JSON : copy_all(&writer, list, copy_version);
    if (status == KEDGE_OK) return kedge_buffer_status(versions, error);
    kedge_buffer_truncate(versions, size_before);
    return no_list(status, error);
}

void kedge_history_free(kedge_history_call *call)
{
    kedge_buffer_free(&call->versions);
    kedge_release(call->db->environment.allocator, call);
}

bool kedge_history_unlink(kedge_history_call **list, const kedge_history_call *call)
{
    while (*list != NULL && *list != call)
        list = &(*list)->next;
    if (*list == NULL) return false;
    *list = call->next;
    return true;
}

static void send_call(kedge_db *db, kedge_history_call *call);

/* Hands the call back to the thread that waits; it may be gone right after. */
static void end_call(kedge_db *db, kedge_history_call *call, kedge_status status)
{
    (void)kedge_history_unlink(&db->worker.history, call);
    pthread_mutex_lock(&db->lock);
    call->status = status;
    call->over = true;
    if (call->given_up) kedge_history_free(call);
    db->shared.generation++;
    pthread_cond_broadcast(&db->moved);
    pthread_mutex_unlock(&db->lock);
}

static void answered(void *context, const kedge_http_response *response)
{
    kedge_history_call *call = context;
    kedge_db *db = call->db;
    call->http_call = NULL;
    if (response->status == 0) {
        call->error = response->error;
        end_call(db, call, response->error.status);
    } else if (response->status == 200) {
        end_call(db, call, kedge_history_reshape(response->body, &call->versions, &call->error));
    } else if (kedge_net_problem(db->environment.allocator, response->status,
                                 response->content_type, response->body, &call->error) &&
               response->status == 401 && !call->token_renewed && db->token.function != NULL) {
        call->token_renewed = true;
        /* Unless it was renewed while this call was under way. */
        if (call->token_gifts == db->token.gifts) kedge_token_forget(&db->token);
        send_call(db, call);
    } else {
        end_call(db, call, call->error.status);
    }
}

static int64_t time_left_ms(kedge_db *db, const kedge_history_call *call)
{
    int64_t left = KEDGE_LIMIT_REQUEST_DEADLINE_MS;
    if (call->deadline_ms == 0) return left;
    int64_t given = call->deadline_ms - kedge_db_now_ms(db);
    if (given < 1) return 1;
    return given < left ? given : left;
}

static void send_call(kedge_db *db, kedge_history_call *call)
{
    char path[96];
    kedge_status status = KEDGE_OK;
    if (db->token.function != NULL && !db->token.known) {
        status = kedge_token_ask(&db->token, &call->error);
        if (status == KEDGE_OK) {
            db->worker.token_asked = false; /* what the driver wanted is there */
            kedge_driver_token(db->driver, kedge_token_text(&db->token));
        }
    }
    call->token_gifts = db->token.gifts;
    if (call->before > 0) {
        snprintf(path, sizeof path, "versions?before=%" PRId64 "&limit=%" PRId32, call->before,
                 call->limit);
    } else {
        snprintf(path, sizeof path, "versions?limit=%" PRId32, call->limit);
    }
    if (status == KEDGE_OK) {
        status = kedge_net_ask(db->net, "GET", path, kedge_token_text(&db->token),
                               time_left_ms(db, call), call->deadline_ms == 0, RESPONSE_BYTES_MAX,
                               answered, call, &call->http_call, &call->error);
    }
    if (status != KEDGE_OK) end_call(db, call, status);
}

static void end_calls(kedge_db *db, bool closing)
{
    while (db->worker.history != NULL) {
        kedge_history_call *call = db->worker.history;
        if (call->http_call != NULL) kedge_http_cancel(call->http_call);
        end_call(db, call,
                 closing ? kedge_fail_closing(&call->error) : kedge_fail_offline(db, &call->error));
    }
}

void kedge_worker_history(kedge_db *db, kedge_history_call *new_calls, bool online)
{
    while (new_calls != NULL) {
        kedge_history_call *call = new_calls;
        new_calls = call->next;
        call->next = db->worker.history;
        db->worker.history = call;
        if (online) send_call(db, call);
    }
    if (!online) end_calls(db, false);
}

void kedge_worker_history_cancel(kedge_db *db)
{
    pthread_mutex_lock(&db->lock);
    kedge_history_call **last = &db->worker.history;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = db->shared.history;
    db->shared.history = NULL;
    pthread_mutex_unlock(&db->lock);
    end_calls(db, true);
}
