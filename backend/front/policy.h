/* The policy that an operator names: which role may call which mutators (backend/base/policy.h). */
#ifndef KEDGE_BACKEND_FRONT_POLICY_H
#define KEDGE_BACKEND_FRONT_POLICY_H

#include "backend/base/policy.h"

/* Makes `*policy` from a text when it is NULL, else gives it this text. An error's message begins
 * with `from`, the file or the variable that the text is from. `changed`: whether the policy says
 * something else than before. */
kedge_status kedge_policy_take(const kedge_allocator *allocator, const char *from, const char *text,
                               kedge_policy **policy, bool *changed, kedge_error *error);
/* The same with the text of a file. */
kedge_status kedge_policy_read(const kedge_allocator *allocator, const char *path,
                               kedge_policy **policy, bool *changed, kedge_error *error);

#endif
