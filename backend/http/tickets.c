/* See tickets.h: a table, so that memory is fixed whatever is asked. */
#include "backend/http/tickets.h"

#include "common/hash.h"

#include <pthread.h>
#include <string.h>

typedef struct kedge_ticket {
    char text[KEDGE_TICKET_SIZE]; /* "" when free */
    char scope[KEDGE_SHA256_HEX];
    int64_t until_ms; /* of the ticket, monotonic */
    kedge_ticket_grant grant;
} kedge_ticket;

struct kedge_tickets {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    kedge_ticket rows[KEDGE_TICKETS_MAX];
};

kedge_tickets *kedge_tickets_new(const kedge_environment *environment)
{
    kedge_tickets *tickets = kedge_allocate(environment->allocator, sizeof *tickets);
    if (!tickets) return NULL;
    tickets->environment = environment;
    pthread_mutex_init(&tickets->mutex, NULL);
    return tickets;
}

void kedge_tickets_free(kedge_tickets *tickets)
{
    if (!tickets) return;
    pthread_mutex_destroy(&tickets->mutex);
    kedge_release(tickets->environment->allocator, tickets);
}

/* What an owner has, and when the first of it is free again. */
typedef struct count {
    int64_t tickets;
    int64_t until_ms;
} count;

/* Counts what the owner has in each scope, and returns a row that is free; NULL: there is none, and
 * `first_ms` is when there will be one. */
static kedge_ticket *look_through(kedge_tickets *tickets, const kedge_budget_owner *owner,
                                  int64_t now_ms, count has[KEDGE_BUDGET_SCOPES], int64_t *first_ms)
{
    kedge_ticket *free_row = NULL;
    *first_ms = INT64_MAX;
    for (size_t i = 0; i < KEDGE_TICKETS_MAX; i++) {
        kedge_ticket *row = &tickets->rows[i];
        if (row->text[0] == '\0' || now_ms >= row->until_ms) {
            free_row = row;
            continue;
        }
        if (row->until_ms < *first_ms) *first_ms = row->until_ms;
        for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++) {
            if (memcmp(row->grant.owner.of[scope], owner->of[scope], KEDGE_BUDGET_KEY_SIZE) != 0)
                continue;
            has[scope].tickets++;
            if (row->until_ms < has[scope].until_ms) has[scope].until_ms = row->until_ms;
        }
    }
    return free_row;
}

/* With the mutex held: a free row for the owner's next ticket, or NULL and why not. */
static kedge_ticket *find_room(kedge_tickets *tickets, const kedge_budget_limits *limits,
                               const kedge_budget_owner *owner, int64_t now_ms,
                               kedge_budget_refusal *refusal)
{
    count has[KEDGE_BUDGET_SCOPES] = {{0, INT64_MAX}, {0, INT64_MAX}};
    int64_t until_ms;
    kedge_ticket *row = look_through(tickets, owner, now_ms, has, &until_ms);
    refusal->name = NULL;
    refusal->limit = KEDGE_TICKETS_MAX;
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES && !refusal->name; scope++) {
        int64_t limit = limits->of[KEDGE_BUDGET_TICKETS][scope];
        if (limit == 0 || has[scope].tickets < limit) continue;
        refusal->name = kedge_budget_name(KEDGE_BUDGET_TICKETS, (kedge_budget_scope)scope);
        refusal->limit = limit;
        refusal->scope = (kedge_budget_scope)scope;
        until_ms = has[scope].until_ms;
    }
    if (row && !refusal->name) return row;
    refusal->retry_after_s = (int32_t)((until_ms - now_ms + 999) / 1000);
    return NULL;
}

bool kedge_tickets_issue(kedge_tickets *tickets, const kedge_budget_limits *limits,
                         kedge_bytes scope, const kedge_ticket_grant *grant,
                         char ticket[KEDGE_TICKET_SIZE], kedge_budget_refusal *refusal)
{
    const kedge_environment *environment = tickets->environment;
    kedge_random_hex(environment, (KEDGE_TICKET_SIZE - 1) / 2, ticket);
    pthread_mutex_lock(&tickets->mutex);
    int64_t now_ms = environment->monotonic_ms(environment->context);
    kedge_ticket *row = find_room(tickets, limits, &grant->owner, now_ms, refusal);
    if (row) {
        memcpy(row->text, ticket, KEDGE_TICKET_SIZE);
        kedge_sha256_hex(scope, row->scope);
        row->grant = *grant;
        row->until_ms = now_ms + KEDGE_TICKET_LIFE_MS;
    }
    pthread_mutex_unlock(&tickets->mutex);
    return row != NULL;
}

void kedge_tickets_clear(kedge_tickets *tickets)
{
    pthread_mutex_lock(&tickets->mutex);
    memset(tickets->rows, 0, sizeof tickets->rows);
    pthread_mutex_unlock(&tickets->mutex);
}

bool kedge_tickets_redeem(kedge_tickets *tickets, kedge_bytes scope, kedge_bytes ticket,
                          kedge_ticket_grant *grant)
{
    const kedge_environment *environment = tickets->environment;
    char wanted[KEDGE_SHA256_HEX];
    kedge_sha256_hex(scope, wanted);
    bool found = false;
    pthread_mutex_lock(&tickets->mutex);
    int64_t now = environment->monotonic_ms(environment->context);
    for (size_t i = 0; i < KEDGE_TICKETS_MAX && !found && ticket.size; i++) {
        kedge_ticket *row = &tickets->rows[i];
        if (!kedge_bytes_equal_text(ticket, row->text)) continue;
        found = now < row->until_ms && strcmp(row->scope, wanted) == 0;
        if (found) *grant = row->grant;
        row->text[0] = '\0';
        break;
    }
    pthread_mutex_unlock(&tickets->mutex);
    return found;
}
