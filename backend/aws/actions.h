/* What a process asked of AWS: counters by action, as Prometheus text, and the set of actions.
 *
 * An action goes by its IAM name, since that is also what a policy allows: the set can be appended
 * to a file, to be compared with what a deployment permits. */
#ifndef KEDGE_BACKEND_AWS_ACTIONS_H
#define KEDGE_BACKEND_AWS_ACTIONS_H

#include "backend/aws/client.h"

#define KEDGE_AWS_ACTIONS_MAX       64  /* distinct ones; those beyond are not counted */
#define KEDGE_AWS_ACTION_ERRORS_MAX 256 /* distinct pairs of action and code */

typedef struct kedge_aws_actions kedge_aws_actions;

/* `file` NULL: none is written; it gets a line for each IAM name, some of them more than once.
 * KEDGE_IO when it cannot be opened for appending. */
kedge_status kedge_aws_actions_new(const kedge_allocator *allocator, const char *file,
                                   kedge_aws_actions **actions, kedge_error *error);
void kedge_aws_actions_free(kedge_aws_actions *actions); /* NULL is allowed */

/* The client's `observe`, with the actions as its context. */
void kedge_aws_actions_observe(void *actions, const kedge_aws_observation *observation);

/* Appends kedge_aws_calls_total, kedge_aws_retries_total, kedge_aws_seconds_total by action, and
 * kedge_aws_errors_total by action and code. Any thread. */
void kedge_aws_actions_write(kedge_aws_actions *actions, kedge_buffer *out);

#endif
