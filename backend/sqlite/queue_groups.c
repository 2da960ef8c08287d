/* The groups of the queue's messages. */
#include "backend/sqlite/queue_groups.h"
#include "backend/sqlite/queue_tables.h"

#include <stdlib.h>
#include <string.h>

#define LANDED_MAX 64 /* groups that are refreshed between two looks for more of them */

kedge_bytes kedge_queue_group_bytes(const kedge_queue_group *group)
{
    return (kedge_bytes){group->bytes, group->size};
}

void kedge_queue_group_take(sqlite3_stmt *statement, int column, kedge_queue_group *group)
{
    kedge_bytes bytes = kedge_sqlite_column(statement, column);
    group->size = bytes.size < sizeof group->bytes ? bytes.size : sizeof group->bytes;
    if (group->size > 0) memcpy(group->bytes, bytes.data, group->size);
}

/* ---- one group ---- */

static kedge_status run_on_group(kedge_sqlite_connection *connection,
                                 kedge_queue_statement statement, kedge_bytes group,
                                 kedge_error *error)
{
    sqlite3_stmt *change;
    kedge_status status = kedge_sqlite_statement(connection, statement, &change, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(change, 1, group);
    return kedge_sqlite_run(connection, change, error);
}

kedge_status kedge_queue_group_join(kedge_sqlite_connection *connection, kedge_bytes group,
                                    kedge_error *error)
{
    return run_on_group(connection, KEDGE_QUEUE_JOIN_GROUP, group, error);
}

static void bind_time(sqlite3_stmt *statement, int64_t now_ms)
{
    sqlite3_bind_int64(statement, 1, now_ms);
    sqlite3_bind_int64(statement, 2, now_ms + KEDGE_QUEUE_CLOCK_SLACK_MS);
}

kedge_status kedge_queue_group_refresh(kedge_sqlite_connection *connection, kedge_bytes group,
                                       int64_t now_ms, kedge_error *error)
{
    sqlite3_stmt *refresh;
    kedge_status status = run_on_group(connection, KEDGE_QUEUE_END_GROUP, group, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, KEDGE_QUEUE_REFRESH_GROUP, &refresh, error);
    if (status != KEDGE_OK) return status;
    bind_time(refresh, now_ms);
    kedge_sqlite_bind(refresh, 3, group);
    return kedge_sqlite_run(connection, refresh, error);
}

/* ---- several ---- */

/* Steps through a bound statement that selects groups, at most `capacity`. */
static kedge_status read_groups(kedge_sqlite_connection *connection, sqlite3_stmt *select,
                                kedge_queue_group *groups, size_t capacity, size_t *count,
                                kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *count = 0;
    while (*count < capacity &&
           (status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK) {
        kedge_queue_group_take(select, 0, &groups[(*count)++]);
        status = kedge_sqlite_columns_check(connection, error);
        if (status != KEDGE_OK) break;
    }
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* Refreshed groups are not found again: what is left of them is in flight by the clock. */
static kedge_status land(kedge_sqlite_connection *connection, int64_t now_ms, kedge_error *error)
{
    kedge_queue_group groups[LANDED_MAX];
    size_t count;
    do {
        sqlite3_stmt *select;
        kedge_status status =
            kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_LANDED, &select, error);
        if (status != KEDGE_OK) return status;
        bind_time(select, now_ms);
        sqlite3_bind_int64(select, 3, LANDED_MAX);
        status = read_groups(connection, select, groups, LANDED_MAX, &count, error);
        for (size_t i = 0; i < count && status == KEDGE_OK; i++)
            status = kedge_queue_group_refresh(connection, kedge_queue_group_bytes(&groups[i]),
                                               now_ms, error);
        if (status != KEDGE_OK) return status;
    } while (count == LANDED_MAX);
    return KEDGE_OK;
}

static kedge_status select_free(kedge_sqlite_connection *connection, uint32_t count,
                                kedge_queue_choice *choice, kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_FREE, &select, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, count);
    return read_groups(connection, select, choice->groups, count, &choice->group_count, error);
}

static kedge_status bury_in(kedge_sqlite_connection *connection, kedge_bytes group,
                            uint32_t receive_max, int64_t now_ms, bool *any, kedge_error *error)
{
    sqlite3_stmt *bury;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_BURY_IN_GROUP, &bury, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(bury, 1, group);
    sqlite3_bind_int64(bury, 2, receive_max);
    status = kedge_sqlite_run(connection, bury, error);
    if (status != KEDGE_OK || sqlite3_changes(connection->handle) == 0) return status;
    *any = true;
    return kedge_queue_group_refresh(connection, group, now_ms, error);
}

/* A group whose first messages died has another place in the order, or none: so the groups are
 * selected again until none of them has any to bury. */
static kedge_status choose_groups(kedge_sqlite_connection *connection, uint32_t count,
                                  uint32_t receive_max, int64_t now_ms, kedge_queue_choice *choice,
                                  kedge_error *error)
{
    bool any;
    do {
        any = false;
        kedge_status status = select_free(connection, count, choice, error);
        for (size_t i = 0; i < choice->group_count && status == KEDGE_OK; i++)
            status = bury_in(connection, kedge_queue_group_bytes(&choice->groups[i]), receive_max,
                             now_ms, &any, error);
        if (status != KEDGE_OK) return status;
    } while (any);
    return KEDGE_OK;
}

static kedge_status add_ready(kedge_sqlite_connection *connection, uint32_t count, size_t group,
                              kedge_queue_choice *choice, kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_IN_GROUP, &select, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(select, 1, kedge_queue_group_bytes(&choice->groups[group]));
    sqlite3_bind_int64(select, 2, count);
    while ((status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK)
        choice->ready[choice->count++] =
            (kedge_queue_ready){sqlite3_column_int64(select, 0), group};
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t one = ((const kedge_queue_ready *)a)->id, other = ((const kedge_queue_ready *)b)->id;
    return (one > other) - (one < other);
}

kedge_status kedge_queue_choose(kedge_sqlite_connection *connection, uint32_t count,
                                uint32_t receive_max, int64_t now_ms, kedge_queue_choice *choice,
                                kedge_error *error)
{
    choice->count = choice->group_count = 0;
    kedge_status status = land(connection, now_ms, error);
    if (status == KEDGE_OK)
        status = choose_groups(connection, count, receive_max, now_ms, choice, error);
    for (size_t i = 0; i < choice->group_count && status == KEDGE_OK; i++)
        status = add_ready(connection, count, i, choice, error);
    if (status != KEDGE_OK) return status;
    qsort(choice->ready, choice->count, sizeof choice->ready[0], compare_ids);
    if (choice->count > count) choice->count = count;
    return KEDGE_OK;
}
