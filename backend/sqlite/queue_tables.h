/* The tables of the queue and the statements on them. */
#ifndef KEDGE_BACKEND_SQLITE_QUEUE_TABLES_H
#define KEDGE_BACKEND_SQLITE_QUEUE_TABLES_H

#include "backend/sqlite/database.h"

typedef enum kedge_queue_statement {
    /* deduplication */
    KEDGE_QUEUE_FIND_NAME,
    KEDGE_QUEUE_PUT_NAME,
    KEDGE_QUEUE_PURGE_NAMES,
    /* groups */
    KEDGE_QUEUE_JOIN_GROUP,
    KEDGE_QUEUE_END_GROUP,
    KEDGE_QUEUE_REFRESH_GROUP,
    KEDGE_QUEUE_SELECT_LANDED,
    KEDGE_QUEUE_SELECT_FREE,
    KEDGE_QUEUE_BURY_IN_GROUP,
    KEDGE_QUEUE_SELECT_IN_GROUP,
    /* messages */
    KEDGE_QUEUE_INSERT_MESSAGE,
    KEDGE_QUEUE_SELECT_MESSAGE,
    KEDGE_QUEUE_DELIVER_MESSAGE,
    KEDGE_QUEUE_FIND_DELIVERY,
    KEDGE_QUEUE_EXTEND_MESSAGE,
    KEDGE_QUEUE_DELETE_MESSAGE,
    /* dead letters */
    KEDGE_QUEUE_SELECT_DEAD,
    KEDGE_QUEUE_FIND_DEAD,
    KEDGE_QUEUE_REDRIVE_MESSAGE,
    KEDGE_QUEUE_STATEMENTS
} kedge_queue_statement;

extern const kedge_sqlite_kind kedge_queue_kind;

#endif
