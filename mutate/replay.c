/* See replay.h. */
#include "mutate/replay.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/utf8.h"

#include <inttypes.h>
#include <string.h>

static void copy_clipped(kedge_bytes text, char *out, size_t size_max)
{
    text = kedge_utf8_clip(text, size_max);
    if (text.size > 0) memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

static void set_rejection(kedge_replay_decision *decision, kedge_replay_outcome outcome,
                          kedge_bytes code, kedge_bytes message)
{
    if (code.size == 0) code = KEDGE_BYTES("rejected"); /* only rejections have a code */
    decision->outcome = outcome;
    copy_clipped(code, decision->code, KEDGE_LIMIT_REJECTION_CODE_BYTES);
    copy_clipped(message, decision->message, KEDGE_LIMIT_REJECTION_MESSAGE_BYTES);
}

/* A kedge.batch with invalid args lacks no mutator: it runs, and every copy rejects it. */
static kedge_status check_mutators(const kedge_registry *registry,
                                   const kedge_replay_mutation *mutation, kedge_error *error)
{
    kedge_batch_part lack;
    if (!kedge_registry_lacks(registry, mutation->call.name, mutation->mutator, mutation->call.args,
                              &lack))
        return KEDGE_OK;
    bool known = kedge_registry_find(registry, kedge_bytes_of(lack.name)) != NULL;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "update-required",
                      "the mutator \"%s\" of version %" PRId64 " is needed; here is %s version",
                      lack.name, lack.version, known ? "an older" : "no");
}

kedge_status kedge_replay_decide(kedge_tx *tx, const kedge_registry *registry,
                                 const kedge_replay_mutation *mutation,
                                 kedge_replay_decision *decision, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_replay_decision made = {.outcome = mutation->decided};
    KEDGE_ASSERT(mutation->decided != KEDGE_REPLAY_APPLIED && mutation->mutator >= 1);
    if (mutation->decided == KEDGE_REPLAY_OPEN) {
        kedge_status status = check_mutators(registry, mutation, error);
        if (status != KEDGE_OK) return status;
        status = kedge_tx_run(tx, &mutation->call, &failure);
        if (status != KEDGE_OK && status != KEDGE_REJECTED)
            return kedge_fail(error, status, failure.code, "%s", failure.message);
        made.outcome = KEDGE_REPLAY_APPLIED;
        if (status == KEDGE_REJECTED) {
            set_rejection(&made, KEDGE_REPLAY_REJECTED, kedge_bytes_of(failure.code),
                          kedge_bytes_of(failure.message));
        }
    } else if (mutation->decided != KEDGE_REPLAY_DUPLICATE) {
        set_rejection(&made, mutation->decided, mutation->code, mutation->message);
    }
    *decision = made;
    return KEDGE_OK;
}
