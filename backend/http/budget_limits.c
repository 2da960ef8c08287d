/* See budgets.h: the names of the budgets, what they are unless the operator says otherwise, and
 * the option that does. */
#include "backend/http/budgets.h"

#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#define MIB 1048576

static const char *const names[KEDGE_BUDGETS][KEDGE_BUDGET_SCOPES] = {
    [KEDGE_BUDGET_REQUESTS] = {"user_requests_per_second", "organization_requests_per_second"},
    [KEDGE_BUDGET_BYTES] = {"user_bytes_per_second", "organization_bytes_per_second"},
    [KEDGE_BUDGET_STREAMS] = {"user_event_streams", "organization_event_streams"},
    [KEDGE_BUDGET_TICKETS] = {"user_tickets", "organization_tickets"},
    [KEDGE_BUDGET_CONNECTIONS] = {"user_connections", "organization_connections"},
    [KEDGE_BUDGET_HELD] = {"user_held_bytes", "organization_held_bytes"},
};

/* One response may have 128 MiB, which is why a user may hold as much. */
static const int64_t defaults[KEDGE_BUDGETS][KEDGE_BUDGET_SCOPES] = {
    [KEDGE_BUDGET_REQUESTS] = {1000, 5000},
    [KEDGE_BUDGET_BYTES] = {INT64_C(128) * MIB, INT64_C(512) * MIB},
    [KEDGE_BUDGET_STREAMS] = {64, 1024},
    [KEDGE_BUDGET_TICKETS] = {64, 1024},
    [KEDGE_BUDGET_CONNECTIONS] = {256, 1536},
    [KEDGE_BUDGET_HELD] = {INT64_C(144) * MIB, INT64_C(192) * MIB},
};

const char *kedge_budget_name(kedge_budget budget, kedge_budget_scope scope)
{
    return names[budget][scope];
}

kedge_budget_limits kedge_budget_limits_default(bool open)
{
    kedge_budget_limits limits = {.stranger_connections = KEDGE_BUDGET_STRANGER_CONNECTIONS};
    if (open) return limits;
    memcpy(limits.of, defaults, sizeof defaults);
    return limits;
}

static int64_t *find(kedge_budget_limits *limits, const char *name, size_t size)
{
    int64_t *found = NULL;
    for (size_t i = 0; i < (size_t)KEDGE_BUDGETS * KEDGE_BUDGET_SCOPES && !found; i++) {
        const char *each = names[i / KEDGE_BUDGET_SCOPES][i % KEDGE_BUDGET_SCOPES];
        if (strlen(each) == size && strncmp(each, name, size) == 0)
            found = &limits->of[i / KEDGE_BUDGET_SCOPES][i % KEDGE_BUDGET_SCOPES];
    }
    if (!found && size == strlen("address_connections") &&
        strncmp(name, "address_connections", size) == 0)
        found = &limits->address_connections;
    if (!found && size == strlen("stranger_connections") &&
        strncmp(name, "stranger_connections", size) == 0)
        found = &limits->stranger_connections;
    return found;
}

kedge_status kedge_budget_limits_parse(const char *text, kedge_budget_limits *limits,
                                       kedge_error *error)
{
    size_t size = strcspn(text, "=");
    int64_t *limit = text[size] == '=' ? find(limits, text, size) : NULL;
    if (!limit) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "budget-invalid",
                          "--budget takes NAME=N, and a name as GET /v1/limits has it under "
                          "budgets, not \"%s\"",
                          text);
    }
    const char *digits = text + size + 1;
    char *end = NULL;
    long long value = *digits >= '0' && *digits <= '9' ? strtoll(digits, &end, 10) : -1;
    bool least = limit == &limits->stranger_connections;
    if (value < least || value > KEDGE_BUDGET_MAX || *end != '\0') {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "budget-invalid",
                          "--budget %.*s takes a number from %d to %lld, not \"%s\"", (int)size,
                          text, least, (long long)KEDGE_BUDGET_MAX, digits);
    }
    *limit = value;
    return KEDGE_OK;
}

void kedge_budget_limits_write(const void *context, kedge_json_writer *writer)
{
    const kedge_budget_limits *limits = context;
    kedge_json_begin_object(writer);
    for (size_t budget = 0; budget < KEDGE_BUDGETS; budget++) {
        for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++) {
            kedge_json_key(writer, names[budget][scope]);
            kedge_json_integer(writer, limits->of[budget][scope]);
        }
    }
    kedge_json_key(writer, "address_connections");
    kedge_json_integer(writer, limits->address_connections);
    kedge_json_key(writer, "stranger_connections");
    kedge_json_integer(writer, limits->stranger_connections);
    kedge_json_end_object(writer);
}
