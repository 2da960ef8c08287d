/* kedge/watch.h: watches of the result of a query. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/query_result.h"
#include "sdk/runtime/query_watches.h"
#include "sdk/store/query_reads.h"

#include <string.h>

struct kedge_query_watch {
    kedge_due_watch due; /* the first member */
    kedge_query_function callback;
    char *sql;
    size_t sql_size;
    char *parameters;
    size_t parameters_size;
    kedge_query_reads reads;
    unsigned sources; /* bits: 1 << kedge_changed_by; guarded by the lock of `due` */

    /* Only the thread that calls back uses these. */
    kedge_query_result *told;                        /* NULL: nothing yet */
    char told_error[sizeof((kedge_error *)0)->code]; /* ""; or the code of the error told last */
};

static void free_watch(const kedge_allocator *allocator, kedge_query_watch *watch)
{
    kedge_query_result_free(watch->told);
    kedge_release(allocator, watch->sql);
    kedge_release(allocator, watch->parameters);
    kedge_release(allocator, watch);
}

static void destroy(kedge_due_watch *due)
{
    free_watch(due->allocator, (kedge_query_watch *)due);
}

/* ---- what is told ---- */

static unsigned exchange_sources(kedge_query_watch *watch, unsigned add, bool take)
{
    pthread_mutex_lock(&watch->due.lock);
    watch->sources |= add;
    unsigned sources = watch->sources;
    if (take) watch->sources = 0;
    pthread_mutex_unlock(&watch->due.lock);
    return sources;
}

static void call_back(kedge_query_watch *watch, kedge_query_changes *changes, unsigned sources)
{
    changes->local = (sources & 1u << KEDGE_CHANGED_BY_EDIT) != 0;
    changes->pulled = (sources & 1u << KEDGE_CHANGED_BY_PULL) != 0;
    changes->other_process = (sources & 1u << KEDGE_CHANGED_BY_OTHERS) != 0;
    if (!kedge_due_watch_is_dead(&watch->due)) watch->callback(watch->due.userdata, changes);
}

static kedge_status open_query(kedge_db *db, const kedge_query_watch *watch, kedge_query **query,
                               kedge_error *error)
{
    kedge_bytes sql = {watch->sql, watch->sql_size};
    kedge_bytes parameters = {watch->parameters, watch->parameters_size};
    return kedge_store_query_open(db->store, sql, parameters, query, error);
}

static kedge_status read_result(kedge_query_watch *watch, kedge_query_result **result,
                                kedge_error *error)
{
    kedge_query *query = NULL;
    kedge_status status = open_query(watch->due.watches->db, watch, &query, error);
    if (status == KEDGE_OK)
        status = kedge_query_result_read(watch->due.allocator, query, result, error);
    kedge_store_query_close(query);
    return status;
}

/* Tells how `result` differs from what was told last, and remembers it as told. A commit that was
 * noted after the read began may be part of the result already. So its source is told now, and
 * again with the next result. */
static kedge_status tell_result(kedge_query_watch *watch, kedge_query_result *result,
                                unsigned sources, kedge_error *error)
{
    kedge_query_changes changes = {.first = watch->told == NULL};
    kedge_row_change *rows = NULL;
    kedge_status status =
        kedge_query_result_compare(watch->told, result, &rows, &changes.count, error);
    if (status != KEDGE_OK) return status;
    changes.rows = rows;
    changes.row_count = kedge_query_result_count(result);
    sources |= exchange_sources(watch, 0, false);
    if (changes.first) sources = 0;
    bool news = changes.first || changes.count > 0 || watch->told_error[0] != '\0';
    watch->told_error[0] = '\0';
    if (news) call_back(watch, &changes, sources);
    kedge_release(watch->due.allocator, rows);
    kedge_query_result_free(watch->told);
    watch->told = result;
    return KEDGE_OK;
}

