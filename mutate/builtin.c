/* The table of the built-in mutators, and the one that does nothing. */
#include "mutate/builtin.h"

#include "mutate/apply.h"
#include "mutate/batch.h"
#include "mutate/builtin_args.h"

/* A mutation that was cancelled before it was sent becomes this one, so that ids never shift. It
 * looks at no args. */
static kedge_status noop(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    return KEDGE_OK;
}

const kedge_mutator kedge_builtin_mutators[] = {
    {"kedge.put", 1, kedge_builtin_put, NULL},
    {"kedge.merge", 1, kedge_builtin_merge, NULL},
    {"kedge.patch", 1, kedge_builtin_patch, NULL},
    {"kedge.increment", 1, kedge_builtin_increment, NULL},
    {"kedge.text", 1, kedge_builtin_text, NULL},
    {"kedge.restore", 1, kedge_builtin_restore, NULL},
    {"kedge.delete", 1, kedge_builtin_delete, NULL},
    {"kedge.project", 1, kedge_builtin_project, NULL},
    {KEDGE_APPLY_MUTATOR, 1, kedge_builtin_apply, NULL},
    {KEDGE_BATCH_MUTATOR, 1, kedge_builtin_batch, NULL},
    {"kedge.noop", 1, noop, NULL},
};
const size_t kedge_builtin_mutator_count =
    sizeof kedge_builtin_mutators / sizeof kedge_builtin_mutators[0];
