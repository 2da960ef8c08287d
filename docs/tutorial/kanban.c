/* A board of columns and cards, with order, labels and comments. Each call does one thing, offline;
 * `sync` meets the others.
 *     kanban FOLDER column|card|move|label|comment|delete|show|inbox|sync ... */
#include <cjson/cJSON.h>
#include <kedge/kedge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_BYTES 4096

static kedge_db *db;
static kedge_error error;

static void check(kedge_status status)
{
    if (status == KEDGE_OK) return;
    fprintf(stderr, "%s: %s\n", error.code, error.message);
    exit(1);
}

/* JSON from a format: ' is a quotation mark, $1 the first text, quoted, $2 the second. */
static size_t write_json(char out[JSON_BYTES], const char *format, const char *const *texts)
{
    size_t size = 0;
    for (; *format != '\0'; format++) {
        if (size + 1 >= JSON_BYTES) abort();
        if (*format != '$') {
            out[size++] = *format == '\'' ? '"' : *format;
            continue;
        }
        cJSON *text = cJSON_CreateString(texts[*++format - '1']);
        if (!cJSON_PrintPreallocated(text, out + size, (int)(JSON_BYTES - size), false)) abort();
        size += strlen(out + size);
        cJSON_Delete(text);
    }
    return size;
}

static kedge_query *query(const char *sql, const char *first, const char *second)
{
    char parameters[JSON_BYTES];
    size_t size = write_json(parameters, "[$1,$2]", (const char *[]){first, second});
    kedge_query *rows = NULL;
    check(kedge_query_open(db, sql, strlen(sql), parameters, size, &rows, &error));
    return rows;
}

/* The first column of the next row, or NULL. */
static const char *next(kedge_query *rows)
{
    return kedge_query_next(rows, &error) == KEDGE_OK ? kedge_query_text(rows, 0, NULL) : NULL;
}

/* A place after everything that is there, which no other copy makes, and the column of a card. */
static void find_places(const char *card, char place[KEDGE_ORDER_KEY_SIZE], char column[64])
{
    kedge_query *rows = query("SELECT coalesce(max(CASE id WHEN ?1 THEN value ->> 'in' END), ?2), "
                              "max(value ->> 'order') FROM kedge_items",
                              card, "");
    (void)snprintf(column, 64, "%s", next(rows) ? kedge_query_text(rows, 0, NULL) : "");
    check(kedge_order_between(kedge_query_text(rows, 1, NULL), NULL, arc4random(), place, &error));
    kedge_query_close(rows);
}

/* What the commands do: $3, $4, $5 are what is given, $6 is the last place, $7 the card's column.
 * The server rejects a move when somebody else has moved the card meanwhile. */
static const struct {
    const char *command, *mutator, *args;
} edits[] = {
    {"column", "kedge.put", "{'collection':'columns','id':$3,'value':{'text':$4,'order':$6}}"},
    {"card", "kedge.put", "{'collection':'cards','id':$3,'value':{'in':$4,'text':$5,'order':$6}}"},
    {"label", "kedge.merge", "{'collection':'cards','id':$3,'patch':{'labels':{$4:true}}}"},
    {"comment", "kedge.put",
     "{'collection':'comments','id':$6,'value':{'in':$3,'text':$4,'order':$6}}"},
    {"move", "kedge.patch",
     "{'collection':'cards','id':$3,'patch':["
     "{'op':'test','path':'/in','value':$7},{'op':'replace','path':'/in','value':$4},"
     "{'op':'replace','path':'/order','value':$6}]}"},
};

/* A card and its comments go as one. */
static void delete_card(const char *card)
{
    kedge_batch *batch = NULL;
    kedge_query *rows = query("SELECT json_object('collection', collection, 'id', id) FROM "
                              "kedge_items WHERE id = ?1 OR value ->> 'in' = ?2",
                              card, card);
    check(kedge_batch_begin(db, &batch, &error));
    for (const char *args; (args = next(rows)) != NULL;)
        check(kedge_batch_add(batch, "kedge.delete", args, strlen(args), &error));
    kedge_query_close(rows);
    check(kedge_batch_commit(batch, NULL, &error));
    kedge_batch_free(batch);
}

/* Columns, their cards, and the comments of each. */
static void show(int level, const char *parent)
{
    static const char *const levels[] = {"columns", "cards", "comments"};
    if (level == 3) return;
    kedge_query *rows = query(
        "SELECT id, value ->> 'text' || coalesce(' ' || (value ->> 'labels'), '') FROM kedge_items "
        "WHERE collection = ?1 AND coalesce(value ->> 'in', '') = ?2 ORDER BY value ->> 'order', "
        "id",
        levels[level], parent);
    while (next(rows)) {
        printf("%*s%s\n", level * 2, "", kedge_query_text(rows, 1, NULL));
        show(level + 1, kedge_query_text(rows, 0, NULL));
    }
    kedge_query_close(rows);
}

/* Edits that the server rejected, with the reason. An app lets its user make them again or not. */
static void show_inbox(void)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    check(kedge_rejected_open(db, &list, &error));
    while (kedge_mutation_list_next(list, &row, &error) == KEDGE_OK)
        printf("%s, %s: %s\n", row.name, row.code, row.message);
    kedge_mutation_list_close(list);
}

int main(int argc, char **argv)
{
    char place[KEDGE_ORDER_KEY_SIZE], column[64], args[JSON_BYTES];
    const char *texts[] = {"board", "show", "", "", "", place, column};
    for (int i = 1; i < argc && i < 6; i++)
        texts[i - 1] = argv[i];
    const char *command = texts[1];
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = texts[0];
    options.url = getenv("KANBAN_URL");
    options.organization = "demo", options.project = "board";
    options.offline = true;
    check(kedge_open(&options, &db, &error));
    find_places(texts[2], place, column);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        if (strcmp(command, edits[i].command) != 0) continue;
        size_t size = write_json(args, edits[i].args, texts);
        check(kedge_mutate(db, edits[i].mutator, args, size, NULL, &error));
    }
    if (strcmp(command, "delete") == 0) delete_card(texts[2]);
    if (strcmp(command, "inbox") == 0) show_inbox();
    if (strcmp(command, "show") == 0) show(0, "");
    if (strcmp(command, "sync") == 0) check(kedge_set_online(db, true, &error));
    if (strcmp(command, "sync") == 0) check(kedge_sync(db, 10000, &error));
    return kedge_close(db) == KEDGE_OK ? 0 : 1;
}
