/* A list in a window that follows a query. */
#include <kedge/kedge.h>

#include <stdio.h>
#include <string.h>

#define ROWS_MAX 100
#define ROW_SIZE 256

/* The window's list: each row a JSON array. */
typedef struct todo_list {
    char rows[ROWS_MAX][ROW_SIZE];
    size_t count;
    char problem[256];
} todo_list;

kedge_status follow_todos(kedge_db *db, todo_list *list, kedge_query_watch **watch,
                          kedge_error *error);

static void take_out(todo_list *list, size_t place)
{
    list->count--;
    memmove(list->rows[place], list->rows[place + 1], (list->count - place) * ROW_SIZE);
}

static void put_in(todo_list *list, size_t place, const char *row)
{
    memmove(list->rows[place + 1], list->rows[place], (list->count - place) * ROW_SIZE);
    snprintf(list->rows[place], ROW_SIZE, "%s", row);
    list->count++;
}

/* Old places count from the top of the old list, so rows leave it from the bottom up. */
static void show(void *userdata, const kedge_query_changes *changes)
{
    todo_list *list = userdata;
    snprintf(list->problem, sizeof list->problem, "%s",
             changes->error != NULL ? changes->error->message : "");
    for (size_t place = list->count; place-- > 0;) {
        for (size_t i = 0; i < changes->count; i++) {
            if (changes->rows[i].old_position == (int64_t)place) take_out(list, place);
        }
    }
    for (size_t i = 0; i < changes->count; i++) {
        const kedge_row_change *row = &changes->rows[i];
        if (row->new_row != NULL) put_in(list, (size_t)row->new_position, row->new_row);
    }
}

/* The LIMIT keeps the list within its array. */
kedge_status follow_todos(kedge_db *db, todo_list *list, kedge_query_watch **watch,
                          kedge_error *error)
{
    static const char sql[] = "SELECT id, value ->> 'title' FROM todos WHERE value ->> 'done' = 0"
                              " ORDER BY value ->> 'due', id LIMIT 100";
    return kedge_watch_query(db, sql, strlen(sql), NULL, 0, show, list, NULL, watch, error);
}
