/* The smallest program with Kedge: open, edit, read, print. It needs no server. */
#include <kedge/kedge.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    static const char args[] =
        "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"text\":\"hi\"}}";
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = count > 1 ? arguments[1] : "quickstart.kedge";
    options.organization = "acme";
    options.project = "demo";
    kedge_document *note = NULL;
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK ||
        kedge_mutate(db, "kedge.put", args, sizeof args - 1, NULL, &error) != KEDGE_OK ||
        kedge_get(db, "notes", "1", 1, &note, &error) != KEDGE_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    printf("%s\n", kedge_document_json(note, NULL));
    kedge_document_free(note);
    kedge_close(db);
}
