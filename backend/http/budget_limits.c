/* See budgets.h: the names of the budgets, what they are unless the operator says otherwise, and
 * the option that does. */
#include "backend/http/budgets.h"

#include "backend/base/options.h"
#include "common/error.h"

#include <stddef.h>
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
    limits.projects = KEDGE_BUDGET_PROJECTS;
    limits.stored_bytes = KEDGE_BUDGET_STORED_BYTES;
    return limits;
}

/* Those of one scope only. */
typedef struct single {
    const char *name;
    size_t at; /* in the limits */
    int64_t least;
} single;

static const single singles[] = {
    {"address_connections", offsetof(kedge_budget_limits, address_connections), 0},
    {"stranger_connections", offsetof(kedge_budget_limits, stranger_connections), 1},
    {KEDGE_USAGE_PROJECTS, offsetof(kedge_budget_limits, projects), 0},
    {KEDGE_USAGE_STORED, offsetof(kedge_budget_limits, stored_bytes), 0},
};
#define SINGLES (sizeof singles / sizeof singles[0])

static bool is_named(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && strncmp(name, text, size) == 0;
}

static int64_t *find(kedge_budget_limits *limits, const char *name, size_t size, int64_t *least)
{
    *least = 0;
    for (size_t i = 0; i < (size_t)KEDGE_BUDGETS * KEDGE_BUDGET_SCOPES; i++) {
        size_t budget = i / KEDGE_BUDGET_SCOPES;
        size_t scope = i % KEDGE_BUDGET_SCOPES;
        if (is_named(names[budget][scope], name, size)) return &limits->of[budget][scope];
    }
    for (size_t i = 0; i < SINGLES; i++) {
        if (!is_named(singles[i].name, name, size)) continue;
        *least = singles[i].least;
        return (int64_t *)(void *)((char *)limits + singles[i].at);
    }
    return NULL;
}

kedge_status kedge_budget_limits_parse(const char *text, kedge_budget_limits *limits,
                                       kedge_error *error)
{
    size_t size = strcspn(text, "=");
    int64_t least;
    int64_t *limit = text[size] == '=' ? find(limits, text, size, &least) : NULL;
    if (!limit) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "budget-invalid",
                          "--budget takes NAME=N, and a name as GET /v1/limits has it under "
                          "budgets, not \"%s\"",
                          text);
    }
    const char *digits = text + size + 1;
    char *end = NULL;
    long long value = *digits >= '0' && *digits <= '9' ? strtoll(digits, &end, 10) : -1;
    if (value < least || value > KEDGE_BUDGET_MAX || *end != '\0') {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "budget-invalid",
                          "--budget %.*s takes a number from %lld to %lld, not \"%s\"", (int)size,
                          text, (long long)least, (long long)KEDGE_BUDGET_MAX, digits);
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
    for (size_t i = 0; i < SINGLES; i++) {
        const void *limit = (const char *)limits + singles[i].at;
        kedge_json_key(writer, singles[i].name);
        kedge_json_integer(writer, *(const int64_t *)limit);
    }
    kedge_json_end_object(writer);
}
