/* The mutators of a task list, release 1 or 2 by the macro RELEASE. Release 2 gives tasks a
 * priority: tasks.add sets it, tasks.raise is new. */
#include <kedge/cjson.h>

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

/* {"id": string, "title": string}, from release 2 on with "priority": integer. An edit of release
 * 1, which may come months later, has none. */
static kedge_status add(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    const char *id = kedge_member_text(args, "id");
#if RELEASE >= 2
    if (!cJSON_HasObjectItem(args, "priority")) {
        cJSON *with = cJSON_Duplicate(args, true);
        if (with == NULL) return KEDGE_NO_MEMORY; /* never rejected: it runs again */
        kedge_status status = kedge_member_set_number(with, "priority", 0, error);
        if (status == KEDGE_OK) status = kedge_tx_put_json(tx, "tasks", id, with, error);
        cJSON_Delete(with);
        return status;
    }
#endif
    return kedge_tx_put_json(tx, "tasks", id, args, error);
}

#if RELEASE >= 2
/* {"id": string}. A task of release 1 has no priority: it counts as 0. */
static kedge_status raise_task(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *task;
    int64_t priority = 0;
    kedge_status status =
        kedge_tx_edit_json(tx, "tasks", kedge_member_text(args, "id"), &task, error);
    if (status != KEDGE_OK) return status;
    (void)kedge_member_integer(task, "priority", &priority, NULL);
    return kedge_member_set_number(task, "priority", (double)(priority + 1), error);
}
#endif

static const kedge_mutator mutators[] = {
    KEDGE_JSON_MUTATOR("tasks.add", RELEASE, add),
#if RELEASE >= 2
    KEDGE_JSON_MUTATOR("tasks.raise", 1, raise_task),
#endif
};

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    *count = sizeof mutators / sizeof mutators[0];
    return mutators;
}
