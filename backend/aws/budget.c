/* The token bucket of retries, without a lock. */
#include "backend/aws/budget.h"

#include "backend/aws/client.h"

void kedge_aws_budget_fill(kedge_aws_budget *budget)
{
    atomic_store(&budget->tokens, KEDGE_AWS_BUDGET_TOKENS);
}

bool kedge_aws_budget_take(kedge_aws_budget *budget, int tokens)
{
    int held = atomic_load(&budget->tokens);
    while (held >= tokens) {
        if (atomic_compare_exchange_weak(&budget->tokens, &held, held - tokens)) return true;
    }
    return false;
}

void kedge_aws_budget_give_back(kedge_aws_budget *budget, int tokens)
{
    int held = atomic_load(&budget->tokens);
    int filled = held;
    do {
        filled = held + tokens > KEDGE_AWS_BUDGET_TOKENS ? KEDGE_AWS_BUDGET_TOKENS : held + tokens;
    } while (!atomic_compare_exchange_weak(&budget->tokens, &held, filled));
}
