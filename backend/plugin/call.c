/* One mutation on one mutator process: the server asks it to run, answers its reads from the real
 * transaction, and keeps its changes until it has sent them all. Then it puts them there, where
 * each is checked as if a mutator here had made it. So a process that ends before leaves nothing
 * behind, and another one may run the mutation. */
#include "backend/plugin/call.h"

#include "common/assert.h"
#include "common/error.h"

#include <kedge/limits.h>
#include <string.h>

_Static_assert(KEDGE_PLUGIN_CHANGES_BYTES_MAX >
                   KEDGE_LIMIT_MUTATION_BYTES +
                       KEDGE_LIMIT_MUTATION_CHANGES *
                           (KEDGE_LIMIT_NAME_BYTES + KEDGE_LIMIT_ITEM_ID_BYTES + 64),
               "all that one mutation may change has room");

static void ask_to_run(const kedge_plugin_call *call, kedge_process *process)
{
    const kedge_caller *caller = kedge_tx_caller(call->tx);
    kedge_frame_begin(&process->sent, KEDGE_FRAME_RUN);
    kedge_frame_add_integer(&process->sent, (int64_t)process->mutations);
    kedge_frame_add_text(&process->sent, call->name);
    kedge_frame_add_bytes(&process->sent, call->args);
    kedge_frame_add_text(&process->sent, caller->user);
    kedge_frame_add_text(&process->sent, caller->role);
    kedge_frame_add_text(&process->sent, caller->client);
    kedge_frame_add_integer(&process->sent, caller->now_ms);
}

/* ---- reads ---- */

static kedge_status read_state(kedge_plugin_call *call, kedge_process *process,
                               kedge_frame_type type, kedge_frame_reader *payload, kedge_error *why)
{
    kedge_bytes collection = kedge_frame_take_bytes(payload);
    bool from_start = type == KEDGE_FRAME_NEXT && kedge_frame_take_integer(payload) != 0;
    kedge_bytes id = kedge_frame_take_bytes(payload);
    if (!kedge_frame_is_complete(payload)) return KEDGE_PROTOCOL;
    kedge_state_reader state = kedge_tx_reader(call->tx);
    kedge_buffer_clear(&process->id);
    kedge_buffer_clear(&process->value);
    kedge_status status = type == KEDGE_FRAME_GET
                              ? state.get(state.context, collection, id, &process->value, why)
                              : state.next(state.context, collection, from_start, id, &process->id,
                                           &process->value, why);
    if (status == KEDGE_OK) status = kedge_buffer_status(&process->id, why);
    if (status == KEDGE_OK) status = kedge_buffer_status(&process->value, why);
    return status;
}

/* Answers a read. The time that it takes is not the child's. */
static kedge_talk serve_read(kedge_plugin_call *call, kedge_process *process,
                             kedge_process_watch *watch, kedge_frame_type type,
                             kedge_frame_reader *payload)
{
    kedge_error why = {0};
    const kedge_environment *environment = call->environment;
    int64_t started_ms = environment->monotonic_ms(environment->context);
    kedge_status status = read_state(call, process, type, payload, &why);
    if (status == KEDGE_PROTOCOL && why.status == KEDGE_OK) return KEDGE_TALK_GARBAGE;
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND && status != KEDGE_DONE) {
        why.status = status;
        kedge_tx_postpone(call->tx, &why, NULL);
        status = KEDGE_UNAVAILABLE;
    }
    kedge_frame_begin(&process->sent, KEDGE_FRAME_FOUND);
    kedge_frame_add_integer(&process->sent, status);
    kedge_bytes none = {NULL, 0};
    kedge_frame_add_bytes(&process->sent,
                          status == KEDGE_OK ? kedge_buffer_bytes(&process->id) : none);
    kedge_frame_add_bytes(&process->sent,
                          status == KEDGE_OK ? kedge_buffer_bytes(&process->value) : none);
    watch->wall_end_ms += environment->monotonic_ms(environment->context) - started_ms;
    return kedge_process_send(process, watch);
}

/* ---- changes ---- */

static bool copy_name(kedge_bytes from, char out[KEDGE_LIMIT_NAME_BYTES + 1])
{
    if (from.size > KEDGE_LIMIT_NAME_BYTES) return false;
    if (from.size > 0) memcpy(out, from.data, from.size);
    out[from.size] = '\0';
    return true;
}

typedef struct change {
    char collection[KEDGE_LIMIT_NAME_BYTES + 1]; /* "", with an empty id: the project record */
    kedge_bytes id;
    bool deleted;
    kedge_bytes value;
} change;

static bool read_change(kedge_frame_reader *payload, change *out)
{
    kedge_bytes name = kedge_frame_take_bytes(payload);
    out->id = kedge_frame_take_bytes(payload);
    out->deleted = kedge_frame_take_integer(payload) != 0;
    out->value = kedge_frame_take_bytes(payload);
    return !payload->failed && copy_name(name, out->collection);
}

