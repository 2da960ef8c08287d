/* The groups of the queue's messages: which are free, and whose messages a receive gives. */
#ifndef KEDGE_BACKEND_SQLITE_QUEUE_GROUPS_H
#define KEDGE_BACKEND_SQLITE_QUEUE_GROUPS_H

#include "backend/ports/queue_support.h"
#include "backend/sqlite/database.h"

/* A group's bytes, kept while its rows change. */
typedef struct kedge_queue_group {
    char bytes[KEDGE_QUEUE_GROUP_BYTES_MAX];
    size_t size;
} kedge_queue_group;

kedge_bytes kedge_queue_group_bytes(const kedge_queue_group *group);
/* Takes a column of a statement's row. */
void kedge_queue_group_take(sqlite3_stmt *statement, int column, kedge_queue_group *group);

/* The newest message is this group's. */
kedge_status kedge_queue_group_join(kedge_sqlite_connection *connection, kedge_bytes group,
                                    kedge_error *error);
/* Something about messages of the group has changed. */
kedge_status kedge_queue_group_refresh(kedge_sqlite_connection *connection, kedge_bytes group,
                                       int64_t now_ms, kedge_error *error);

/* A message that may be given. */
typedef struct kedge_queue_ready {
    int64_t id;
    size_t group; /* its index */
} kedge_queue_ready;

/* What a receive gives: the oldest messages of free groups, at most `count` (1 to 10). */
typedef struct kedge_queue_choice {
    kedge_queue_group groups[KEDGE_QUEUE_RECEIVE_MAX];
    size_t group_count;
    kedge_queue_ready ready[KEDGE_QUEUE_RECEIVE_MAX * KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
} kedge_queue_choice;

/* Frees the groups whose visibilities ended, buries the messages of the chosen groups that were
 * received `receive_max` times, and chooses. */
kedge_status kedge_queue_choose(kedge_sqlite_connection *connection, uint32_t count,
                                uint32_t receive_max, int64_t now_ms, kedge_queue_choice *choice,
                                kedge_error *error);

#endif
