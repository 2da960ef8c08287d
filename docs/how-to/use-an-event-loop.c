/* An app with one thread: it waits for its input and for Kedge in the same poll(). Each line of the
 * input becomes a note: note-1, note-2 and so on. Returns at the end of the input. */
#include <cjson/cJSON.h>
#include <kedge/kedge.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

kedge_status take_notes(kedge_db *db, int input, kedge_error *error);

/* cJSON writes what a text of JSON needs, such as \" for a quotation mark. */
static kedge_status add_note(kedge_db *db, int number, const char *text, kedge_error *error)
{
    char id[32];
    kedge_status status = KEDGE_NO_MEMORY;
    cJSON *args = cJSON_CreateObject();
    cJSON *note = cJSON_AddObjectToObject(args, "value");
    (void)snprintf(id, sizeof id, "note-%d", number);
    bool made = cJSON_AddStringToObject(args, "collection", "notes") != NULL &&
                cJSON_AddStringToObject(args, "id", id) != NULL &&
                cJSON_AddStringToObject(note, "text", text) != NULL;
    char *json = made ? cJSON_PrintUnformatted(args) : NULL;
    if (json != NULL) status = kedge_mutate(db, "kedge.put", json, strlen(json), NULL, error);
    cJSON_free(json);
    cJSON_Delete(args);
    return status;
}

kedge_status take_notes(kedge_db *db, int input, kedge_error *error)
{
    struct pollfd set[] = {{.fd = input, .events = POLLIN},
                           {.fd = kedge_loop_descriptor(db), .events = POLLIN}};
    FILE *lines = fdopen(input, "r");
    char line[401];
    int32_t wait_ms = 0;
    kedge_status status = kedge_loop_run(db, &wait_ms, error);
    setvbuf(lines, NULL, _IONBF, 0); /* so that poll() knows all that was not read */
    for (int number = 1; status == KEDGE_OK;) {
        poll(set, 2, wait_ms);
        if (set[0].revents != 0) {
            if (fgets(line, sizeof line, lines) == NULL) break;
            line[strcspn(line, "\n")] = '\0';
            status = add_note(db, number++, line, error);
        }
        if (status == KEDGE_OK) status = kedge_loop_run(db, &wait_ms, error);
    }
    fclose(lines);
    return status;
}
