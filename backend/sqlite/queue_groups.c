/* The groups of the queue's messages, and their owners. */
#include "backend/sqlite/queue_groups.h"
#include "backend/sqlite/queue_tables.h"

#include <string.h>

#define LANDED_MAX 64 /* groups that are refreshed between two looks for more of them */

_Static_assert(KEDGE_QUEUE_OWNER_BYTES_MAX <= KEDGE_QUEUE_GROUP_BYTES_MAX, "names have one size");

kedge_bytes kedge_queue_name_bytes(const kedge_queue_name *name)
{
    return (kedge_bytes){name->bytes, name->size};
}

void kedge_queue_name_take(sqlite3_stmt *statement, int column, kedge_queue_name *name)
{
    kedge_bytes bytes = kedge_sqlite_column(statement, column);
    name->size = bytes.size < sizeof name->bytes ? bytes.size : sizeof name->bytes;
    if (name->size > 0) memcpy(name->bytes, bytes.data, name->size);
}

/* Runs a statement whose parameters are an owner, a group, or both. */
static kedge_status run_on(kedge_sqlite_connection *connection, kedge_queue_statement statement,
                           kedge_bytes first, const kedge_bytes *second, kedge_error *error)
{
    sqlite3_stmt *change;
    kedge_status status = kedge_sqlite_statement(connection, statement, &change, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(change, 1, first);
    if (second != NULL) kedge_sqlite_bind(change, 2, *second);
    return kedge_sqlite_run(connection, change, error);
}

/* Steps through a bound statement that selects names, at most `capacity`. */
static kedge_status read_names(kedge_sqlite_connection *connection, sqlite3_stmt *select,
                               kedge_queue_name *names, size_t capacity, size_t *count,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *count = 0;
    while (*count < capacity &&
           (status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK) {
        kedge_queue_name_take(select, 0, &names[(*count)++]);
        status = kedge_sqlite_columns_check(connection, error);
        if (status != KEDGE_OK) break;
    }
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* ---- one owner ---- */

static kedge_status refresh_owner(kedge_sqlite_connection *connection, kedge_bytes owner,
                                  kedge_error *error)
{
    kedge_status status = run_on(connection, KEDGE_QUEUE_END_OWNER, owner, NULL, error);
    if (status != KEDGE_OK) return status;
    return run_on(connection, KEDGE_QUEUE_REFRESH_OWNER, owner, NULL, error);
}

/* `*found`: the group has messages that wait. */
static kedge_status find_owner(kedge_sqlite_connection *connection, kedge_bytes group,
                               kedge_queue_name *owner, bool *found, kedge_error *error)
{
    size_t count;
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_FIND_OWNER, &select, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(select, 1, group);
    status = read_names(connection, select, owner, 1, &count, error);
    *found = count == 1;
    return status;
}

/* ---- one group ---- */

kedge_status kedge_queue_group_join(kedge_sqlite_connection *connection, kedge_bytes owner,
                                    kedge_bytes group, kedge_error *error)
{
    kedge_status status = run_on(connection, KEDGE_QUEUE_JOIN_OWNER, owner, NULL, error);
    if (status == KEDGE_OK)
        status = run_on(connection, KEDGE_QUEUE_JOIN_GROUP, owner, &group, error);
    return status == KEDGE_OK ? refresh_owner(connection, owner, error) : status;
}

static void bind_time(sqlite3_stmt *statement, int64_t now_ms)
{
    sqlite3_bind_int64(statement, 1, now_ms);
    sqlite3_bind_int64(statement, 2, now_ms + KEDGE_QUEUE_CLOCK_SLACK_MS);
}

static kedge_status refresh_row(kedge_sqlite_connection *connection, kedge_bytes group,
                                int64_t now_ms, kedge_error *error)
{
    sqlite3_stmt *refresh;
    kedge_status status = run_on(connection, KEDGE_QUEUE_END_GROUP, group, NULL, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, KEDGE_QUEUE_REFRESH_GROUP, &refresh, error);
    if (status != KEDGE_OK) return status;
    bind_time(refresh, now_ms);
    kedge_sqlite_bind(refresh, 3, group);
    return kedge_sqlite_run(connection, refresh, error);
}

kedge_status kedge_queue_group_refresh(kedge_sqlite_connection *connection, kedge_bytes group,
                                       int64_t now_ms, kedge_error *error)
{
    kedge_queue_name owner;
    bool found;
    kedge_status status = find_owner(connection, group, &owner, &found, error);
    if (status != KEDGE_OK || !found) return status;
    status = refresh_row(connection, group, now_ms, error);
    if (status != KEDGE_OK) return status;
    return refresh_owner(connection, kedge_queue_name_bytes(&owner), error);
}

/* ---- several ---- */

/* Refreshed groups are not found again: what is left of them is in flight by the clock. */
static kedge_status land(kedge_sqlite_connection *connection, int64_t now_ms, kedge_error *error)
{
    kedge_queue_name groups[LANDED_MAX];
    size_t count;
    do {
        sqlite3_stmt *select;
        kedge_status status =
            kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_LANDED, &select, error);
        if (status != KEDGE_OK) return status;
        bind_time(select, now_ms);
        sqlite3_bind_int64(select, 3, LANDED_MAX);
        status = read_names(connection, select, groups, LANDED_MAX, &count, error);
        for (size_t i = 0; i < count && status == KEDGE_OK; i++)
            status = kedge_queue_group_refresh(connection, kedge_queue_name_bytes(&groups[i]),
                                               now_ms, error);
        if (status != KEDGE_OK) return status;
    } while (count == LANDED_MAX);
    return KEDGE_OK;
}

/* The owner that is next. `*found`: there is one; `*others`: another one waits, too. */
static kedge_status next_owner(kedge_sqlite_connection *connection, const kedge_queue_wish *wish,
                               kedge_queue_name *owner, bool *found, bool *others,
                               kedge_error *error)
{
    kedge_queue_name owners[KEDGE_QUEUE_OWNERS_ASKED];
    const kedge_queue_admission *admission = wish->admission;
    size_t count;
    sqlite3_stmt *select;
    *found = false;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_OWNERS, &select, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, KEDGE_QUEUE_OWNERS_ASKED);
    status = read_names(connection, select, owners, KEDGE_QUEUE_OWNERS_ASKED, &count, error);
    *others = count > 1;
    for (size_t i = 0; i < count && status == KEDGE_OK && !*found; i++) {
        *found = admission == NULL ||
                 admission->may_take(admission->context, kedge_queue_name_bytes(&owners[i]));
        if (*found) *owner = owners[i];
    }
    return status;
}

static kedge_status select_free(kedge_sqlite_connection *connection, const kedge_queue_wish *wish,
                                kedge_queue_choice *choice, kedge_error *error)
{
    bool found, others;
    sqlite3_stmt *select;
    choice->group_count = 0;
    kedge_status status = next_owner(connection, wish, &choice->owner, &found, &others, error);
    if (status != KEDGE_OK || !found) return status;
    status = kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_FREE, &select, error);
    if (status != KEDGE_OK) return status;
    size_t group_max = others ? 1 : wish->count;
    kedge_sqlite_bind(select, 1, kedge_queue_name_bytes(&choice->owner));
    sqlite3_bind_int64(select, 2, (int64_t)group_max);
    return read_names(connection, select, choice->groups, group_max, &choice->group_count, error);
}