/* Returns false when the failure may pass, and the query is to be tried again soon. */
static bool tell_error(kedge_query_watch *watch, const kedge_error *error)
{
    kedge_query_changes changes = {.first = watch->told == NULL, .error = error};
    if (strcmp(watch->told_error, error->code) != 0) {
        memcpy(watch->told_error, error->code, sizeof watch->told_error);
        call_back(watch, &changes, 0);
    }
    return error->status != KEDGE_NO_MEMORY && error->status != KEDGE_IO &&
           error->status != KEDGE_DISK_FULL && error->status != KEDGE_BUSY &&
           strcmp(error->code, "too-many-readers") != 0;
}

static bool tell(kedge_due_watch *due)
{
    kedge_query_watch *watch = (kedge_query_watch *)due;
    kedge_query_result *result = NULL;
    kedge_error error = {0};
    unsigned sources = exchange_sources(watch, 0, true);
    kedge_status status = read_result(watch, &result, &error);
    /* The read that finds the cache damaged sets it aside, so the second read has a new cache. */
    if (status == KEDGE_CORRUPT) status = read_result(watch, &result, &error);
    if (status == KEDGE_OK) status = tell_result(watch, result, sources, &error);
    if (status == KEDGE_OK) return true;
    kedge_query_result_free(result);
    (void)exchange_sources(watch, sources, false);
    return tell_error(watch, &error);
}

/* ---- what a commit concerns ---- */

static bool concerns(kedge_due_watch *due, const void *context)
{
    kedge_query_watch *watch = (kedge_query_watch *)due;
    const kedge_change_set *changes = context;
    if (changes == NULL) return true;
    if (!kedge_query_reads_touched(&watch->reads, changes)) return false;
    watch->sources |= 1u << changes->by;
    return true;
}

void kedge_query_watches_mark(kedge_db *db, const kedge_change_set *changes)
{
    kedge_due_watches_mark(&db->query_watches, concerns, changes);
}

/* ---- what the app calls ---- */

/* Checks the SQL, and notes what it reads. */
static kedge_status try_query(kedge_db *db, kedge_query_watch *watch, kedge_error *error)
{
    kedge_query *query = NULL;
    kedge_status status = open_query(db, watch, &query, error);
    if (status != KEDGE_OK) return status;
    watch->reads = *kedge_store_query_reads(query);
    kedge_store_query_close(query);
    return KEDGE_OK;
}

static kedge_status add(kedge_db *db, kedge_bytes sql, kedge_bytes parameters,
                        const kedge_query_watch *kind, kedge_query_watch **watch,
                        kedge_error *error)
{
    const kedge_allocator *allocator = db->environment.allocator;
    kedge_query_watch *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    *made = *kind;
    made->due.tell = tell;
    made->due.destroy = destroy;
    made->sql = kedge_copy_text(allocator, sql);
    made->sql_size = sql.size;
    made->parameters = kedge_copy_text(allocator, parameters);
    made->parameters_size = parameters.size;
    kedge_status status = made->sql == NULL || made->parameters == NULL
                              ? kedge_fail_no_memory(error)
                              : try_query(db, made, error);
    if (status != KEDGE_OK) {
        free_watch(allocator, made);
        return status;
    }
    kedge_due_watch_add(&db->query_watches, &made->due);
    *watch = made;
    return KEDGE_OK;
}

kedge_status kedge_watch_query(kedge_db *db, const char *sql, size_t sql_size,
                               const char *parameters, size_t parameters_size,
                               kedge_query_function callback, void *userdata,
                               void (*userdata_free)(void *), kedge_query_watch **watch,
                               kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (sql == NULL) return kedge_fail_null("sql", error);
    if (parameters == NULL && parameters_size > 0) return kedge_fail_null("parameters", error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (watch == NULL) return kedge_fail_null("watch", error);
    kedge_query_watch kind = {.due = {.userdata = userdata, .userdata_free = userdata_free},
                              .callback = callback};
    return add(db, (kedge_bytes){sql, sql_size}, (kedge_bytes){parameters, parameters_size}, &kind,
               watch, error);
}

void kedge_query_watch_free(kedge_query_watch *watch)
{
    if (watch != NULL) kedge_due_watch_remove(&watch->due);
}
