/* What the server of a log project knows of outcomes: what was decided when it was appended, and
 * what a snapshot has decided, which was made by a replay. */
#include "backend/api/decided_log.h"
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
    kedge_status status = KEDGE_OK;
    for (int reads = 0; reads < 2; reads++) {
        kedge_buffer_clear(&why->code);
        kedge_buffer_clear(&why->message);
        status = kedge_logged_rejection(snapshot, client, id, digest, &why->found, &why->code,
                                        &why->message, &call->error);
        if (!kedge_api_is_damaged_snapshot(call, status)) return status;
    }
    return kedge_api_discard_snapshot(call, snapshot);
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

/* ---- damage ---- */

bool kedge_api_is_damaged_snapshot(const kedge_api_call *call, kedge_status status)
{
    return status == KEDGE_CORRUPT && strcmp(call->error.code, KEDGE_LOG_CORRUPT) != 0;
}

bool kedge_api_report_damaged_snapshot(kedge_api_call *call, kedge_status status)
{
    if (!kedge_api_is_damaged_snapshot(call, status)) return false;
    kedge_background_failed(&call->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &call->error);
    return true;
}

kedge_status kedge_api_discard_snapshot(kedge_api_call *call, const kedge_logged_snapshot *snapshot)
{
    kedge_error failure = {0};
    kedge_status status = kedge_logged_snapshot_discard(snapshot, &failure);
    if (status == KEDGE_OK) return KEDGE_CORRUPT;
    call->error = failure;
    return status;
}

/* ---- what is decided ---- */

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

kedge_api_decided kedge_api_decided_by(kedge_api_call *call, const kedge_version *head,
                                       int64_t snapshot, int64_t passed)
{
    return (kedge_api_decided){.call = call, .head = head, .number = snapshot, .passed = passed};
}

void kedge_api_decided_close(kedge_api_decided *decided)
{
    if (decided->open) kedge_logged_snapshot_close(&decided->snapshot);
    kedge_logged_replayed_free(decided->replayed);
    decided->open = false;
    decided->replayed = NULL;
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

static kedge_status ask_snapshot(kedge_api_decided *decided,
                                 const kedge_wire_replay_mutation *mutation, reason *why)
{
    kedge_api_call *call = decided->call;
    if (decided->number < 1) return KEDGE_OK;
    kedge_status status = open_once(decided);
    if (status == KEDGE_OK)
        status = find(call, &decided->snapshot, mutation->origin_client, mutation->origin_id,
                      mutation->digest, why);
    if (!kedge_api_report_damaged_snapshot(call, status)) return status;
    decided->damage = call->error;
    decided->number = -1;
    why->found = false;
    kedge_buffer_clear(&why->code);
    kedge_buffer_clear(&why->message);
    return KEDGE_OK;
}

/* Once. Without a result it cannot be done. */
static kedge_status replay(kedge_api_decided *decided)
{
    kedge_api_call *call = decided->call;
    if (decided->tried) return KEDGE_OK;
    decided->tried = true;
    kedge_status status = kedge_logged_replay(&call->project, decided->number, decided->passed,
                                              &decided->replayed, &call->error);
    if (status == KEDGE_CORRUPT)
        kedge_background_failed(&call->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &call->error);
    /* The next request may not get further. It needs no replay after another snapshot. */
    if (status == KEDGE_UNAVAILABLE) kedge_logged_make_anew(&call->project, decided->head);
    bool cannot = status == KEDGE_UNSUPPORTED || status == KEDGE_LIMIT_EXCEEDED ||
                  status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT;
    return cannot ? KEDGE_OK : status;
}

static kedge_status ask_replay(kedge_api_decided *decided,
                               const kedge_wire_replay_mutation *mutation, reason *why)
{
    kedge_api_call *call = decided->call;
    if (decided->passed <= (decided->number < 1 ? 0 : decided->number)) return KEDGE_OK;
    kedge_status status = replay(decided);
    if (status != KEDGE_OK) return status;
    if (decided->replayed != NULL)
        return kedge_logged_replayed_rejection(decided->replayed, mutation->origin_client,
                                               mutation->origin_id, mutation->digest, &why->found,
                                               &why->code, &why->message, &call->error);
    if (decided->damage.status == KEDGE_OK) return KEDGE_OK;
    kedge_logged_make_anew(&call->project, decided->head);
    call->error = decided->damage;
    return KEDGE_CORRUPT;
}

static kedge_status reject_duplicate(kedge_wire_replay_mutation *mutation, const reason *why,
                                     kedge_arena *arena)
{
    mutation->decision = KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED;
    bool fine = kedge_arena_copy(arena, kedge_buffer_bytes(&why->code), &mutation->code) &&
                kedge_arena_copy(arena, kedge_buffer_bytes(&why->message), &mutation->message);
    return fine ? KEDGE_OK : KEDGE_NO_MEMORY;
}

kedge_status kedge_api_decide_duplicate(kedge_api_decided *decided,
                                        kedge_wire_replay_mutation *mutation, kedge_arena *arena)
{
    KEDGE_ASSERT(mutation->decision == KEDGE_WIRE_REPLAY_DUPLICATE);
    if (mutation->origin_client.size == 0) return KEDGE_OK;
    reason why = make_reason(decided->call);
    kedge_status status = ask_snapshot(decided, mutation, &why);
    if (status == KEDGE_OK && !why.found) status = ask_replay(decided, mutation, &why);
    if (status == KEDGE_OK && why.found) status = reject_duplicate(mutation, &why, arena);
    free_reason(&why);
    return status;
}
