/* New client ids, and how many of them.
 *
 * A client id that can no longer be used is retired, and all pending mutations get a new one. Each
 * id costs the server a row that it keeps for ever, and the same cause may make the next id
 * unusable, too: a backend and a store that contradict each other, or a folder that is copied all
 * the time. So two rotations come at once; the third waits until a minute after the first of them,
 * and each further one twice as long after the one before, up to KEDGE_CORE_ROTATE_MAX_MS. What
 * the rounds in between have brought does not count, since pulls and pushes may go well all the
 * time; only KEDGE_CORE_ROTATE_CALM_MS without a rotation end the spell.
 *
 * A rotation waits in its first step, before the old id is retired. When a pull showed that the id
 * can no longer be used, or another lineage, nothing can be pulled before the rotation. When only
 * pushes are refused, pulls continue. */
#include "common/assert.h"
#include "common/error.h"
#include "sdk/core/core_internal.h"

/* The first rotation after a calm time begins a new spell, whose first two come at once. */
static void begin_spell(kedge_core *core)
{
    if (core->rotations == 0) return;
    if (core->now_ms - core->rotated_ms < KEDGE_CORE_ROTATE_CALM_MS) return;
    core->rotations = 0;
    core->rotate_ms = KEDGE_CORE_AT_ONCE;
}

void kedge_core_rotate(kedge_core *core, bool lost)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_IDLE || core->step == KEDGE_STEP_APPLY);
    KEDGE_ASSERT(!core->working && !core->pull.running);
    begin_spell(core);
    core->rotation_held = false;
    core->lost = lost;
    core->step = KEDGE_STEP_RETIRE;
}

void kedge_core_rotate_between_pulls(kedge_core *core)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_IDLE);
    KEDGE_ASSERT(core->identity_held && !core->push.running);
    begin_spell(core);
    core->rotation_held = true;
}

/* Counts a rotation, and sets when the next one may come: the second of a spell at once, the third
 * MIN after the first, and each further one after a wait that doubles. */
static void count(kedge_core *core)
{
    KEDGE_ASSERT(core->now_ms >= core->rotate_ms);
    KEDGE_ASSERT(core->rotations == 0 || core->spell_ms <= core->rotated_ms);
    if (core->rotations == 0) core->spell_ms = core->now_ms;
    if (core->rotations < UINT32_MAX) core->rotations++;
    core->rotated_ms = core->now_ms;
    int64_t wait = KEDGE_CORE_ROTATE_MAX_MS;
    if (core->rotations < 2) {
        core->rotate_ms = KEDGE_CORE_AT_ONCE;
    } else if (core->rotations == 2) {
        core->rotate_ms = core->spell_ms + KEDGE_CORE_ROTATE_MIN_MS;
    } else {
        if (core->rotations < 10) {
            wait = (int64_t)KEDGE_CORE_ROTATE_MIN_MS << (core->rotations - 2);
        }
        if (wait > KEDGE_CORE_ROTATE_MAX_MS) wait = KEDGE_CORE_ROTATE_MAX_MS;
        core->rotate_ms = kedge_core_after(core, wait);
    }
}

void kedge_core_rotated(kedge_core *core)
{
    KEDGE_ASSERT(core->step == KEDGE_STEP_ROTATE && !core->push.running);
    count(core);
    kedge_channel_succeed(core, &core->pull);
    kedge_channel_succeed(core, &core->push);
    core->step = KEDGE_STEP_IDLE;
    core->lost = false;
    core->rotation_held = false;
    core->identity = 0;
    core->identity_held = false;
    core->acknowledged_id = 0;
    core->held = (kedge_error){.status = KEDGE_OK};
    core->want_version = 0;
    core->sync_through_id = core->position.highest_id;
    core->pull_due = true;
}

void kedge_core_rotation_error(const kedge_core *core, kedge_error *error)
{
    kedge_fail(error, KEDGE_UNAVAILABLE, "client-id-unstable",
               "the last %u client ids of this copy could not be used any more soon after they were"
               " made; edits stay pending until the client makes another id, for which it waits up"
               " to %d minutes; another copy of the folder may be in use",
               core->rotations, KEDGE_CORE_ROTATE_MAX_MS / 60000);
}
