/* The one connection that writes.
 *
 * Group commit. A thread puts its work after those that wait. When nobody leads and its own work
 * is the first, it leads: it takes up to KEDGE_SQLITE_BATCH_MAX works, runs each in a savepoint of
 * one transaction, and commits them with one sync; what comes meanwhile waits for the next leader.
 * So works share syncs exactly when syncs limit them, and no work waits for others to come.
 *
 * Checkpoints. Copying the log back into the database happens here only, on a connection of its
 * own, while the writing connection holds the write lock: no connection of any process can write
 * meanwhile (see database.c). */
#include "backend/sqlite/writer.h"
#include "common/error.h"

struct kedge_sqlite_job {
    kedge_sqlite_work work;
    void *argument;
    kedge_sqlite_job *next;
    bool done;
    kedge_status status;
    kedge_error error;
};

/* ---- one batch ---- */

static kedge_status execute(kedge_sqlite_writer *writer, const char *sql, kedge_error *error)
{
    int code = sqlite3_exec(writer->connection.handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? KEDGE_OK : kedge_sqlite_fail(&writer->connection, code, error);
}

static void roll_back(kedge_sqlite_writer *writer)
{
    if (!sqlite3_get_autocommit(writer->connection.handle)) execute(writer, "ROLLBACK", NULL);
}

/* The transaction is lost: works that had succeeded share its failure. So do those that met a
 * conflict, since it may have been with what another work of the batch had written. */
static void fail_all(kedge_sqlite_job *batch, kedge_status status, const kedge_error *error)
{
    for (kedge_sqlite_job *job = batch; job != NULL; job = job->next) {
        if (job->status != KEDGE_OK && job->status != KEDGE_CONFLICT) continue;
        job->status = status;
        job->error = *error;
    }
}

/* False: the whole transaction is gone, which SQLite decides for some errors (a full disk). */
static bool run_in_savepoint(kedge_sqlite_writer *writer, kedge_sqlite_job *job)
{
    job->status = execute(writer, "SAVEPOINT work", &job->error);
    if (job->status != KEDGE_OK) return !sqlite3_get_autocommit(writer->connection.handle);
    job->status = job->work(&writer->connection, job->argument, &job->error);
    if (sqlite3_get_autocommit(writer->connection.handle)) return false;
    if (job->status != KEDGE_OK && execute(writer, "ROLLBACK TO work", NULL) != KEDGE_OK)
        return false;
    return execute(writer, "RELEASE work", NULL) == KEDGE_OK;
}

static kedge_status commit(kedge_sqlite_writer *writer, kedge_error *error)
{
    kedge_error cause = {0};
    kedge_status status = execute(writer, "COMMIT", &cause);
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, cause.code, "unknown whether it was written: %s",
                      cause.message);
}

static void run_batch(kedge_sqlite_writer *writer, kedge_sqlite_job *batch)
{
    kedge_error error = {0};
    kedge_status status = execute(writer, "BEGIN IMMEDIATE", &error);
    bool any = false;
    for (kedge_sqlite_job *job = batch; job != NULL && status == KEDGE_OK; job = job->next) {
        if (!run_in_savepoint(writer, job)) {
            error = job->error;
            status = job->status;
            if (status == KEDGE_OK || status == KEDGE_CONFLICT)
                status = kedge_fail(&error, KEDGE_IO, "io", "the transaction of a batch broke");
        }
        any = any || job->status == KEDGE_OK;
    }
    if (status == KEDGE_OK && any) status = commit(writer, &error);
    if (status != KEDGE_OK) fail_all(batch, status, &error);
    roll_back(writer);
}

/* ---- checkpoints ---- */

static int note_log_pages(void *context, sqlite3 *handle, const char *name, int pages)
{
    (void)handle;
    (void)name;
    kedge_sqlite_writer *writer = context;
    if (pages < writer->log_pages) writer->checkpoint_at = KEDGE_SQLITE_CHECKPOINT_PAGES;
    writer->log_pages = pages;
    return SQLITE_OK;
}

