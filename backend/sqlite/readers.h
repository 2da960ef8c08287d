/* A small pool of connections that only read. */
#ifndef KEDGE_BACKEND_SQLITE_READERS_H
#define KEDGE_BACKEND_SQLITE_READERS_H

#include "backend/sqlite/database.h"

#include <pthread.h>

#define KEDGE_SQLITE_READERS 4

typedef struct kedge_sqlite_readers {
    kedge_sqlite_connection connections[KEDGE_SQLITE_READERS];
    bool busy[KEDGE_SQLITE_READERS];
    size_t busy_count;
    bool paused;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} kedge_sqlite_readers;

kedge_status kedge_sqlite_readers_open(kedge_sqlite_readers *readers, const char *path,
                                       const kedge_sqlite_kind *kind, kedge_error *error);
void kedge_sqlite_readers_close(kedge_sqlite_readers *readers);

/* Waits for a free connection. Give it back soon: it holds no transaction
 * between two statements. */
kedge_sqlite_connection *kedge_sqlite_readers_take(kedge_sqlite_readers *readers);
void kedge_sqlite_readers_give(kedge_sqlite_readers *readers, kedge_sqlite_connection *connection);

/* Waits until nobody reads, and keeps everybody from it until resumed. */
void kedge_sqlite_readers_pause(kedge_sqlite_readers *readers);
void kedge_sqlite_readers_resume(kedge_sqlite_readers *readers);

#endif
