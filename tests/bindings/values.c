/* The JSON of scenarios: see values.h. */
#include "tests/bindings/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noreturn)) void runner_fail(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", what, which);
    exit(1);
}

const char *step_text_or_null(const cJSON *step, const char *member)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(step, member));
}

const char *step_text(const cJSON *step, const char *member)
{
    const char *text = step_text_or_null(step, member);
    if (!text) runner_fail("a step lacks the text", member);
    return text;
}

int64_t step_integer(const cJSON *step, const char *member, int64_t otherwise)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(step, member);
    return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : otherwise;
}

/* Replaces each number by its text with all digits, of which cJSON cuts some when it prints, and
 * leaves out some when it compares. */
static void write_numbers(cJSON *tree)
{
    for (cJSON *each = tree; each; each = each->next) {
        char digits[32];
        write_numbers(each->child);
        if (!cJSON_IsNumber(each)) continue;
        (void)snprintf(digits, sizeof digits, "%.17g", each->valuedouble);
        each->type = (each->type & ~0xff) | cJSON_Raw;
        each->valuestring = strdup(digits);
    }
}

static cJSON *with_all_digits(const cJSON *value)
{
    cJSON *tree = cJSON_Duplicate(value, true);
    if (!tree) runner_fail("no memory", "json");
    write_numbers(tree);
    return tree;
}

char *exact_json(const cJSON *value)
{
    cJSON *tree = with_all_digits(value);
    char *json = cJSON_PrintUnformatted(tree);
    if (!json) runner_fail("no memory", "json");
    cJSON_Delete(tree);
    return json;
}

bool is_same(const cJSON *wanted, const cJSON *given)
{
    cJSON *one = with_all_digits(wanted), *other = with_all_digits(given);
    bool same = cJSON_Compare(one, other, true);
    cJSON_Delete(one);
    cJSON_Delete(other);
    return same;
}

char *step_json(const cJSON *step, const char *member)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(step, member);
    return value ? exact_json(value) : strdup("");
}

void give_json(cJSON *given, const char *member, const char *json)
{
    cJSON *value = cJSON_Parse(json);
    if (!value) runner_fail("Kedge gave what is no JSON", json);
    cJSON_AddItemToObject(given, member, value);
}

/* Lists of objects that are compared by the members that are named. */
static bool is_list_of_objects(const char *member)
{
    return strcmp(member, "mutations") == 0 || strcmp(member, "changes") == 0 ||
           strcmp(member, "versions") == 0 || strcmp(member, "results") == 0;
}

static bool lists_match(const cJSON *wanted, const cJSON *given)
{
    if (cJSON_GetArraySize(wanted) != cJSON_GetArraySize(given)) return false;
    const cJSON *of = given->child;
    for (const cJSON *each = wanted->child; each; each = each->next, of = of->next)
        if (!gives_match(each, of)) return false;
    return true;
}

bool gives_match(const cJSON *wanted, const cJSON *given)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, wanted)
    {
        const cJSON *of = cJSON_GetObjectItemCaseSensitive(given, each->string);
        if (!of) return false;
        if (is_list_of_objects(each->string) ? !lists_match(each, of) : !is_same(each, of))
            return false;
    }
    return true;
}

static const char *connection_name(kedge_connection connection)
{
    static const char *const names[] = {"offline", "follower", "connecting", "online", "stopped"};
    return names[connection];
}

void give_status(cJSON *given, const kedge_sync_status *status)
{
    cJSON_AddStringToObject(given, "connection", connection_name(status->connection));
    cJSON_AddBoolToObject(given, "resyncing", status->resyncing);
    cJSON_AddNumberToObject(given, "version", (double)status->version);
    cJSON_AddNumberToObject(given, "pending", (double)status->pending);
    cJSON_AddNumberToObject(given, "rejected", (double)status->rejected);
    cJSON_AddNumberToObject(given, "withheld", (double)status->withheld);
    cJSON_AddNumberToObject(given, "unrecovered", (double)status->unrecovered);
    cJSON_AddStringToObject(given, "last_error", kedge_status_name(status->last_error.status));
}

cJSON *mutation_object(const kedge_mutation *mutation)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "sequence", (double)mutation->sequence);
    cJSON_AddBoolToObject(object, "sent", mutation->sent);
    cJSON_AddBoolToObject(object, "withheld", mutation->withheld);
    cJSON_AddStringToObject(object, "name", mutation->name);
    give_json(object, "args", mutation->args);
    cJSON_AddStringToObject(object, "code", mutation->code);
    return object;
}

