/* Outcomes that the server of a log project knows. */
#ifndef KEDGE_BACKEND_API_DECIDED_LOG_H
#define KEDGE_BACKEND_API_DECIDED_LOG_H

#include "backend/api/call.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/model/version.h"
#include "wire/outcomes.h"

/* Sets a client's outcomes at or below the snapshot to those that the snapshot's replay gave. */
kedge_status kedge_api_tell_rejections(kedge_api_call *call, kedge_logged_snapshot *snapshot,
                                       kedge_bytes client, kedge_wire_outcomes *outcomes);
/* Whether a failure is damage of a snapshot, and not of the entries. */
bool kedge_api_is_damaged_snapshot(const kedge_api_call *call, kedge_status status);
/* The same; counts and logs such a failure. */
bool kedge_api_report_damaged_snapshot(kedge_api_call *call, kedge_status status);
/* Discards a snapshot of which two reads have failed with the damage in call->error. Returns
 * KEDGE_CORRUPT with that damage, or the error of the discard. */
kedge_status kedge_api_discard_snapshot(kedge_api_call *call,
                                        const kedge_logged_snapshot *snapshot);
/* On a log project drops the outcomes that neither an append nor the last snapshot has decided. A
 * damaged snapshot has decided nothing. */
kedge_status kedge_api_keep_decided(kedge_api_call *call, kedge_bytes client,
                                    kedge_wire_outcomes *outcomes);

/* Finds out whether the mutation that a duplicate repeats was rejected.
 *
 * The snapshot of the entry `number` (below 1: there is none) knows it of the entries up to its
 * own. It is opened when it is first needed. Of the entries after it, up to the entry `passed`, a
 * replay tells: the client may have passed these without a replay of its own. When neither can
 * tell, the duplicate stays as it is. A damaged snapshot is KEDGE_CORRUPT, and another one is
 * requested. */
typedef struct kedge_api_decided {
    kedge_api_call *call;
    const kedge_version *head;
    int64_t number;
    int64_t passed;
    bool open;
    kedge_logged_snapshot snapshot;
    kedge_error damage; /* of the snapshot */
    bool tried;
    kedge_logged_replayed *replayed;
} kedge_api_decided;
kedge_api_decided kedge_api_decided_by(kedge_api_call *call, const kedge_version *head,
                                       int64_t snapshot, int64_t passed);
void kedge_api_decided_close(kedge_api_decided *decided);
kedge_status kedge_api_decide_duplicate(kedge_api_decided *decided,
                                        kedge_wire_replay_mutation *mutation, kedge_arena *arena);

#endif
