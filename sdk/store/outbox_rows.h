/* The rows of the outbox's tables.
 *
 * Each row has a checksum over its other columns, after the number of its table; pieces.c names
 * both for each table. `ordinal`, the order in which the tail and the earlier clients are trimmed,
 * is SQLite's own and left out. A statement that copies rows names the columns of the new row in a
 * subquery and takes their checksum around it ({sealed T}); one that changes a row changes it first
 * and seals it then (kedge_outbox_seal). Damage must never be sealed, so a row is checked before
 * either. */
#ifndef KEDGE_SDK_STORE_OUTBOX_ROWS_H
#define KEDGE_SDK_STORE_OUTBOX_ROWS_H

/* The states of a row of `rejected`. */
typedef enum kedge_inbox_state {
    KEDGE_INBOX_SHOWN = 0,
    KEDGE_INBOX_DISMISSED = 1,
    KEDGE_INBOX_RESUBMITTED = 2,
    KEDGE_INBOX_DAMAGED = 3,  /* listed: the legible part of a damaged edit */
    KEDGE_INBOX_CONFLICT = 4, /* not listed: a client-only edit that is about to be made again */
    KEDGE_INBOX_REMADE = 5    /* it was; `args` is the sequence of its newest attempt */
} kedge_inbox_state;

/* Which rows of `rejected` are listed to the app. */
#define KEDGE_INBOX_SHOWS "(state = 3 OR (state = 0 AND {decided}))"
/* Which rows count as pending: they are about to be made again. */
#define KEDGE_INBOX_WAITS "(state = 4 AND {decided})"

#endif
