/* The retry budget: a bucket of tokens that all calls of a client share. */
#ifndef KEDGE_BACKEND_AWS_BUDGET_H
#define KEDGE_BACKEND_AWS_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>

#define KEDGE_AWS_RETRY_TOKENS           5
#define KEDGE_AWS_THROTTLED_RETRY_TOKENS 10
#define KEDGE_AWS_SUCCESS_TOKENS         1 /* given back by a call that succeeds at once */

typedef struct kedge_aws_budget {
    atomic_int tokens;
} kedge_aws_budget;

void kedge_aws_budget_fill(kedge_aws_budget *budget);
/* False when there are fewer: then none is taken. Any thread. */
bool kedge_aws_budget_take(kedge_aws_budget *budget, int tokens);
void kedge_aws_budget_give_back(kedge_aws_budget *budget, int tokens);

#endif
