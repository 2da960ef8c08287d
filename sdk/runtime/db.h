/* An open database: what the files of this folder share.
 *
 * Two kinds of state. `shared` is guarded by `lock` and is how the app's threads and the worker
 * talk: the app raises a request and wakes the worker, the worker raises `generation` and wakes who
 * waits. `worker` belongs to the worker thread alone, with the driver, the net and the peers. The
 * store, the watches and kedge_http_wake may be called from any thread. */
#ifndef KEDGE_SDK_RUNTIME_DB_H
#define KEDGE_SDK_RUNTIME_DB_H

#include "http/http.h"
#include "sdk/driver/driver.h"
#include "sdk/net/net.h"
#include "sdk/runtime/callbacks.h"
#include "sdk/runtime/history.h"
#include "sdk/runtime/peers.h"
#include "sdk/runtime/stats.h"
#include "sdk/runtime/sync_watches.h"
#include "sdk/runtime/token.h"
#include "sdk/runtime/watches.h"

#include <pthread.h>

/* Requests are numbered, so that a thread which waits for one sees when it, or a later one, has
 * ended. */
typedef struct kedge_shared {
    bool closing;
    bool online;        /* the app's wish */
    bool retry;         /* the app went online: a database that stopped tries again */
    bool edited;        /* something was committed by this process */
    bool dozing;        /* the worker looks after edits soon by itself */
    bool inbox_touched; /* an edit was dismissed from it, or resubmitted */
    uint64_t sync_requested;
    uint64_t sync_completed;
    kedge_error sync_error;      /* of the one completed last; KEDGE_OK: it went well */
    kedge_history_call *history; /* to be started by the worker */
    kedge_connection connection;
    kedge_error last_error;
    uint64_t generation; /* raised when anything changes for which a thread may wait */
    pthread_t worker;    /* the worker thread, once it runs */
    bool worker_runs;
    size_t waiting; /* threads inside kedge_sync, kedge_wait and kedge_history */
    size_t calls;   /* of the app that run, those of one thread inside each other included */
} kedge_shared;

/* What the app and other processes wait for, on the worker's side; worker_sync.c alone changes it.
 *
 * Waits are numbered, those of the app by `sync_requested`, those of other processes by the tickets
 * that they draw. One sync runs at a time, here or in the process that leads, and takes all that
 * were asked for when it began: a pull that began before a wait tells nothing to it. Whether one
 * runs here is known to the core alone (kedge_driver_syncs). */
typedef struct kedge_sync_waits {
    uint64_t app_taken; /* by the sync that runs, or ran last; those done are in `sync_completed` */
    uint64_t peers_asked;
    uint64_t peers_taken;
    uint64_t peers_done;
    uint64_t all_asked; /* of both kinds, as last seen */
    uint64_t ticket;    /* of this follower, for the app's waits that are taken; 0: none */
    bool ticket_due;    /* one could not be drawn yet */
    bool over;          /* the one that ran has ended, and nobody was told yet */
    bool done_due;      /* `peers_done` was not told to the others yet */
    kedge_error error;  /* how it ended */
} kedge_sync_waits;

/* How the project is created (worker_project.c). */
typedef struct kedge_project_creation {
    bool settled;          /* it is there, or the server refused to create it */
    bool doubtful;         /* refused, but not in Kedge's own words */
    bool token_renewed;    /* for this try */
    kedge_http_call *call; /* running */
    uint32_t failures;     /* in a row */
    int64_t at_ms;         /* not before */
    kedge_error error;     /* of the last try */
} kedge_project_creation;

/* What the log was told last (worker_log.c). */
typedef struct kedge_log_state {
    bool known; /* `position` was read once */
    kedge_store_position position;
    kedge_connection connection;
    char code[sizeof((kedge_error *)0)->code];
} kedge_log_state;

typedef struct kedge_worker {
    bool leading;
    bool core_online;
    bool token_asked;   /* by the driver */
    bool token_refused; /* by the app: offline until it edits or goes online */
    kedge_error token_error;
    bool store_refused; /* the outbox is damaged: as if offline, for good */
    kedge_error store_error;
    bool moved;      /* a response may have changed what the store holds */
    bool look_again; /* at the peers' record, which was busy */
    bool tell_peers;
    kedge_error leader_error; /* of the process that leads, while this one does not */
    kedge_error error_told;   /* to the others, by this one when it leads */
    bool error_due;           /* none was told yet, or it could not be */
    kedge_sync_waits sync;
    int64_t timer_at_ms;       /* of the driver; 0: none */
    int64_t tick_at_ms;        /* look after the peers */
    int64_t followed_ms;       /* when their commits were followed last */
    int64_t maintenance_at_ms; /* catch up, checkpoint; 0: nothing to do */
    int64_t check_at_ms;       /* the next slice of the cache's check, without a driver; 0: none */
    int64_t status_at_ms;      /* look after watches of the status and the inbox; 0: no need */
    int64_t results_at_ms;     /* the same of the watches of queries */
    bool inbox_touched;        /* by another process */
    bool more; /* after the last round: there is more already; when the app drives the loop */
    int64_t look_at_ms; /* after edits that were made while it dozed; 0: it does not doze */
    kedge_connection core_connection;
    kedge_error core_error;
    kedge_store_position position; /* as it was told to the peers last */
    kedge_history_call *history;   /* running */
    kedge_project_creation creation;
    const char *cause; /* of the requests that are sent now, for the log */
    kedge_log_state told;
} kedge_worker;

struct kedge_db {
    pthread_mutex_t lock; /* of `shared` */
    kedge_store *store;
    kedge_watches *watches;
    kedge_peers *peers;
    kedge_http *http;
    kedge_net *net;       /* NULL without a url */
    kedge_driver *driver; /* NULL without a url */
    kedge_registry *registry;
    kedge_environment environment;
    char *path;
    char *organization;
    char *project;
    char *url; /* NULL: never syncs */
    char *user;
    char *role;
    char *schema_version; /* "": none */
    bool create_project;
    int64_t server_wait_ms;
    void *userdata;
    void (*userdata_free)(void *);
    kedge_sync_watches sync_watches;
    kedge_due_watches query_watches;
    kedge_callbacks callbacks;
    kedge_counters counters;
    struct {
        kedge_log_function function;
        kedge_log_level level;
    } log;
    kedge_token token;
    kedge_worker worker;

    pthread_cond_t moved; /* `generation` has risen; CLOCK_MONOTONIC */
    kedge_shared shared;
    bool caller_driven; /* no thread: the app runs the rounds */
    pthread_t thread;
    bool thread_runs;
};

/* kedge_open for the crash tests: `phase` is called at the store's points of no return. */
kedge_status kedge_open_with_phases(const kedge_options *options, kedge_store_phase_function phase,
                                    void *phase_context, kedge_db **db, kedge_error *error);

/* Monotonic. */
static inline int64_t kedge_db_now_ms(const kedge_db *db)
{
    return db->environment.monotonic_ms(db->environment.context);
}

/* Tells the watches of items and of queries what a commit has changed; any thread. NULL: any key
 * may have changed. */
void kedge_db_changed(kedge_db *db, const kedge_change_set *changes);

/* After a commit of this process, which the store has told to the watches: notifies the worker. */
void kedge_db_committed(kedge_db *db);

#endif
