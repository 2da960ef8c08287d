/* What the server of a log project knows of outcomes: what was decided when it was appended, and
 * what a snapshot has decided, which was made by a replay. */
#include "backend/api/call.h"
#include "backend/base/background.h"
#include "backend/log/layout.h"
#include "common/assert.h"

#include <string.h>

typedef struct reason {
    bool found;
    kedge_buffer code;
    kedge_buffer message;
} reason;

static reason make_reason(const kedge_api_call *call)
{
    return (reason){.code = kedge_buffer_make(call->allocator),
                    .message = kedge_buffer_make(call->allocator)};
}

static void free_reason(reason *why)
{
    kedge_buffer_free(&why->code);
    kedge_buffer_free(&why->message);
}

static kedge_status find(kedge_api_call *call, kedge_logged_snapshot *snapshot, kedge_bytes client,
                         int64_t id, const uint8_t *digest, reason *why)
{
    kedge_buffer_clear(&why->code);
    kedge_buffer_clear(&why->message);
    return kedge_logged_rejection(snapshot, client, id, digest, &why->found, &why->code,
                                  &why->message, &call->error);
}

/* ---- outcomes ---- */

static void reject(kedge_wire_outcome *row, const reason *why)
{
    KEDGE_ASSERT(why->code.size < sizeof row->code && why->message.size < sizeof row->message);
    row->decision =
        row->decision == KEDGE_WIRE_APPLIED ? KEDGE_WIRE_REJECTED : KEDGE_WIRE_DUPLICATE_REJECTED;
    memcpy(row->code, why->code.data, why->code.size + 1);
    if (why->message.size > 0) memcpy(row->message, why->message.data, why->message.size + 1);
}

kedge_status kedge_api_tell_rejections(kedge_api_call *call, kedge_logged_snapshot *snapshot,
                                       kedge_bytes client, kedge_wire_outcomes *outcomes)
{
    kedge_status status = KEDGE_OK;
    reason why = make_reason(call);
    for (size_t i = 0; i < outcomes->count && status == KEDGE_OK; i++) {
        kedge_wire_outcome *row = &outcomes->rows[i];
        if (kedge_wire_is_rejection(row->decision) || row->version > snapshot->number) continue;
        status = find(call, snapshot, client, row->id, NULL, &why);
        if (status == KEDGE_OK && why.found) reject(row, &why);
    }
    free_reason(&why);
    return status;
}

bool kedge_api_report_damaged_snapshot(kedge_api_call *call, kedge_status status)
{
    if (status != KEDGE_CORRUPT || strcmp(call->error.code, KEDGE_LOG_CORRUPT) == 0) return false;
    kedge_background_failed(&call->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &call->error);
    return true;
}

static void drop_undecided(kedge_wire_outcomes *outcomes, int64_t snapshot)
{
    size_t kept = 0;
    for (size_t i = 0; i < outcomes->count; i++) {
        const kedge_wire_outcome *row = &outcomes->rows[i];
        if (kedge_wire_is_rejection(row->decision) || row->version <= snapshot)
            outcomes->rows[kept++] = *row;
    }
    outcomes->count = kept;
}

kedge_status kedge_api_keep_decided(kedge_api_call *call, kedge_bytes client,
                                    kedge_wire_outcomes *outcomes)
{
    kedge_logged_snapshot snapshot;
    int64_t last = -1;
    if (call->project.history == NULL || outcomes->count == 0) return KEDGE_OK;
    kedge_status status = kedge_logged_last_snapshot(&call->project, &last, &call->error);
    if (status == KEDGE_OK && last >= outcomes->rows[0].version) {
        status = kedge_logged_snapshot_open(&call->project, last, &snapshot, &call->error);
        if (status == KEDGE_OK) {
            status = kedge_api_tell_rejections(call, &snapshot, client, outcomes);
            kedge_logged_snapshot_close(&snapshot);
        }
    }
    if (kedge_api_report_damaged_snapshot(call, status)) {
        last = -1;
        status = KEDGE_OK;
    }
    if (status == KEDGE_OK) drop_undecided(outcomes, last);
    return status;
}

/* ---- duplicates ---- */

kedge_api_decided kedge_api_decided_by(kedge_api_call *call, int64_t snapshot)
{
    return (kedge_api_decided){.call = call, .number = snapshot};
}

void kedge_api_decided_close(kedge_api_decided *decided)
{
    if (decided->open) kedge_logged_snapshot_close(&decided->snapshot);
    decided->open = false;
}

static kedge_status open_once(kedge_api_decided *decided)
{
    if (decided->open) return KEDGE_OK;
    kedge_api_call *call = decided->call;
    kedge_status status = kedge_logged_snapshot_open(&call->project, decided->number,
                                                     &decided->snapshot, &call->error);
    decided->open = status == KEDGE_OK;
    return status;
}

kedge_status kedge_api_decide_duplicate(kedge_api_decided *decided,
                                        kedge_wire_replay_mutation *mutation, kedge_arena *arena)
{
    KEDGE_ASSERT(mutation->decision == KEDGE_WIRE_REPLAY_DUPLICATE);
    if (decided->number < 1 || mutation->origin_client.size == 0) return KEDGE_OK;
    kedge_status status = open_once(decided);
    if (status != KEDGE_OK) return status;
    reason why = make_reason(decided->call);
    status = find(decided->call, &decided->snapshot, mutation->origin_client, mutation->origin_id,
                  mutation->digest, &why);
    if (status == KEDGE_OK && why.found) {
        mutation->decision = KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED;
        if (!kedge_arena_copy(arena, kedge_buffer_bytes(&why.code), &mutation->code) ||
            !kedge_arena_copy(arena, kedge_buffer_bytes(&why.message), &mutation->message))
            status = KEDGE_NO_MEMORY;
    }
    free_reason(&why);
    return status;
}
