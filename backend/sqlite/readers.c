/* A small pool of connections that only read. */
#include "backend/sqlite/readers.h"

kedge_status kedge_sqlite_readers_open(kedge_sqlite_readers *readers, const char *path,
                                       const kedge_sqlite_kind *kind, kedge_error *error)
{
    *readers = (kedge_sqlite_readers){0};
    pthread_mutex_init(&readers->mutex, NULL);
    pthread_cond_init(&readers->changed, NULL);
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < KEDGE_SQLITE_READERS && status == KEDGE_OK; i++)
        status = kedge_sqlite_open_reader(&readers->connections[i], path, kind, error);
    if (status != KEDGE_OK) kedge_sqlite_readers_close(readers);
    return status;
}

void kedge_sqlite_readers_close(kedge_sqlite_readers *readers)
{
    for (size_t i = 0; i < KEDGE_SQLITE_READERS; i++)
        kedge_sqlite_close(&readers->connections[i]);
    pthread_cond_destroy(&readers->changed);
    pthread_mutex_destroy(&readers->mutex);
}

kedge_sqlite_connection *kedge_sqlite_readers_take(kedge_sqlite_readers *readers)
{
    pthread_mutex_lock(&readers->mutex);
    while (readers->paused || readers->busy_count == KEDGE_SQLITE_READERS)
        pthread_cond_wait(&readers->changed, &readers->mutex);
    size_t i = 0;
    while (readers->busy[i])
        i++;
    readers->busy[i] = true;
    readers->busy_count++;
    pthread_mutex_unlock(&readers->mutex);
    return &readers->connections[i];
}

void kedge_sqlite_readers_give(kedge_sqlite_readers *readers, kedge_sqlite_connection *connection)
{
    pthread_mutex_lock(&readers->mutex);
    readers->busy[connection - readers->connections] = false;
    readers->busy_count--;
    pthread_cond_broadcast(&readers->changed);
    pthread_mutex_unlock(&readers->mutex);
}

void kedge_sqlite_readers_pause(kedge_sqlite_readers *readers)
{
    pthread_mutex_lock(&readers->mutex);
    readers->paused = true;
    while (readers->busy_count > 0)
        pthread_cond_wait(&readers->changed, &readers->mutex);
    pthread_mutex_unlock(&readers->mutex);
}

void kedge_sqlite_readers_resume(kedge_sqlite_readers *readers)
{
    pthread_mutex_lock(&readers->mutex);
    readers->paused = false;
    pthread_cond_broadcast(&readers->changed);
    pthread_mutex_unlock(&readers->mutex);
}
