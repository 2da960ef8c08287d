/* See policy.h. */
#include "backend/front/policy.h"

#include "backend/front/file.h"
#include "common/error.h"

kedge_status kedge_policy_take(const kedge_allocator *allocator, const char *from, const char *text,
                               kedge_policy **policy, bool *changed, kedge_error *error)
{
    kedge_error wrong = {0};
    *changed = true;
    kedge_status status = *policy == NULL ? kedge_policy_new(allocator, text, policy, &wrong)
                                          : kedge_policy_set(*policy, text, changed, &wrong);
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, status, wrong.code, "%.60s: %s", from, wrong.message);
}

kedge_status kedge_policy_read(const kedge_allocator *allocator, const char *path,
                               kedge_policy **policy, bool *changed, kedge_error *error)
{
    char *text = NULL;
    kedge_status status = kedge_file_read(allocator, path, &text, error);
    if (status == KEDGE_OK)
        status = kedge_policy_take(allocator, path, text, policy, changed, error);
    kedge_release(allocator, text);
    return status;
}