static kedge_status bury_in(kedge_sqlite_connection *connection, kedge_bytes group,
                            const kedge_queue_wish *wish, bool *any, kedge_error *error)
{
    sqlite3_stmt *bury;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_BURY_IN_GROUP, &bury, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(bury, 1, group);
    sqlite3_bind_int64(bury, 2, wish->receive_max);
    status = kedge_sqlite_run(connection, bury, error);
    if (status != KEDGE_OK || sqlite3_changes(connection->handle) == 0) return status;
    *any = true;
    return kedge_queue_group_refresh(connection, group, wish->now_ms, error);
}

/* A group whose first messages died has another place in the order, or none: so the groups are
 * selected again until none of them has any to bury. */
static kedge_status choose_groups(kedge_sqlite_connection *connection, const kedge_queue_wish *wish,
                                  kedge_queue_choice *choice, kedge_error *error)
{
    bool any;
    do {
        any = false;
        kedge_status status = select_free(connection, wish, choice, error);
        for (size_t i = 0; i < choice->group_count && status == KEDGE_OK; i++)
            status =
                bury_in(connection, kedge_queue_name_bytes(&choice->groups[i]), wish, &any, error);
        if (status != KEDGE_OK) return status;
    } while (any);
    return KEDGE_OK;
}

static kedge_status add_messages(kedge_sqlite_connection *connection, uint32_t count, size_t group,
                                 kedge_queue_choice *choice, kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_IN_GROUP, &select, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(select, 1, kedge_queue_name_bytes(&choice->groups[group]));
    sqlite3_bind_int64(select, 2, (int64_t)(count - choice->count));
    while ((status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK)
        choice->messages[choice->count++] = sqlite3_column_int64(select, 0);
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

kedge_status kedge_queue_choose(kedge_sqlite_connection *connection, const kedge_queue_wish *wish,
                                kedge_queue_choice *choice, kedge_error *error)
{
    choice->count = choice->group_count = 0;
    kedge_status status = land(connection, wish->now_ms, error);
    if (status == KEDGE_OK) status = choose_groups(connection, wish, choice, error);
    size_t given = 0;
    while (given < choice->group_count && choice->count < wish->count && status == KEDGE_OK)
        status = add_messages(connection, wish->count, given++, choice, error);
    choice->group_count = given;
    return status;
}

kedge_status kedge_queue_served(kedge_sqlite_connection *connection,
                                const kedge_queue_choice *choice, int64_t now_ms,
                                kedge_error *error)
{
    if (choice->count == 0) return KEDGE_OK;
    kedge_bytes owner = kedge_queue_name_bytes(&choice->owner);
    kedge_status status = run_on(connection, KEDGE_QUEUE_SERVE_OWNER, owner, NULL, error);
    for (size_t i = 0; i < choice->group_count && status == KEDGE_OK; i++) {
        kedge_bytes group = kedge_queue_name_bytes(&choice->groups[i]);
        status = run_on(connection, KEDGE_QUEUE_SERVE_GROUP, owner, &group, error);
        if (status == KEDGE_OK) status = refresh_row(connection, group, now_ms, error);
    }
    return status == KEDGE_OK ? refresh_owner(connection, owner, error) : status;
}
