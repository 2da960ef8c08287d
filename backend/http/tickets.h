/* One-use tickets: a browser's EventSource sends no headers, so that a page first asks for a ticket
 * with its token, and opens the stream with the ticket. A ticket is good once, for 60 seconds, for
 * one project. It names no user, since events tell nothing that depends on one; it carries when the
 * token that it was asked for with expires, and the stream ends then. */
#ifndef KEDGE_BACKEND_HTTP_TICKETS_H
#define KEDGE_BACKEND_HTTP_TICKETS_H

#include "common/environment.h"

#define KEDGE_TICKET_SIZE    33 /* 32 digits and a NUL */
#define KEDGE_TICKET_LIFE_MS 60000
#define KEDGE_TICKETS_MAX    1024 /* the oldest falls out */

typedef struct kedge_tickets kedge_tickets;

kedge_tickets *kedge_tickets_new(const kedge_environment *environment); /* NULL: no memory */
void kedge_tickets_free(kedge_tickets *tickets);
/* `scope` names what the ticket is for; compared as a whole. */
void kedge_tickets_issue(kedge_tickets *tickets, kedge_bytes scope, int64_t expires_ms,
                         char ticket[KEDGE_TICKET_SIZE]);
bool kedge_tickets_redeem(kedge_tickets *tickets, kedge_bytes scope, kedge_bytes ticket,
                          int64_t *expires_ms);

#endif
