/* Declared indexes, as an app makes, drops and lists them. */
#include "sdk/store/index.h"

#include "common/error.h"
#include "common/names.h"

#include <string.h>

typedef struct declaring {
    kedge_declared_index index;
    kedge_declared declared;
} declaring;

static kedge_status begin(kedge_store *store, declaring *work, kedge_error *error)
{
    kedge_status status = kedge_store_db_begin(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_declared_read(&store->outbox, &work->declared, error);
    return status;
}

/* The declared index that takes the name: to SQLite names that differ in case are the same. */
static const kedge_declared_index *find_holder(const kedge_declared *declared, const char *name)
{
    for (size_t i = 0; i < declared->count; i++)
        if (sqlite3_stricmp(declared->rows[i].name, name) == 0) return &declared->rows[i];
    return NULL;
}

/* An index of the cache that the outbox does not declare is dropped when the folder is opened, and
 * one that is missing is made then. So what fails, or is cut off by a crash, changes nothing that
 * was declared. */
static kedge_status declare_work(kedge_store *store, void *context, kedge_error *error)
{
    declaring *work = context;
    const kedge_declared_index *index = &work->index;
    kedge_status status = begin(store, work, error);
    if (status != KEDGE_OK) return status;
    const kedge_declared_index *known = find_holder(&work->declared, index->name);
    if (known && (strcmp(known->name, index->name) != 0 ||
                  strcmp(known->collection, index->collection) != 0 ||
                  strcmp(known->paths, index->paths) != 0))
        return kedge_fail(error, KEDGE_CONFLICT, "index-exists",
                          "drop the index %s first, or take another name: it is of the collection"
                          " %s with the paths %s",
                          known->name, known->collection, known->paths);
    if (!known && work->declared.count == KEDGE_LIMIT_INDEXES)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-indexes",
                          "the database has %d indexes; more are not allowed", KEDGE_LIMIT_INDEXES);
    status = kedge_index_make(store, index, error);
    if (status == KEDGE_OK && !known) status = kedge_declared_add(&store->outbox, index, error);
    if (status == KEDGE_OK) status = kedge_wal_reserve(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->cache, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, error);
    return status;
}

static kedge_status undeclare_work(kedge_store *store, void *context, kedge_error *error)
{
    declaring *work = context;
    const char *name = work->index.name;
    kedge_status status = begin(store, work, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_declared_find(&work->declared, name))
        return kedge_fail(error, KEDGE_NOT_FOUND, "index-not-found", "there is no index %s", name);
    status = kedge_declared_remove(&store->outbox, name, error);
    if (status == KEDGE_OK) status = kedge_index_remove(store, name, error);
    if (status == KEDGE_OK) status = kedge_wal_commit(&store->outbox, error);
    /* It is declared no longer. What stays in the cache goes when the folder is opened. */
    if (status == KEDGE_OK) (void)kedge_wal_commit(&store->cache, NULL);
    return status;
}

kedge_status kedge_store_index(kedge_store *store, kedge_bytes name, kedge_bytes collection,
                               const kedge_bytes *paths, size_t count, kedge_error *error)
{
    declaring *work = kedge_allocate(store->allocator, sizeof *work);
    if (!work) return kedge_fail_no_memory(error);
    kedge_status status = kedge_declared_make(name, collection, paths, count, &work->index, error);
    if (status == KEDGE_OK) status = kedge_store_take_turn(store, declare_work, work, error);
    kedge_release(store->allocator, work);
    return status;
}

kedge_status kedge_store_index_drop(kedge_store *store, kedge_bytes name, kedge_error *error)
{
    declaring *work = kedge_allocate(store->allocator, sizeof *work);
    if (!work) return kedge_fail_no_memory(error);
    kedge_status status = kedge_check_name("index", name, error);
    if (status == KEDGE_OK) {
        memcpy(work->index.name, name.data, name.size);
        work->index.name[name.size] = '\0';
        status = kedge_store_take_turn(store, undeclare_work, work, error);
    }
    kedge_release(store->allocator, work);
    return status;
}

/* ---- the list ---- */

struct kedge_index_list {
    const kedge_allocator *allocator;
    size_t next;
    kedge_declared declared;
};

static kedge_status list_work(kedge_store *store, void *context, kedge_error *error)
{
    return kedge_declared_read(&store->outbox, context, error);
}

kedge_status kedge_store_index_list_open(kedge_store *store, kedge_index_list **list,
                                         kedge_error *error)
{
    kedge_index_list *made = kedge_allocate(store->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->allocator = store->allocator;
    made->next = 0;
    kedge_status status = kedge_store_take_turn(store, list_work, &made->declared, error);
    if (status == KEDGE_OK)
        *list = made;
    else
        kedge_release(store->allocator, made);
    return status;
}

kedge_status kedge_store_index_list_next(kedge_index_list *list, const char **name,
                                         const char **collection, const char **paths)
{
    if (list->next == list->declared.count) return KEDGE_DONE;
    const kedge_declared_index *index = &list->declared.rows[list->next++];
    *name = index->name;
    *collection = index->collection;
    *paths = index->paths;
    return KEDGE_OK;
}

void kedge_store_index_list_close(kedge_index_list *list)
{
    if (list) kedge_release(list->allocator, list);
}