static void add_value(cJSON *object, const char *member, const char *value)
{
    if (value)
        give_json(object, member, value);
    else
        cJSON_AddNullToObject(object, member);
}

cJSON *change_object(const kedge_change *change)
{
    static const char *const sources[] = {"", "local", "pulled", "other-process"};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "collection", change->collection);
    cJSON_AddStringToObject(object, "id", change->id);
    add_value(object, "old", change->old_value);
    add_value(object, "new", change->new_value);
    cJSON_AddStringToObject(object, "source", sources[change->source]);
    return object;
}

cJSON *result_object(const kedge_query_changes *changes)
{
    static const char *const kinds[] = {"", "added", "changed", "removed"};
    cJSON *object = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(object, "rows");
    for (size_t i = 0; i < changes->count; i++) {
        const kedge_row_change *change = &changes->rows[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "kind", kinds[change->kind]);
        cJSON_AddStringToObject(row, "key", change->key);
        add_value(row, "old", change->old_row);
        add_value(row, "new", change->new_row);
        cJSON_AddNumberToObject(row, "old_position", (double)change->old_position);
        cJSON_AddNumberToObject(row, "new_position", (double)change->new_position);
        cJSON_AddItemToArray(rows, row);
    }
    cJSON_AddNumberToObject(object, "row_count", (double)changes->row_count);
    cJSON_AddBoolToObject(object, "first", changes->first);
    cJSON_AddBoolToObject(object, "local", changes->local);
    cJSON_AddBoolToObject(object, "pulled", changes->pulled);
    cJSON_AddStringToObject(object, "code", changes->error ? changes->error->code : "");
    return object;
}

const char *told_list(const cJSON *wanted)
{
    if (cJSON_HasObjectItem(wanted, "results")) return "results";
    return cJSON_HasObjectItem(wanted, "mutations") ? "mutations" : "changes";
}

cJSON *blob_object(const char *bytes, size_t size)
{
    cJSON *object = cJSON_CreateObject();
    char *hex = calloc(2 * size + 1, 1);
    if (!hex) runner_fail("no memory", "query");
    for (size_t i = 0; i < size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
    cJSON_AddStringToObject(object, "hex", hex);
    free(hex);
    return object;
}

/* Says what a step should have done, and ends the program. */
static _Noreturn void wrong_step(const cJSON *scenario, int number, const cJSON *step,
                                 const char *wanted, const char *got)
{
    fprintf(stderr, "scenario \"%s\", step %d (%s): wanted %s, got %s\n",
            step_text(scenario, "name"), number, step_text(step, "do"), wanted, got);
    exit(1);
}

static void check_failure(const cJSON *scenario, int number, const cJSON *step, kedge_status status,
                          const kedge_error *error)
{
    const cJSON *fails = cJSON_GetObjectItemCaseSensitive(step, "fails");
    const char *wanted = fails ? step_text(fails, "status") : "ok";
    const char *code = fails ? step_text_or_null(fails, "code") : NULL;
    char got[512];
    (void)snprintf(got, sizeof got, "%s %s: %s", kedge_status_name(status), error->code,
                   error->message);
    if (strcmp(kedge_status_name(status), wanted) != 0)
        wrong_step(scenario, number, step, wanted, got);
    if (code && strcmp(code, error->code) != 0) wrong_step(scenario, number, step, code, got);
}

void check_step(const cJSON *scenario, int number, const cJSON *step, kedge_status status,
                const kedge_error *error, const cJSON *given)
{
    const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(step, "gives");
    check_failure(scenario, number, step, status, error);
    if (wanted && !gives_match(wanted, given))
        wrong_step(scenario, number, step, exact_json(wanted), exact_json(given));
}

cJSON *read_scenarios(const char *path)
{
    static char text[1 << 20];
    FILE *in = fopen(path, "rb");
    if (!in) runner_fail("cannot read", path);
    size_t size = fread(text, 1, sizeof text, in);
    fclose(in);
    cJSON *read = cJSON_ParseWithLength(text, size);
    if (!read || step_integer(read, "format", 0) != 1) runner_fail("no scenarios", path);
    return read;
}
