/* Notes, lists and history as text for a terminal. */
#include "notes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#define HISTORY_VERSIONS   20
#define HISTORY_TIMEOUT_MS 60000

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

bool notes_find(kedge_db *db, const char *prefix, char id[NOTES_ID_SIZE])
{
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    options.prefix = prefix;
    options.prefix_size = strlen(prefix);
    options.limit = 2;
    kedge_scan *scan = NULL;
    kedge_error error = {0};
    if (kedge_scan_open(db, NOTES_COLLECTION, &options, &scan, &error) != KEDGE_OK) {
        notes_fail(&error);
        return false;
    }
    const char *found = NULL;
    const char *value = NULL;
    size_t id_size = 0;
    size_t value_size = 0;
    int matches = 0;
    kedge_status status;
    while ((status = kedge_scan_next(scan, &found, &id_size, &value, &value_size, &error)) ==
           KEDGE_OK) {
        snprintf(id, NOTES_ID_SIZE, "%s", found);
        matches++;
    }
    kedge_scan_close(scan);
    if (status != KEDGE_DONE) {
        notes_fail(&error);
        return false;
    }
    if (matches != 1) {
        fprintf(stderr, "notes: %s note has an id that starts with \"%s\"\n",
                matches == 0 ? "no" : "more than one", prefix);
    }
    return matches == 1;
}

int notes_print_list(kedge_db *db)
{
    kedge_query *query = NULL;
    kedge_error error = {0};
    static const char sql[] = "SELECT id, value ->> 'title', value ->> 'text', value ->> 'folder' "
                              "FROM kedge_items WHERE collection = 'notes' ORDER BY 4, 2, 1";
    if (kedge_query_open(db, sql, sizeof sql - 1, NULL, 0, &query, &error) != KEDGE_OK) {
        return notes_fail(&error);
    }
    int rows = 0;
    kedge_status status;
    while ((status = kedge_query_next(query, &error)) == KEDGE_OK) {
        const char *folder = kedge_query_text(query, 3, NULL);
        printf("  %-8.8s  %-12s %s: %s\n", kedge_query_text(query, 0, NULL),
               folder && *folder ? folder : "-", kedge_query_text(query, 1, NULL),
               kedge_query_text(query, 2, NULL));
        rows++;
    }
    kedge_query_close(query);
    if (status != KEDGE_DONE) return notes_fail(&error);
    if (rows == 0) puts("  (no notes)");
    return TERMINAL_DONE;
}

int notes_print_note(kedge_db *db, const char *id)
{
    kedge_document *document = NULL;
    kedge_error error = {0};
    if (kedge_get(db, NOTES_COLLECTION, id, strlen(id), &document, &error) != KEDGE_OK) {
        return notes_fail(&error);
    }
    printf("%s %s\n", id, kedge_document_json(document, NULL));
    kedge_document_free(document);
    return TERMINAL_DONE;
}

int notes_print_pending(kedge_db *db)
{
    kedge_mutation_list *list = NULL;
    kedge_error error = {0};
    if (kedge_pending_open(db, &list, &error) != KEDGE_OK) return notes_fail(&error);
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    int rows = 0;
    kedge_status status;
    while ((status = kedge_mutation_list_next(list, &mutation, &error)) == KEDGE_OK) {
        printf("  edit %lld %s: %s %s\n", (long long)mutation.sequence,
               mutation.sent ? "(sent)" : "(not sent)", mutation.name, mutation.args);
        rows++;
    }
    kedge_mutation_list_close(list);
    if (status != KEDGE_DONE) return notes_fail(&error);
    if (rows == 0) puts("  (nothing is pending)");
    return TERMINAL_DONE;
}

int notes_print_conflicts(kedge_db *db)
{
    kedge_mutation_list *list = NULL;
    kedge_error error = {0};
    if (kedge_rejected_open(db, &list, &error) != KEDGE_OK) return notes_fail(&error);
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    int rows = 0;
    kedge_status status;
    while ((status = kedge_mutation_list_next(list, &mutation, &error)) == KEDGE_OK) {
        printf("  rejected edit %lld: %s (%s)\n    %s %s\n", (long long)mutation.sequence,
               mutation.message, mutation.code, mutation.name, mutation.args);
        rows++;
    }
    kedge_mutation_list_close(list);
    if (status != KEDGE_DONE) return notes_fail(&error);
    if (rows == 0) puts("  (no conflicts)");
    return TERMINAL_DONE;
}

int notes_print_history(kedge_db *db)
{
    kedge_document *document = NULL;
    kedge_error error = {0};
    if (kedge_history(db, 0, HISTORY_VERSIONS, HISTORY_TIMEOUT_MS, &document, &error) != KEDGE_OK) {
        return notes_fail(&error);
    }
    size_t size = 0;
    const char *json = kedge_document_json(document, &size);
    cJSON *versions = cJSON_ParseWithLength(json, size);
    const cJSON *version = NULL;
    cJSON_ArrayForEach(version, versions)
    {
        printf("  version %.0f\n",
               cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(version, "version")));
        const cJSON *mutation = NULL;
        cJSON_ArrayForEach(mutation, cJSON_GetObjectItemCaseSensitive(version, "mutations"))
        {
            char *args = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(mutation, "args"));
            printf("    %.8s/%.0f %s %s %s%s%s\n", text_of(mutation, "client"),
                   cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(mutation, "id")),
                   text_of(mutation, "outcome"), text_of(mutation, "name"), args ? args : "",
                   *text_of(mutation, "message") ? ": " : "", text_of(mutation, "message"));
            cJSON_free(args);
        }
    }
    cJSON_Delete(versions);
    kedge_document_free(document);
    return TERMINAL_DONE;
}
