/* A shopping list that works offline: adds an item, refuses what it may not do, shows the list, and
 * syncs when it is given a server.
 *     first-app FOLDER [URL] */
#include <kedge/kedge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(kedge_status status, const kedge_error *error)
{
    if (status == KEDGE_OK) return;
    fprintf(stderr, "%s: %s\n", error->code, error->message);
    exit(1);
}

/* An edit is a mutation: a mutator's name, and its arguments as JSON. */
static void add(kedge_db *db, const char *id, const char *value)
{
    char args[256];
    kedge_error error = {0};
    int size = snprintf(args, sizeof args, "{\"collection\":\"list\",\"id\":\"%s\",\"value\":%s}",
                        id, value);
    check(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error), &error);
}

/* A refused edit leaves nothing behind and says why. */
static void patch_what_is_not_there(kedge_db *db)
{
    static const char args[] =
        "{\"collection\":\"list\",\"id\":\"tea\","
        "\"patch\":[{\"op\":\"replace\",\"path\":\"/done\",\"value\":true}]}";
    kedge_error error = {0};
    kedge_status status = kedge_mutate(db, "kedge.patch", args, strlen(args), NULL, &error);
    printf("tea: %s\n", kedge_status_name(status));
}

static void show(kedge_db *db)
{
    kedge_scan *scan = NULL;
    kedge_error error = {0};
    const char *id;
    const char *value;
    size_t id_size;
    size_t value_size;
    check(kedge_scan_open(db, "list", NULL, &scan, &error), &error);
    while (kedge_scan_next(scan, &id, &id_size, &value, &value_size, &error) == KEDGE_OK) {
        printf("%s %s\n", id, value);
    }
    kedge_scan_close(scan);
}

int main(int count, char **arguments)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (count < 2) return 2;
    options.path = arguments[1];
    options.url = count > 2 ? arguments[2] : NULL;
    options.organization = "acme";
    options.project = "groceries";
    check(kedge_open(&options, &db, &error), &error);

    add(db, "bread", "{\"count\":1}");
    add(db, "milk", "{\"count\":2}");
    patch_what_is_not_there(db);
    show(db);
    if (options.url != NULL) check(kedge_sync(db, 10000, &error), &error);
    check(kedge_get_sync_status(db, &status, &error), &error);
    printf("version %lld, %lld pending\n", (long long)status.version, (long long)status.pending);
    kedge_close(db);
    return 0;
}
