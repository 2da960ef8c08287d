/* One-use tickets for a browser's EventSource, which cannot send the header with the token. So a
 * page first asks for a ticket with its token, and then opens the stream with the ticket.
 *
 * A ticket is valid once, for 60 seconds, for one project. It names the user who asked for it; the
 * project's access list must still admit that user when the stream opens. It also has the time when
 * the user's token expires, since the stream ends then, and the owner of the budgets in which the
 * stream is counted. The budgets limit how many tickets a user and an organization have at once. A
 * new ticket never removes another one. */
#ifndef KEDGE_BACKEND_HTTP_TICKETS_H
#define KEDGE_BACKEND_HTTP_TICKETS_H

#include "backend/auth/auth.h"
#include "backend/http/budgets.h"

#define KEDGE_TICKET_SIZE    33 /* 32 digits and a NUL */
#define KEDGE_TICKET_LIFE_MS 60000
#define KEDGE_TICKETS_MAX    4096

typedef struct kedge_tickets kedge_tickets;

kedge_tickets *kedge_tickets_new(const kedge_environment *environment); /* NULL: no memory */
void kedge_tickets_free(kedge_tickets *tickets);
typedef struct kedge_ticket_grant {
    kedge_budget_owner owner;
    int64_t expires_ms; /* of the token, wall clock */
    char user[KEDGE_TOKEN_NAME_SIZE];
    bool admin;
} kedge_ticket_grant;

/* `scope` names what the ticket is for; compared as a whole. False when the owner has as many as
 * `limits` allow, or, with a refusal without a name, when there is no room for anybody's. */
bool kedge_tickets_issue(kedge_tickets *tickets, const kedge_budget_limits *limits,
                         kedge_bytes scope, const kedge_ticket_grant *grant,
                         char ticket[KEDGE_TICKET_SIZE], kedge_budget_refusal *refusal);
/* Voids all tickets. */
void kedge_tickets_clear(kedge_tickets *tickets);
bool kedge_tickets_redeem(kedge_tickets *tickets, kedge_bytes scope, kedge_bytes ticket,
                          kedge_ticket_grant *grant);

#endif
