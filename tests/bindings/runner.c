/* Runs the scenarios of bindings/conformance in C. See bindings/conformance/README.md.
 *
 * usage: runner SCENARIOS URL ORGANIZATION FOLDER
 * FOLDER gets the copies, and of each scenario the file NUMBER.state: what all copies end with. */
#include "tests/bindings/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

copy *runner_find_copy(runner *at, const char *name)
{
    for (int i = 0; i < RUNNER_COPIES; i++) {
        copy *each = &at->copies[i];
        if (each->name[0] == '\0') (void)snprintf(each->name, sizeof each->name, "%s", name);
        if (strcmp(each->name, name) == 0) return each;
    }
    runner_fail("more copies than the format allows", name);
}

kedge_db *step_db(runner *at, const cJSON *step)
{
    const char *name = step_text(step, "copy");
    kedge_db *db = runner_find_copy(at, name)->db;
    if (!db) runner_fail("the copy is not open", name);
    return db;
}

void runner_copy_path(const runner *at, const char *name, char path[RUNNER_PATH_BYTES])
{
    (void)snprintf(path, RUNNER_PATH_BYTES, "%.400s/%.64s", at->folder, name);
}

static step_function find_step(const char *name)
{
    static const step_row *const rooms[] = {data_steps, edit_steps, sync_steps, watch_steps};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
        for (const step_row *each = rooms[i]; each->name; each++)
            if (strcmp(each->name, name) == 0) return each->function;
    runner_fail("no such step", name);
}

static void run_step(runner *at, const cJSON *scenario, int number, const cJSON *step)
{
    kedge_error error = {0};
    cJSON *given = cJSON_CreateObject();
    kedge_status status = find_step(step_text(step, "do"))(at, step, given, &error);
    check_step(scenario, number, step, status, &error, given);
    cJSON_Delete(given);
}

static void must(kedge_status status, const kedge_error *error, const char *what)
{
    if (status != KEDGE_OK) runner_fail(what, error->message);
}

/* Adds what a copy holds to `items`, and writes it as lines: collection, id and value with tabs
 * between, in the order of their bytes, then the project record. The caller frees the text. */
static char *read_state(kedge_db *db, cJSON *items, size_t *size)
{
    static const char sql[] =
        "SELECT collection, id, value FROM kedge_items ORDER BY collection, id";
    char *text = NULL;
    kedge_error error = {0};
    kedge_query *query = NULL;
    kedge_document *project = NULL;
    FILE *out = open_memstream(&text, size);
    must(kedge_query_open(db, sql, sizeof sql - 1, NULL, 0, &query, &error), &error, "end");
    kedge_status status;
    while ((status = kedge_query_next(query, &error)) == KEDGE_OK) {
        for (int column = 0; column < 3; column++) {
            size_t length = 0;
            const char *value = kedge_query_text(query, column, &length);
            fwrite(value, 1, length, out);
            fputc(column < 2 ? '\t' : '\n', out);
        }
        const char *collection = kedge_query_text(query, 0, NULL);
        cJSON *of = cJSON_GetObjectItemCaseSensitive(items, collection);
        if (!of) of = cJSON_AddObjectToObject(items, collection);
        char *id = strdup(kedge_query_text(query, 1, NULL));
        give_json(of, id, kedge_query_text(query, 2, NULL));
        free(id);
    }
    if (status != KEDGE_DONE) must(status, &error, "end");
    kedge_query_close(query);
    if (kedge_get_project(db, &project, NULL) == KEDGE_OK)
        fprintf(out, "%s\n", kedge_document_json(project, NULL));
    kedge_document_free(project);
    fclose(out);
    return text;
}

static void sync_all(runner *at, const cJSON *names)
{
    kedge_error error = {0};
    const cJSON *name;
    for (int round = 0; round < 2; round++) /* the second brings what others pushed in the first */
        cJSON_ArrayForEach(name, names)
        {
            kedge_db *db = runner_find_copy(at, name->valuestring)->db;
            if (!db) runner_fail("a copy of the end is not open", name->valuestring);
            must(kedge_set_online(db, true, &error), &error, "end");
            must(kedge_sync(db, RUNNER_WAIT_MS, &error), &error, "end");
        }
}

/* All copies have the same bytes, which are those that the scenario says. */
static void check_end(runner *at, const cJSON *scenario, const char *file)
{
    const cJSON *end = cJSON_GetObjectItemCaseSensitive(scenario, "end");
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(end, "copies"), *name;
    const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(end, "items");
    const char *title = step_text(scenario, "name");
    char *first = NULL;
    size_t first_size = 0;
    if (!names || !wanted) runner_fail("no end", title);
    sync_all(at, names);
    cJSON_ArrayForEach(name, names)
    {
        size_t size = 0;
        cJSON *items = cJSON_CreateObject();
        char *state = read_state(runner_find_copy(at, name->valuestring)->db, items, &size);
        if (!is_same(items, wanted)) runner_fail(title, exact_json(items));
        if (first && (size != first_size || memcmp(first, state, size) != 0))
            runner_fail(title, "the copies end with different bytes");
        cJSON_Delete(items);
        if (first) free(first);
        first = state;
        first_size = size;
    }
    FILE *out = fopen(file, "wb");
    if (!out || (first && fwrite(first, 1, first_size, out) != first_size) || fclose(out) != 0)
        runner_fail("cannot write", file);
    free(first);
}

static void run_scenario(const cJSON *scenario, int number, char **arguments)
{
    char state[RUNNER_PATH_BYTES];
    runner at = {.url = arguments[2], .organization = arguments[3]};
    (void)snprintf(at.folder, sizeof at.folder, "%.400s/%d", arguments[4], number);
    (void)snprintf(at.project, sizeof at.project, "scenario%d", number);
    (void)snprintf(state, sizeof state, "%.400s/%d.state", arguments[4], number);
    if (mkdir(at.folder, 0700) != 0) runner_fail("cannot make the folder", at.folder);
    int count = 0;
    const cJSON *step;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(scenario, "steps"))
    {
        run_step(&at, scenario, ++count, step);
    }
    check_end(&at, scenario, state);
    runner_free_watches(&at);
    for (int i = 0; i < RUNNER_COPIES; i++)
        kedge_close(at.copies[i].db);
    printf("ok %d steps: %s\n", count, step_text(scenario, "name"));
}

int main(int count, char **arguments)
{
    if (count != 5) runner_fail("usage", "runner SCENARIOS URL ORGANIZATION FOLDER");
    cJSON *read = read_scenarios(arguments[1]);
    int number = 0;
    const cJSON *scenario;
    cJSON_ArrayForEach(scenario, cJSON_GetObjectItemCaseSensitive(read, "scenarios"))
    {
        run_scenario(scenario, ++number, arguments);
    }
    cJSON_Delete(read);
    printf("%d scenarios passed\n", number);
    return number == 0;
}