/* A child's transaction has fewer and smaller changes than would fill this. */
static kedge_talk keep_change(kedge_process *process, const kedge_frame_reader *payload)
{
    change read;
    kedge_frame_reader reader = *payload;
    if (!read_change(&reader, &read) || reader.rest.size > 0 ||
        process->changes.size + payload->rest.size > KEDGE_PLUGIN_CHANGES_BYTES_MAX)
        return KEDGE_TALK_GARBAGE;
    kedge_buffer_append_bytes(&process->changes, payload->rest);
    return process->changes.no_memory ? KEDGE_TALK_NO_MEMORY : KEDGE_TALK_OK;
}

/* The child's transaction has checked all this already, so that a change that the real one refuses
 * cannot come from it. */
static kedge_status put_change(const kedge_plugin_call *call, const change *put, kedge_error *error)
{
    kedge_bytes id = put->id, value = put->value;
    if (put->collection[0] == '\0' && id.size == 0 && !put->deleted)
        return kedge_tx_put_project(call->tx, value.data, value.size, error);
    if (put->deleted) return kedge_tx_delete(call->tx, put->collection, id.data, id.size, error);
    return kedge_tx_put(call->tx, put->collection, id.data, id.size, value.data, value.size, error);
}

static kedge_status put_changes(const kedge_plugin_call *call, const kedge_process *process,
                                kedge_error *error)
{
    kedge_frame_reader changes = {.rest = kedge_buffer_bytes(&process->changes)};
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && changes.rest.size > 0) {
        change put;
        bool read = read_change(&changes, &put);
        KEDGE_ASSERT(read);
        (void)read;
        status = put_change(call, &put, error);
    }
    return status;
}

/* ---- the end ---- */

static kedge_talk take_end(const kedge_plugin_call *call, const kedge_process *process,
                           kedge_frame_reader *payload, kedge_status *status, kedge_error *error)
{
    char code[KEDGE_LIMIT_REJECTION_CODE_BYTES + 1];
    char message[KEDGE_LIMIT_REJECTION_MESSAGE_BYTES + 1];
    kedge_status ended = (kedge_status)kedge_frame_take_integer(payload);
    kedge_bytes code_bytes = kedge_frame_take_bytes(payload);
    kedge_bytes message_bytes = kedge_frame_take_bytes(payload);
    if (!kedge_frame_is_complete(payload) || code_bytes.size >= sizeof code ||
        message_bytes.size >= sizeof message) {
        return KEDGE_TALK_GARBAGE;
    }
    /* Its memory is used up: by this mutation, or by what others left behind. */
    if (ended == KEDGE_NO_MEMORY) return KEDGE_TALK_DEAD;
    if (ended != KEDGE_REJECTED) {
        /* Anything else that failed was a read, and the transaction remembers it. */
        *status = ended == KEDGE_OK ? put_changes(call, process, error) : ended;
        return KEDGE_TALK_OK;
    }
    memcpy(code, code_bytes.data, code_bytes.size);
    code[code_bytes.size] = '\0';
    memcpy(message, message_bytes.data, message_bytes.size);
    message[message_bytes.size] = '\0';
    *status = kedge_tx_reject(call->tx, code, message, error);
    return KEDGE_TALK_OK;
}

kedge_talk kedge_plugin_call_run(kedge_plugin_call *call, kedge_process *process,
                                 kedge_status *status, kedge_error *error)
{
    kedge_process_watch watch = kedge_process_start_watch(
        process, call->environment, call->options->cpu_ms_max, call->options->wall_ms_max);
    process->mutations++;
    *status = KEDGE_OK;
    kedge_buffer_clear(&process->changes);
    ask_to_run(call, process);
    kedge_talk talk = kedge_process_send(process, &watch);
    while (talk == KEDGE_TALK_OK) {
        kedge_frame_type type;
        kedge_frame_reader payload;
        talk = kedge_process_receive(process, &watch, &type, &payload);
        if (talk != KEDGE_TALK_OK) break;
        int64_t run = kedge_frame_take_integer(&payload);
        if (payload.failed || run != (int64_t)process->mutations) return KEDGE_TALK_GARBAGE;
        if (type == KEDGE_FRAME_GET || type == KEDGE_FRAME_NEXT) {
            talk = serve_read(call, process, &watch, type, &payload);
        } else if (type == KEDGE_FRAME_CHANGE) {
            talk = keep_change(process, &payload);
        } else if (type == KEDGE_FRAME_DONE) {
            return take_end(call, process, &payload, status, error);
        } else {
            talk = KEDGE_TALK_GARBAGE;
        }
    }
    return talk;
}
