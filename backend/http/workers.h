/* A bounded pool of threads that run jobs, shared fairly.
 *
 * Each job is of a tenant: an organization, or the server itself. Of the tenants that wait, the one
 * that has used the least time of the threads comes next (start-time fair queueing: a tenant that
 * comes anew starts where the others stand). Within a tenant its projects are served round-robin.
 * So however much one tenant asks for, another one waits only until one of the running jobs has had
 * its time slice. A job that runs for long should ask kedge_workers_are_awaited after its slice,
 * and come again.
 *
 * While several tenants are active, each may have a quarter of the threads, and more only as long
 * as half of all stay free. One whose jobs compute, rather than wait for a store, has no more
 * threads than half of the processors: it would slow all others of the machine. */
#ifndef KEDGE_BACKEND_HTTP_WORKERS_H
#define KEDGE_BACKEND_HTTP_WORKERS_H

#include "common/environment.h"

#include <kedge/limits.h>

#define KEDGE_WORKERS_MAX        64
#define KEDGE_WORKERS_DEFAULT    16
#define KEDGE_WORKERS_QUEUE_MAX  1024 /* jobs that wait */
#define KEDGE_WORKERS_TENANT_MAX 256  /* of one tenant */
/* While several tenants are active, each may have one thread in TENANTS_SHARE, and more while more
 * than one in FREE_SHARE is free. While one is alone, one thread in ALONE_SHARE stays free. */
#define KEDGE_WORKERS_TENANTS_SHARE 4
#define KEDGE_WORKERS_FREE_SHARE    2
#define KEDGE_WORKERS_ALONE_SHARE   8
#define KEDGE_WORKERS_COMPUTES_US   5000  /* a job that computes takes so much of a processor */
#define KEDGE_WORKERS_SLICE_MS      250   /* of a job, when others wait */
#define KEDGE_WORKERS_SHARED_MS     10000 /* tenants count as several so long after they were */

typedef enum kedge_tenant_kind {
    KEDGE_TENANT_ORGANIZATION, /* by its name */
    KEDGE_TENANT_SERVER,       /* work that no request waits for */
} kedge_tenant_kind;

/* Whose job it is. Borrowed; names are cut at KEDGE_TENANT_NAME_BYTES. */
#define KEDGE_TENANT_NAME_BYTES 255
typedef struct kedge_tenant_name {
    kedge_tenant_kind kind;
    kedge_bytes organization;
    kedge_bytes project; /* or empty */
} kedge_tenant_name;

typedef enum kedge_workers_admission {
    KEDGE_WORKERS_TAKEN,
    KEDGE_WORKERS_FULL,        /* too many jobs wait, no memory, or the pool stops */
    KEDGE_WORKERS_TENANT_FULL, /* too many of this tenant */
} kedge_workers_admission;

typedef struct kedge_workers kedge_workers;

kedge_status kedge_workers_start(const kedge_environment *environment, uint32_t count,
                                 kedge_workers **workers, kedge_error *error);
/* Unless it is taken, `work` will not be called. Any thread. */
kedge_workers_admission kedge_workers_submit(kedge_workers *workers,
                                             const kedge_tenant_name *tenant,
                                             void (*work)(void *argument), void *argument);
/* The same for a job that goes on with what another one began, as a response of which a part was
 * sent: it is taken however many wait. The caller has no more of them than connections. */
kedge_workers_admission kedge_workers_go_on(kedge_workers *workers, const kedge_tenant_name *tenant,
                                            void (*work)(void *argument), void *argument);
/* Whether jobs wait for a thread. Any thread. */
bool kedge_workers_are_awaited(const kedge_workers *workers);
/* Jobs that wait, for the metrics. */
size_t kedge_workers_waiting(const kedge_workers *workers);
/* Runs what was taken and ends the threads; from then on nothing is taken. */
void kedge_workers_stop(kedge_workers *workers);
void kedge_workers_free(kedge_workers *workers); /* stopped; NULL is allowed */

#endif
