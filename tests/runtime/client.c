/* Helpers over the public API. */
#include "tests/runtime/client.h"
#include "tests/support/temporary.h"

#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

void client_make_folder(char path[CLIENT_PATH_SIZE])
{
    assert_true(temporary_folder(path, CLIENT_PATH_SIZE, "runtime"));
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

void client_remove_folder(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

char client_folder[CLIENT_PATH_SIZE];

int client_setup_folder(void **state)
{
    client_make_folder(client_folder);
    *state = client_folder;
    return 0;
}

int client_teardown_folder(void **state)
{
    client_remove_folder(*state);
    return 0;
}

kedge_options client_options(const char *path, const char *url)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = path;
    options.url = url;
    options.organization = "acme";
    options.project = "plan";
    return options;
}

kedge_db *client_open(const kedge_options *options)
{
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(options, &db, &error) != KEDGE_OK) fail_msg("%s", error.message);
    return db;
}

int64_t client_put(kedge_db *db, const char *id, const char *value)
{
    char args[512];
    int64_t sequence = 0;
    kedge_error error = {0};
    int size = snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":%s}",
                        id, value);
    if (kedge_mutate(db, "kedge.put", args, (size_t)size, &sequence, &error) != KEDGE_OK) {
        fail_msg("%s", error.message);
    }
    return sequence;
}

const char *client_get(kedge_db *db, const char *id)
{
    static char value[512];
    kedge_document *document = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_get(db, "notes", id, strlen(id), &document, &error);
    if (status == KEDGE_NOT_FOUND) return "";
    if (status != KEDGE_OK) fail_msg("%s", error.message);
    snprintf(value, sizeof value, "%s", kedge_document_json(document, NULL));
    kedge_document_free(document);
    return value;
}

int64_t client_count(kedge_db *db)
{
    kedge_scan *scan = NULL;
    const char *id;
    const char *value;
    size_t id_size;
    size_t value_size;
    int64_t count = 0;
    assert_int_equal(kedge_scan_open(db, "notes", NULL, &scan, NULL), KEDGE_OK);
    while (kedge_scan_next(scan, &id, &id_size, &value, &value_size, NULL) == KEDGE_OK) {
        count++;
    }
    kedge_scan_close(scan);
    return count;
}

kedge_sync_status client_status(kedge_db *db)
{
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    assert_int_equal(kedge_get_sync_status(db, &status, NULL), KEDGE_OK);
    return status;
}

int64_t client_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool client_wait_connection(kedge_db *db, kedge_connection connection)
{
    int64_t until = client_now_ms() + 60000;
    while (client_status(db).connection != connection) {
        if (client_now_ms() > until) return false;
        poll(NULL, 0, 2);
    }
    return true;
}

bool client_wait_error(kedge_db *db)
{
    int64_t until = client_now_ms() + 60000;
    while (client_status(db).last_error.status == KEDGE_OK) {
        if (client_now_ms() > until) return false;
        poll(NULL, 0, 2);
    }
    return true;
}

typedef struct work {
    void (*function)(void *argument);
    void *argument;
} work;

static void *run_work(void *context)
{
    work *one = context;
    one->function(one->argument);
    free(one);
    return NULL;
}

void client_dispatch(void *userdata, void (*function)(void *argument), void *argument)
{
    pthread_t thread;
    work *one = malloc(sizeof *one);
    (void)userdata;
    *one = (work){function, argument};
    assert_int_equal(pthread_create(&thread, NULL, run_work, one), 0);
    pthread_detach(thread);
}
