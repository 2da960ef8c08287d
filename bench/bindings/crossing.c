/* What reads and edits cost in C, for bindings.py, which says what is asked: crossing FOLDER. */
#include <kedge/kedge.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEMS       1000
#define LARGE_BYTES 1000000

static kedge_db *db;
static char text[LARGE_BYTES + 1];

static void check(kedge_status status, const kedge_error *error)
{
    if (status == KEDGE_OK || status == KEDGE_DONE) return;
    fprintf(stderr, "%s: %s\n", error->code, error->message);
    exit(1);
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static size_t put(const char *id, int n, int text_size)
{
    static char args[LARGE_BYTES + 256];
    kedge_error error = {0};
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":{\"n\":%d,\"text\":"
                        "\"%.*s\"}}",
                        id, n, text_size, text);
    check(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error), &error);
    return (size_t)size;
}

static size_t get(const char *id)
{
    size_t size = 0;
    kedge_document *document = NULL;
    kedge_error error = {0};
    check(kedge_get(db, "notes", id, strlen(id), &document, &error), &error);
    kedge_document_json(document, &size);
    kedge_document_free(document);
    return size;
}

static kedge_scan *open_scan(void)
{
    const kedge_scan_options options = {KEDGE_SCAN_OPTIONS_VERSION, sizeof options, .prefix = "i",
                                        .prefix_size = 1};
    kedge_scan *found = NULL;
    kedge_error error = {0};
    check(kedge_scan_open(db, "notes", &options, &found, &error), &error);
    return found;
}

typedef struct row {
    const char *id, *value;
    size_t id_size, value_size;
} row;

static bool next(kedge_scan *found, row *read, kedge_error *error)
{
    const kedge_status status =
        kedge_scan_next(found, &read->id, &read->id_size, &read->value, &read->value_size, error);
    check(status, error);
    return status == KEDGE_OK;
}

static size_t scan(void)
{
    size_t bytes = 0;
    row read;
    kedge_error error = {0};
    kedge_scan *found = open_scan();
    while (next(found, &read, &error))
        bytes += read.id_size + read.value_size;
    kedge_scan_close(found);
    return bytes;
}

static const char *copy(const char *bytes, size_t size)
{
    char *made = malloc(size + 1);
    if (!made) exit(1);
    return memcpy(made, bytes, size + 1);
}

/* What is written here was made: a compiler may leave out a copy that nobody sees. */
static const char *volatile shown[2];

/* A row is gone with the next one: who needs it longer copies it. */
static size_t scan_texts(void)
{
    size_t bytes = 0;
    row read;
    kedge_error error = {0};
    kedge_scan *found = open_scan();
    while (next(found, &read, &error)) {
        const char *id = copy(read.id, read.id_size), *value = copy(read.value, read.value_size);
        shown[0] = id, shown[1] = value;
        bytes += read.id_size + read.value_size;
        free((char *)id);
        free((char *)value);
    }
    kedge_scan_close(found);
    return bytes;
}

static size_t scan_kept(void)
{
    size_t bytes = 0, count = 0, room = 0;
    row *rows = NULL, read;
    kedge_error error = {0};
    kedge_scan *found = open_scan();
    while (next(found, &read, &error)) {
        if (count == room) rows = realloc(rows, (room = 2 * room + 8) * sizeof *rows);
        if (!rows) exit(1);
        rows[count++] = (row){copy(read.id, read.id_size), copy(read.value, read.value_size),
                              read.id_size, read.value_size};
    }
    kedge_scan_close(found);
    for (size_t i = 0; i < count; i++) {
        bytes += rows[i].id_size + rows[i].value_size;
        free((char *)rows[i].id);
        free((char *)rows[i].value);
    }
    free(rows);
    return bytes;
}

static size_t work(const char *name, int number)
{
    char id[16];
    snprintf(id, sizeof id, "i%03d", number % ITEMS);
    if (strcmp(name, "mutate") == 0) return put(id, number, 100);
    if (strcmp(name, "get") == 0) return get(id);
    if (strcmp(name, "scan") == 0) return scan();
    if (strcmp(name, "scan-texts") == 0) return scan_texts();
    if (strcmp(name, "scan-kept") == 0) return scan_kept();
    if (strcmp(name, "put-large") == 0) return put("large", number, LARGE_BYTES);
    if (strcmp(name, "get-large") == 0) return get("large");
    exit(2);
}

int main(int count, char **arguments)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_error error = {0};
    char name[16];
    int calls = 0;
    if (count != 2) return 2;
    memset(text, 'x', LARGE_BYTES);
    options.path = arguments[1];
    options.organization = "demo";
    options.project = "bench";
    check(kedge_open(&options, &db, &error), &error);
    while (scanf("%15s %d", name, &calls) == 2) {
        size_t bytes = 0;
        int64_t started_us = clock_us(CLOCK_MONOTONIC);
        int64_t cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            bytes += work(name, i);
        printf("%lld %lld %zu 0\n", (long long)(clock_us(CLOCK_MONOTONIC) - started_us),
               (long long)(clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us), bytes);
        fflush(stdout);
    }
    check(kedge_close(db), &error);
    return 0;
}
