/* The groups of the queue's messages and their owners: which are free, and which is next. */
#ifndef KEDGE_BACKEND_SQLITE_QUEUE_GROUPS_H
#define KEDGE_BACKEND_SQLITE_QUEUE_GROUPS_H

#include "backend/ports/queue_support.h"
#include "backend/sqlite/database.h"

/* The bytes of a group or of its owner, kept while their rows change. */
typedef struct kedge_queue_name {
    char bytes[KEDGE_QUEUE_GROUP_BYTES_MAX];
    size_t size;
} kedge_queue_name;

kedge_bytes kedge_queue_name_bytes(const kedge_queue_name *name);
/* Takes a column of a statement's row. */
void kedge_queue_name_take(sqlite3_stmt *statement, int column, kedge_queue_name *name);

/* The newest message is this group's. */
kedge_status kedge_queue_group_join(kedge_sqlite_connection *connection, kedge_bytes owner,
                                    kedge_bytes group, kedge_error *error);
/* Something about messages of the group has changed. */
kedge_status kedge_queue_group_refresh(kedge_sqlite_connection *connection, kedge_bytes group,
                                       int64_t now_ms, kedge_error *error);

/* What a receive wants. */
typedef struct kedge_queue_wish {
    uint32_t count; /* 1 to 10 */
    uint32_t receive_max;
    int64_t now_ms;
    const kedge_queue_admission *admission; /* or NULL */
} kedge_queue_wish;

/* What a receive gives: messages of the owner and the group that are next, at most as many as
 * wished. When no other owner waits, it is filled up with those of the owner's next groups. */
typedef struct kedge_queue_choice {
    kedge_queue_name owner;
    kedge_queue_name groups[KEDGE_QUEUE_RECEIVE_MAX];
    size_t group_count;
    int64_t messages[KEDGE_QUEUE_RECEIVE_MAX]; /* their ids */
    size_t count;
} kedge_queue_choice;

/* Frees the groups whose visibilities ended, buries the messages of the chosen groups that were
 * received `receive_max` times, and chooses. */
kedge_status kedge_queue_choose(kedge_sqlite_connection *connection, const kedge_queue_wish *wish,
                                kedge_queue_choice *choice, kedge_error *error);
/* The chosen messages are delivered: their owner and their groups go after all others. */
kedge_status kedge_queue_served(kedge_sqlite_connection *connection,
                                const kedge_queue_choice *choice, int64_t now_ms,
                                kedge_error *error);

#endif