/* Failure is no harm: the log stays longer, and the next commit but KEDGE_SQLITE_CHECKPOINT_PAGES
 * tries again. */
static void checkpoint(kedge_sqlite_writer *writer)
{
    if (writer->log_pages < writer->checkpoint_at) return;
    writer->checkpoint_at = writer->log_pages + KEDGE_SQLITE_CHECKPOINT_PAGES;
    bool pause = writer->readers != NULL && writer->log_pages >= KEDGE_SQLITE_LOG_PAGES_MAX;
    if (execute(writer, "BEGIN IMMEDIATE", NULL) != KEDGE_OK) return;
    if (pause) kedge_sqlite_readers_pause(writer->readers);
    sqlite3_wal_checkpoint_v2(writer->checkpointer.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                              NULL);
    if (pause) kedge_sqlite_readers_resume(writer->readers);
    roll_back(writer);
}

/* ---- leading and following ---- */

static void join(kedge_sqlite_writer *writer, kedge_sqlite_job *job)
{
    if (writer->last != NULL)
        writer->last->next = job;
    else
        writer->first = job;
    writer->last = job;
    writer->waiting_count++;
}

static kedge_sqlite_job *take_batch(kedge_sqlite_writer *writer)
{
    kedge_sqlite_job *batch = writer->first;
    kedge_sqlite_job *end = batch;
    size_t count = 1;
    for (; count < KEDGE_SQLITE_BATCH_MAX && end->next != NULL; count++)
        end = end->next;
    writer->waiting_count -= count;
    writer->first = end->next;
    if (writer->first == NULL) writer->last = NULL;
    end->next = NULL;
    return batch;
}

/* A job that is done belongs to its thread again, and may vanish with its stack at once. */
static void finish(kedge_sqlite_job *batch)
{
    while (batch != NULL) {
        kedge_sqlite_job *next = batch->next;
        batch->done = true;
        batch = next;
    }
}

/* With the mutex held, which is given up while the batch runs. */
static void lead(kedge_sqlite_writer *writer)
{
    writer->leading = true;
    kedge_sqlite_job *batch = take_batch(writer);
    pthread_mutex_unlock(&writer->mutex);
    run_batch(writer, batch);
    pthread_mutex_lock(&writer->mutex);
    writer->batch_count++;
    finish(batch);
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    checkpoint(writer);
    pthread_mutex_lock(&writer->mutex);
    writer->leading = false;
    pthread_cond_broadcast(&writer->changed);
}

kedge_status kedge_sqlite_write(kedge_sqlite_writer *writer, kedge_sqlite_work work, void *argument,
                                kedge_error *error)
{
    kedge_sqlite_job job = {.work = work, .argument = argument};
    pthread_mutex_lock(&writer->mutex);
    join(writer, &job);
    while (!job.done) {
        if (!writer->leading && writer->first == &job)
            lead(writer);
        else
            pthread_cond_wait(&writer->changed, &writer->mutex);
    }
    pthread_mutex_unlock(&writer->mutex);
    if (job.status != KEDGE_OK && error != NULL) *error = job.error;
    return job.status;
}

/* ---- opening ---- */

kedge_status kedge_sqlite_writer_open(kedge_sqlite_writer *writer, const char *path,
                                      const kedge_sqlite_kind *kind, kedge_error *error)
{
    *writer = (kedge_sqlite_writer){.checkpoint_at = KEDGE_SQLITE_CHECKPOINT_PAGES};
    kedge_status status = kedge_sqlite_open(&writer->connection, path, kind, error);
    if (status != KEDGE_OK) return status;
    status = kedge_sqlite_open(&writer->checkpointer, path, kind, error);
    if (status != KEDGE_OK) {
        kedge_sqlite_close(&writer->connection);
        return status;
    }
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    sqlite3_wal_hook(writer->connection.handle, note_log_pages, writer);
    return KEDGE_OK;
}

void kedge_sqlite_writer_close(kedge_sqlite_writer *writer)
{
    kedge_sqlite_close(&writer->checkpointer);
    kedge_sqlite_close(&writer->connection);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
}
