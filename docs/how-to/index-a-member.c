/* The todos that are due before a day, found by a declared index. */
#include <kedge/kedge.h>

#include <stdio.h>
#include <string.h>

kedge_status declare_indexes(kedge_db *db, kedge_error *error);
kedge_status show_due(kedge_db *db, const char *day, void (*show)(void *list, const char *id),
                      void *list, kedge_error *error);

/* Call it after each kedge_open: an index that is there already costs nothing. */
kedge_status declare_indexes(kedge_db *db, kedge_error *error)
{
    static const char *const due[] = {"due"};
    static const char *const city[] = {"$.address.city", "due"};
    kedge_status status = kedge_index(db, "todos_by_due", "todos", due, 1, error);
    if (status == KEDGE_OK) status = kedge_index(db, "todos_by_city", "todos", city, 2, error);
    return status;
}

/* `day` is JSON: "2026-12-24" in quotes. Calls `show` with the id of each todo, the earliest
 * first. */
kedge_status show_due(kedge_db *db, const char *day, void (*show)(void *list, const char *id),
                      void *list, kedge_error *error)
{
    static const char sql[] = "SELECT id FROM todos WHERE value ->> 'due' < ?1"
                              " ORDER BY value ->> 'due'";
    char parameters[64];
    kedge_query *query = NULL;
    int size = snprintf(parameters, sizeof parameters, "[%s]", day);
    kedge_status status =
        kedge_query_open(db, sql, strlen(sql), parameters, (size_t)size, &query, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_query_next(query, error)) == KEDGE_OK) {
        show(list, kedge_query_text(query, 0, NULL));
    }
    kedge_query_close(query);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}
