/* Which mutators a role may call: a list that an operator keeps, as JSON.
 *
 *   {"roles": {"editor": ["notes.*", "kedge.put"], "owner": ["*"]}, "default": []}
 *
 * `default` is for all roles that are not named, and for tokens without one. A name that ends in
 * '*' stands for all names that begin with what is before it. A batch may be pushed when each of
 * its parts may. kedge.noop, which takes the place of a cancelled mutation, may always be pushed.
 *
 * The processor asks when it decides a mutation. A mutation that is refused is rejected in a
 * version, which a later policy does not change. */
#ifndef KEDGE_BACKEND_BASE_POLICY_H
#define KEDGE_BACKEND_BASE_POLICY_H

#include "common/bytes.h"

#include <kedge/limits.h>

#define KEDGE_POLICY_ROLES_MAX    256
#define KEDGE_POLICY_NAMES_MAX    256 /* of a role */
#define KEDGE_POLICY_MESSAGE_SIZE (KEDGE_LIMIT_REJECTION_MESSAGE_BYTES + 1)
#define KEDGE_POLICY_REJECTION    "mutator-not-allowed" /* the code of what it refuses */

typedef struct kedge_policy kedge_policy;

/* KEDGE_INVALID_ARGUMENT "policy-invalid" names the member that is wrong, and what is allowed. */
kedge_status kedge_policy_new(const kedge_allocator *allocator, const char *text,
                              kedge_policy **policy, kedge_error *error);
/* Replaces the policy by this text. `changed` tells whether it says something else than before.
 * After an error the policy is as it was. Any thread. */
kedge_status kedge_policy_set(kedge_policy *policy, const char *text, bool *changed,
                              kedge_error *error);
void kedge_policy_free(kedge_policy *policy); /* NULL is allowed */

/* Whether the role may not push the mutation; `message` then names the mutator, the role, and what
 * it may call. `args` are canonical. A NULL policy refuses nothing. Any thread. */
bool kedge_policy_refuses(kedge_policy *policy, const char *role, kedge_bytes name,
                          kedge_bytes args, char message[KEDGE_POLICY_MESSAGE_SIZE]);

#endif
