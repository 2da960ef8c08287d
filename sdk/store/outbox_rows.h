/* The columns of the outbox's tables, and their checksums.
 *
 * Each row has a checksum over its other columns, behind the number of its table. `ordinal`, the
 * order in which the tail and the earlier clients are trimmed, is SQLite's own and left out.
 * A statement that copies rows names the columns of the new row in a subquery and takes their
 * checksum around it; one that changes a row changes it first and seals it then
 * (kedge_outbox_seal). Damage must never be sealed, so a row is checked before either. */
#ifndef KEDGE_SDK_STORE_OUTBOX_ROWS_H
#define KEDGE_SDK_STORE_OUTBOX_ROWS_H

#define KEDGE_PENDING_COLUMNS                                                                      \
    "sequence, client, id, uid, digest, name, args, timestamp, origin_client, origin_id,"          \
    " covered_version, withheld"
#define KEDGE_PENDING_CHECKSUM "kedge_checksum(1, " KEDGE_PENDING_COLUMNS ")"

#define KEDGE_REJECTED_COLUMNS                                                                     \
    "sequence, client, id, uid, digest, name, args, timestamp, origin_client, origin_id, version," \
    " code, message, state, decided_ms"
#define KEDGE_REJECTED_CHECKSUM "kedge_checksum(2, " KEDGE_REJECTED_COLUMNS ")"

#define KEDGE_CONFIRMED_COLUMNS                                                                    \
    "sequence, client, id, uid, digest, name, args, timestamp, origin_client, origin_id,"          \
    " confirmed_ms"
#define KEDGE_CONFIRMED_CHECKSUM "kedge_checksum(3, " KEDGE_CONFIRMED_COLUMNS ")"

#define KEDGE_TRIMMED_COLUMNS  "client, through"
#define KEDGE_TRIMMED_CHECKSUM "kedge_checksum(4, " KEDGE_TRIMMED_COLUMNS ")"

/* Of the layouts 3 to 5. */
#define KEDGE_OUTBOX_META_COLUMNS_3                                                                \
    "client, highest_id, last_sequence, sent_through, revision, unrecovered, trimmed_through,"     \
    " tail_bytes, settled_version, settled_lineage, ask_settled, pending_rows, pending_sum,"       \
    " organization, project"
#define KEDGE_OUTBOX_META_CHECKSUM_3 "kedge_checksum(5, " KEDGE_OUTBOX_META_COLUMNS_3 ")"
#define KEDGE_OUTBOX_META_COLUMNS    KEDGE_OUTBOX_META_COLUMNS_3 ", rejected_rows"
#define KEDGE_OUTBOX_META_CHECKSUM   "kedge_checksum(5, " KEDGE_OUTBOX_META_COLUMNS ")"

#define KEDGE_TOTALS_COLUMNS  "name, rows, sum"
#define KEDGE_TOTALS_CHECKSUM "kedge_checksum(6, " KEDGE_TOTALS_COLUMNS ")"

#define KEDGE_DECLARED_COLUMNS  "name, collection, paths"
#define KEDGE_DECLARED_CHECKSUM "kedge_checksum(7, " KEDGE_DECLARED_COLUMNS ")"

/* The states of a row of `rejected`. */
typedef enum kedge_inbox_state {
    KEDGE_INBOX_SHOWN = 0,
    KEDGE_INBOX_DISMISSED = 1,
    KEDGE_INBOX_RESUBMITTED = 2,
    KEDGE_INBOX_DAMAGED = 3,  /* listed: the legible part of a damaged edit */
    KEDGE_INBOX_CONFLICT = 4, /* not listed: a client-only edit that is about to be made again */
    KEDGE_INBOX_REMADE = 5    /* it was; `args` is the sequence of its newest attempt */
} kedge_inbox_state;

/* The mutation of the row is not predicted any more; ?1 to ?3 as for KEDGE_PENDING_IS_COVERED. */
#define KEDGE_INBOX_IS_DECIDED                                                                     \
    "NOT EXISTS(SELECT 1 FROM pending WHERE pending.sequence = rejected.sequence"                  \
    " AND NOT " KEDGE_PENDING_IS_COVERED ")"
/* Which rows of `rejected` are listed to the app. */
#define KEDGE_INBOX_SHOWS "(state = 3 OR (state = 0 AND " KEDGE_INBOX_IS_DECIDED "))"
/* Which rows count as pending: they are about to be made again. */
#define KEDGE_INBOX_WAITS "(state = 4 AND " KEDGE_INBOX_IS_DECIDED ")"

#endif
