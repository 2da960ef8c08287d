/* The list of actions that a step returns. */
#include "common/assert.h"
#include "sdk/core/core_internal.h"

kedge_core_action *kedge_core_act(kedge_core_actions *actions, kedge_action_kind kind)
{
    KEDGE_ASSERT(actions->count < KEDGE_CORE_ACTIONS_MAX);
    kedge_core_action *action = &actions->list[actions->count++];
    *action = (kedge_core_action){.kind = kind};
    return action;
}
