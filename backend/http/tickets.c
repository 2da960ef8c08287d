/* See tickets.h: a ring, so that memory is fixed whatever is asked. */
#include "backend/http/tickets.h"

#include "common/hash.h"

#include <pthread.h>
#include <string.h>

typedef struct kedge_ticket {
    char text[KEDGE_TICKET_SIZE]; /* "" when free */
    char scope[KEDGE_SHA256_HEX];
    int64_t until_ms;   /* of the ticket, monotonic */
    int64_t expires_ms; /* of the token, wall clock */
} kedge_ticket;

struct kedge_tickets {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    kedge_ticket ring[KEDGE_TICKETS_MAX];
    size_t next;
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

void kedge_tickets_issue(kedge_tickets *tickets, kedge_bytes scope, int64_t expires_ms,
                         char ticket[KEDGE_TICKET_SIZE])
{
    const kedge_environment *environment = tickets->environment;
    kedge_random_hex(environment, (KEDGE_TICKET_SIZE - 1) / 2, ticket);
    pthread_mutex_lock(&tickets->mutex);
    kedge_ticket *row = &tickets->ring[tickets->next];
    tickets->next = (tickets->next + 1) % KEDGE_TICKETS_MAX;
    memcpy(row->text, ticket, KEDGE_TICKET_SIZE);
    kedge_sha256_hex(scope, row->scope);
    row->expires_ms = expires_ms;
    row->until_ms = environment->monotonic_ms(environment->context) + KEDGE_TICKET_LIFE_MS;
    pthread_mutex_unlock(&tickets->mutex);
}

bool kedge_tickets_redeem(kedge_tickets *tickets, kedge_bytes scope, kedge_bytes ticket,
                          int64_t *expires_ms)
{
    const kedge_environment *environment = tickets->environment;
    char wanted[KEDGE_SHA256_HEX];
    kedge_sha256_hex(scope, wanted);
    bool found = false;
    pthread_mutex_lock(&tickets->mutex);
    int64_t now = environment->monotonic_ms(environment->context);
    for (size_t i = 0; i < KEDGE_TICKETS_MAX && !found && ticket.size; i++) {
        kedge_ticket *row = &tickets->ring[i];
        if (!kedge_bytes_equal_text(ticket, row->text)) continue;
        found = now < row->until_ms && strcmp(row->scope, wanted) == 0;
        if (found) *expires_ms = row->expires_ms;
        row->text[0] = '\0';
        break;
    }
    pthread_mutex_unlock(&tickets->mutex);
    return found;
}
