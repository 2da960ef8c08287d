/* The one connection that writes, shared by all threads: group commit, and checkpoints. */
#ifndef KEDGE_BACKEND_SQLITE_WRITER_H
#define KEDGE_BACKEND_SQLITE_WRITER_H

#include "backend/sqlite/database.h"
#include "backend/sqlite/readers.h"

#define KEDGE_SQLITE_BATCH_MAX        64   /* works that one commit may serve */
#define KEDGE_SQLITE_CHECKPOINT_PAGES 2000 /* of the log, before the next checkpoint */
/* A log that grew to this in spite of checkpoints is copied while nobody reads, so that the next
 * write starts it anew. */
#define KEDGE_SQLITE_LOG_PAGES_MAX 8000

/* Runs within a transaction. Anything but KEDGE_OK undoes what it wrote, and only that. */
typedef kedge_status (*kedge_sqlite_work)(kedge_sqlite_connection *connection, void *argument,
                                          kedge_error *error);

typedef struct kedge_sqlite_job kedge_sqlite_job;

typedef struct kedge_sqlite_writer {
    kedge_sqlite_connection connection;
    kedge_sqlite_connection checkpointer;
    kedge_sqlite_readers *readers; /* NULL: the database has none */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    kedge_sqlite_job *first; /* waiting, oldest first */
    kedge_sqlite_job *last;
    size_t waiting_count;
    bool leading;         /* a thread is at work on the connection */
    int log_pages;        /* after the newest commit */
    int checkpoint_at;    /* pages */
    uint64_t batch_count; /* guarded by `mutex` */
} kedge_sqlite_writer;

kedge_status kedge_sqlite_writer_open(kedge_sqlite_writer *writer, const char *path,
                                      const kedge_sqlite_kind *kind, kedge_error *error);
void kedge_sqlite_writer_close(kedge_sqlite_writer *writer);

/* Runs `work` and returns when it is durable or has failed. KEDGE_UNAVAILABLE: the commit failed,
 * and it is unknown whether it will be seen after a crash; every other failure wrote nothing. */
kedge_status kedge_sqlite_write(kedge_sqlite_writer *writer, kedge_sqlite_work work, void *argument,
                                kedge_error *error);

#endif
