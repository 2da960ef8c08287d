/* Opening and closing. Opening repairs the state that a crash left: covered mutations that were not
 * deleted yet, a prediction that does not fit the outbox, a damaged cache. */
#include "sdk/store/client_only.h"
#include "sdk/store/index.h"
#include "sdk/store/outbox_heal.h"
#include "sdk/store/prediction.h"
#include "sdk/store/pull.h"

#include "common/error.h"
#include "common/names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kedge_status check_options(const kedge_store_options *options, kedge_error *error)
{
    kedge_status status = kedge_store_check_path(options->path, options->vfs, error);
    if (status == KEDGE_OK)
        status = kedge_check_name("organization", kedge_bytes_of(options->organization), error);
    if (status == KEDGE_OK)
        status = kedge_check_name("project", kedge_bytes_of(options->project), error);
    return status;
}

static char *copy(const kedge_store *store, const char *text)
{
    return kedge_copy_text(store->allocator, kedge_bytes_of(text ? text : ""));
}

static char *path_of(const kedge_store *store, const char *folder, const char *name)
{
    char path[KEDGE_STORE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return copy(store, path);
}

static kedge_status copy_options(kedge_store *store, const kedge_store_options *options,
                                 kedge_error *error)
{
    store->phase = options->phase;
    store->phase_context = options->phase_context;
    store->set_aside = options->set_aside;
    store->set_aside_context = options->set_aside_context;
    store->query_steps = KEDGE_STORE_QUERY_STEPS;
    store->refused = options->refused;
    store->refused_context = options->refused_context;
    store->observer = options->observer;
    store->registry = options->registry;
    store->server_wait_ms = options->server_wait_ms;
    store->path = copy(store, options->path);
    store->cache_path = path_of(store, options->path, "cache.db");
    store->outbox_path = path_of(store, options->path, "outbox.db");
    store->organization = copy(store, options->organization);
    store->project = copy(store, options->project);
    store->user = copy(store, options->user);
    store->role = copy(store, options->role);
    if (options->vfs) store->vfs = copy(store, options->vfs);
    if (!store->path || !store->cache_path || !store->outbox_path || !store->organization ||
        !store->project || !store->user || !store->role || (options->vfs && !store->vfs))
        return kedge_fail_no_memory(error);
    return kedge_registry_describe(store->registry, &store->registry_text, error);
}

/* The folder's entry in its parent must be as durable as the files in the folder. */
static void sync_parent(const char *path)
{
    char parent[KEDGE_STORE_PATH_BYTES + 4];
    (void)snprintf(parent, sizeof parent, "%s/..", path);
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

static kedge_status make_folder(const char *path, kedge_error *error)
{
    struct stat facts;
    if (mkdir(path, 0700) == 0) {
        sync_parent(path);
        return KEDGE_OK;
    }
    int code = errno;
    if (code == EEXIST && stat(path, &facts) == 0) {
        if (S_ISDIR(facts.st_mode)) return KEDGE_OK;
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-folder",
                          "%s is a file; a database is a folder", path);
    }
    return kedge_fail(error, code == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO, "folder-not-made",
                      "the folder %s cannot be made: %s", path, strerror(code));
}

static kedge_status read_registry(kedge_store *store, bool *same, kedge_error *error)
{
    static const char *const sql = "SELECT description FROM registry";
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(&store->cache, sql, &find, error, "");
    if (status == KEDGE_DONE)
        return kedge_store_db_fail(&store->cache, SQLITE_CORRUPT, "reading the mutators", error);
    if (status != KEDGE_OK) return status;
    *same =
        kedge_bytes_equal(kedge_store_column(find, 0), kedge_buffer_bytes(&store->registry_text));
    sqlite3_reset(find);
    return KEDGE_OK;
}

static kedge_status write_registry(kedge_store *store, kedge_error *error)
{
    static const char *const sql = "UPDATE registry SET description = ?1";
    return kedge_store_db_change(&store->cache, sql, error, "t",
                                 kedge_buffer_bytes(&store->registry_text));
}

/* All processes that have the folder open must predict with the same mutators. A process that opens
 * it alone may register other ones; the prediction is then rebuilt. */
static kedge_status check_registry(kedge_store *store, bool alone, bool *rebuild,
                                   kedge_error *error)
{
    bool same = false;
    kedge_status status = read_registry(store, &same, error);
    *rebuild = !same;
    if (status != KEDGE_OK || same) return status;
    if (!alone)
        return kedge_fail(error, KEDGE_REGISTRY_MISMATCH, "registry-mismatch",
                          "another process has %s open with other mutators", store->path);
    return KEDGE_OK;
}

/* A disk without room for an index, or a file that cannot be written, makes queries slower and
 * nothing else. */
static kedge_status fit_indexes(kedge_store *store, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = kedge_index_fit(store, &why);
    if (status != KEDGE_CORRUPT && status != KEDGE_NO_MEMORY) return KEDGE_OK;
    if (error) *error = why;
    return status;
}

/* Repairs the state that a crash left, and rebuilds the prediction for a new registry. On a full
 * disk the store opens and is stale. */
static kedge_status repair_work(kedge_store *store, void *context, kedge_error *error)
{
    bool rebuild = false;
    bool alone = false;
    (void)context;
    kedge_status status = kedge_store_presence(store, &alone, error);
    store->in_company = !alone; /* the observer does not see the others yet */
    if (status == KEDGE_OK) status = kedge_outbox_check_file(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_heal(store, error);
    if (status == KEDGE_OK) status = check_registry(store, alone, &rebuild, error);
    if (status != KEDGE_OK) return status;
    status = kedge_prediction_repair(store, rebuild, NULL, error);
    /* After the repair, which has reset the lmid of a cache that is newer than the outbox: what
     * such a cache covers is decided, but the outcomes are not known here. */
    if (status == KEDGE_OK) kedge_pull_settle(store);
    /* Written after the rebuild, so that a crash in between repeats it. */
    if (status == KEDGE_OK && rebuild) status = write_registry(store, error);
    if (status == KEDGE_OK) status = fit_indexes(store, error);
    store->conflicts_due = true;
    if (status == KEDGE_OK) status = kedge_store_remake(store, NULL, error);
    if (status != KEDGE_DISK_FULL) return status;
    kedge_shadow_note(store, status);
    return KEDGE_OK;
}

static kedge_status open_files(kedge_store *store, kedge_error *error)
{
    bool fresh = false;
    kedge_status status = kedge_store_lock(store, error);
    if (status != KEDGE_OK) return status;
    status = kedge_schema_open_outbox(store, &fresh, error);
    if (status == KEDGE_OK) status = kedge_schema_open_cache(store, fresh, error);
    kedge_change_log_end_turn(store);
    kedge_store_unlock(store);
    return status;
}

static kedge_store *make(const kedge_store_options *options)
{
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_store *store = kedge_allocate(allocator, sizeof *store);
    if (!store) return NULL;
    store->environment = options->environment;
    store->allocator = allocator;
    kedge_footprints_init(&store->footprints, allocator);
    kedge_undo_log_init(&store->undo, allocator);
    store->registry_text = kedge_buffer_make(allocator);
    store->lock_file = store->presence_file = -1;
    atomic_init(&store->check_due, true);
    store->mutex_made = pthread_mutex_init(&store->mutex, NULL) == 0;
    store->queue_made = pthread_mutex_init(&store->queue, NULL) == 0;
    store->readers_mutex_made = pthread_mutex_init(&store->readers_mutex, NULL) == 0;
    store->refusal_mutex_made = pthread_mutex_init(&store->refusal_mutex, NULL) == 0;
    if (store->mutex_made && store->queue_made && store->readers_mutex_made &&
        store->refusal_mutex_made)
        return store;
    kedge_store_close(store);
    return NULL;
}

kedge_status kedge_store_open(const kedge_store_options *options, kedge_store **store,
                              kedge_error *error)
{
    kedge_status status = check_options(options, error);
    if (status != KEDGE_OK) return status;
    kedge_store *made = make(options);
    if (!made) return kedge_fail_no_memory(error);
    status = copy_options(made, options, error);
    if (status == KEDGE_OK) status = make_folder(made->path, error);
    if (status == KEDGE_OK) status = kedge_store_locks_open(made, error);
    if (status == KEDGE_OK) status = open_files(made, error);
    if (status == KEDGE_OK) status = kedge_store_take_turn(made, repair_work, NULL, error);
    made->untold = false; /* no reader has seen the old state */
    if (status == KEDGE_OK)
        *store = made;
    else
        kedge_store_close(made);
    return status;
}

void kedge_store_close(kedge_store *store)
{
    if (!store) return;
    const kedge_allocator *allocator = store->allocator;
    kedge_cache_check_end(store);
    kedge_readers_close(store);
    kedge_shadow_free(store);
    kedge_footprints_clear(&store->footprints);
    kedge_undo_log_clear(&store->undo);
    kedge_store_db_close(&store->cache);
    kedge_store_db_close(&store->outbox);
    kedge_store_locks_close(store);
    char *texts[] = {store->path,    store->cache_path, store->outbox_path, store->organization,
                     store->project, store->user,       store->role,        store->vfs};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        kedge_release(allocator, texts[i]);
    kedge_buffer_free(&store->registry_text);
    if (store->mutex_made) pthread_mutex_destroy(&store->mutex);
    if (store->queue_made) pthread_mutex_destroy(&store->queue);
    if (store->readers_mutex_made) pthread_mutex_destroy(&store->readers_mutex);
    if (store->refusal_mutex_made) pthread_mutex_destroy(&store->refusal_mutex);
    kedge_release(allocator, store);
}
