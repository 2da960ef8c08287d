/* What scripts/packages/check runs with an installed Kedge: hello FOLDER URL, and a token in
 * KEDGE_TOKEN. Puts the note "c", syncs, and prints it. */
#include <kedge/kedge.h>
#include <stdio.h>
#include <stdlib.h>

static kedge_status token(void *userdata, char *buffer, size_t size)
{
    (void)userdata;
    return snprintf(buffer, size, "%s", getenv("KEDGE_TOKEN")) < (int)size ? KEDGE_OK
                                                                           : KEDGE_UNAUTHORIZED;
}

int main(int count, char **arguments)
{
    static const char args[] =
        "{\"collection\":\"notes\",\"id\":\"c\",\"value\":{\"text\":\"hi\"}}";
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_document *note = NULL;
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (count != 3 || getenv("KEDGE_TOKEN") == NULL) return 2;
    options.path = arguments[1], options.url = arguments[2], options.token = token;
    options.organization = "acme", options.project = "todo";
    if (kedge_open(&options, &db, &error) != KEDGE_OK ||
        kedge_mutate(db, "kedge.put", args, sizeof args - 1, NULL, &error) != KEDGE_OK ||
        kedge_sync(db, 30000, &error) != KEDGE_OK ||
        kedge_get(db, "notes", "c", 1, &note, &error) != KEDGE_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    printf("%s\n", kedge_document_json(note, NULL));
    kedge_document_free(note);
    kedge_close(db);
}
