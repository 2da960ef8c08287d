/* See fair_queue.h. A tenant lives from its first job that waits until its last has ended; there
 * are at most as many as jobs wait and threads run, so that a list is searched fast enough. */
#include "backend/http/fair_queue.h"

#include "common/assert.h"

#include <string.h>

#define JOB_FIRST_US 1000 /* what the first job of a tenant is taken to cost */
/* A job computes rather than waits when a processor works for it during more than one in so many of
 * its time. So few, because with busy processors it also waits for one of them. */
#define COMPUTES_PART 8

typedef struct fair_entry {
    struct fair_entry *next;
    void (*work)(void *argument);
    void *argument;
} fair_entry;

/* A project with jobs that wait. The projects of a tenant form a list; the first is next, and goes
 * to the end. */
typedef struct fair_project {
    struct fair_project *next;
    fair_entry *first;
    fair_entry **end;
    size_t name_size;
    char name[KEDGE_TENANT_NAME_BYTES];
} fair_project;

struct kedge_fair_tenant {
    kedge_fair_tenant *next;
    kedge_tenant_kind kind;
    fair_project *projects;
    size_t waiting;
    uint32_t running;
    int64_t used_us;     /* time of threads, on the scale of all tenants */
    int64_t mean_us;     /* of its jobs lately */
    int64_t computes_us; /* the same of processors */
    size_t name_size;
    char name[KEDGE_TENANT_NAME_BYTES];
};

void kedge_fair_queue_open(kedge_fair_queue *queue, const kedge_allocator *allocator,
                           uint32_t threads, uint32_t processors)
{
    KEDGE_ASSERT(threads >= 1 && processors >= 1);
    *queue =
        (kedge_fair_queue){.allocator = allocator, .threads = threads, .processors = processors};
}

void kedge_fair_queue_close(kedge_fair_queue *queue)
{
    KEDGE_ASSERT(queue->waiting == 0 && queue->first == NULL);
    (void)queue;
}

/* ---- finding and making ---- */

static kedge_bytes cut(kedge_bytes name)
{
    if (name.size > KEDGE_TENANT_NAME_BYTES) name.size = KEDGE_TENANT_NAME_BYTES;
    return name;
}

static kedge_fair_tenant *find_tenant(const kedge_fair_queue *queue, const kedge_tenant_name *name)
{
    kedge_bytes wanted = cut(name->organization);
    kedge_fair_tenant *at = queue->first;
    while (at != NULL && !(at->kind == name->kind &&
                           kedge_bytes_equal((kedge_bytes){at->name, at->name_size}, wanted)))
        at = at->next;
    return at;
}

static kedge_fair_tenant *make_tenant(kedge_fair_queue *queue, const kedge_tenant_name *name)
{
    kedge_bytes wanted = cut(name->organization);
    kedge_fair_tenant *made = kedge_allocate(queue->allocator, sizeof *made);
    if (made == NULL) return NULL;
    made->kind = name->kind;
    made->name_size = wanted.size;
    if (wanted.size > 0) memcpy(made->name, wanted.data, wanted.size);
    made->used_us = queue->served_us;
    made->mean_us = JOB_FIRST_US;
    made->next = queue->first;
    queue->first = made;
    return made;
}

/* Frees a tenant that has no job any more. */
static void drop_idle(kedge_fair_queue *queue, kedge_fair_tenant *tenant)
{
    kedge_fair_tenant **link = &queue->first;
    if (tenant->waiting > 0 || tenant->running > 0) return;
    while (*link != tenant)
        link = &(*link)->next;
    *link = tenant->next;
    kedge_release(queue->allocator, tenant);
}

/* The tenant's queue for the project, made when it is missing. NULL: no memory. */
static fair_project *open_project(kedge_fair_queue *queue, kedge_fair_tenant *tenant,
                                  kedge_bytes name)
{
    fair_project **link = &tenant->projects;
    while (*link != NULL) {
        if (kedge_bytes_equal((kedge_bytes){(*link)->name, (*link)->name_size}, name)) return *link;
        link = &(*link)->next;
    }
    fair_project *made = kedge_allocate(queue->allocator, sizeof *made);
    if (made == NULL) return NULL;
    made->end = &made->first;
    made->name_size = name.size;
    if (name.size > 0) memcpy(made->name, name.data, name.size);
    *link = made;
    return made;
}

/* ---- adding ---- */

static void note_active(kedge_fair_queue *queue, kedge_fair_tenant *tenant, int64_t now_us)
{
    if (tenant->kind == KEDGE_TENANT_SERVER) return;
    for (const kedge_fair_tenant *at = queue->first; at != NULL; at = at->next) {
        if (at == tenant || at->kind == KEDGE_TENANT_SERVER) continue;
        queue->shared_until_us = now_us + (int64_t)KEDGE_WORKERS_SHARED_MS * 1000;
        return;
    }
}

kedge_workers_admission kedge_fair_queue_add(kedge_fair_queue *queue,
                                             const kedge_tenant_name *tenant, int64_t now_us,
                                             void (*work)(void *argument), void *argument)
{
    if (queue->waiting >= KEDGE_WORKERS_QUEUE_MAX) return KEDGE_WORKERS_FULL;
    const kedge_fair_tenant *owner = find_tenant(queue, tenant);
    if (owner != NULL && owner->waiting >= KEDGE_WORKERS_TENANT_MAX)
        return KEDGE_WORKERS_TENANT_FULL;
    return kedge_fair_queue_go_on(queue, tenant, now_us, work, argument);
}

kedge_workers_admission kedge_fair_queue_go_on(kedge_fair_queue *queue,
                                               const kedge_tenant_name *tenant, int64_t now_us,
                                               void (*work)(void *argument), void *argument)
{
    kedge_fair_tenant *owner = find_tenant(queue, tenant);
    fair_entry *entry = kedge_allocate(queue->allocator, sizeof *entry);
    if (entry != NULL && owner == NULL) owner = make_tenant(queue, tenant);
    fair_project *project =
        entry == NULL || owner == NULL ? NULL : open_project(queue, owner, cut(tenant->project));
    if (project == NULL) {
        kedge_release(queue->allocator, entry);
        if (owner != NULL) drop_idle(queue, owner);
        return KEDGE_WORKERS_FULL;
    }
    *entry = (fair_entry){.work = work, .argument = argument};
    *project->end = entry;
    project->end = &entry->next;
    /* A tenant that comes anew starts where the others stand: the time in which it had no jobs
     * gives it no advantage. */
    if (owner->waiting == 0 && owner->used_us < queue->served_us) owner->used_us = queue->served_us;
    owner->waiting++;
    queue->waiting++;
    note_active(queue, owner, now_us);
    return KEDGE_WORKERS_TAKEN;
}

/* ---- taking ---- */

static uint32_t at_least_one(uint32_t count)
{
    return count > 0 ? count : 1;
}

/* Whether the tenant may have another thread. */
static bool may_run(const kedge_fair_queue *queue, const kedge_fair_tenant *tenant, int64_t now_us)
{
    uint32_t share = at_least_one(queue->threads / KEDGE_WORKERS_TENANTS_SHARE);
    uint32_t spare = at_least_one(queue->threads / KEDGE_WORKERS_ALONE_SHARE);
    uint32_t free = queue->threads - queue->running;
    bool computes = tenant->computes_us >= KEDGE_WORKERS_COMPUTES_US &&
                    tenant->computes_us > tenant->mean_us / COMPUTES_PART;
    if (tenant->kind == KEDGE_TENANT_ORGANIZATION && now_us >= queue->shared_until_us)
        return tenant->running < at_least_one(queue->threads - spare);
    if (computes && tenant->running >= at_least_one(queue->processors / 2)) return false;
    return tenant->running < share || free > queue->threads / KEDGE_WORKERS_FREE_SHARE;
}

static kedge_fair_tenant *next_tenant(const kedge_fair_queue *queue, int64_t now_us)
{
    kedge_fair_tenant *next = NULL;
    if (queue->waiting == 0 || queue->running == queue->threads) return NULL;
    for (kedge_fair_tenant *at = queue->first; at != NULL; at = at->next) {
        if (at->waiting == 0 || !may_run(queue, at, now_us)) continue;
        if (next == NULL || at->used_us < next->used_us) next = at;
    }
    return next;
}

/* The first job of the project that is next. */
static fair_entry *take_entry(kedge_fair_queue *queue, kedge_fair_tenant *tenant)
{
    fair_project *project = tenant->projects;
    fair_entry *entry = project->first;
    tenant->projects = project->next;
    project->next = NULL;
    project->first = entry->next;
    if (project->first == NULL) {
        kedge_release(queue->allocator, project);
        return entry;
    }
    fair_project **end = &tenant->projects;
    while (*end != NULL)
        end = &(*end)->next;
    *end = project;
    return entry;
}

bool kedge_fair_queue_is_ready(const kedge_fair_queue *queue, int64_t now_us)
{
    return next_tenant(queue, now_us) != NULL;
}

bool kedge_fair_queue_take(kedge_fair_queue *queue, int64_t now_us, kedge_fair_job *job)
{
    kedge_fair_tenant *tenant = next_tenant(queue, now_us);
    if (tenant == NULL) return false;
    KEDGE_ASSERT(tenant->projects != NULL && queue->waiting > 0);
    fair_entry *entry = take_entry(queue, tenant);
    *job = (kedge_fair_job){entry->work, entry->argument, tenant, tenant->mean_us};
    kedge_release(queue->allocator, entry);
    if (tenant->used_us > queue->served_us) queue->served_us = tenant->used_us;
    tenant->used_us += job->charged_us;
    tenant->waiting--;
    tenant->running++;
    queue->running++;
    queue->waiting--;
    return true;
}

void kedge_fair_queue_finished(kedge_fair_queue *queue, const kedge_fair_job *job, int64_t took_us,
                               int64_t computed_us)
{
    kedge_fair_tenant *tenant = job->tenant;
    KEDGE_ASSERT(tenant->running > 0);
    tenant->running--;
    queue->running--;
    tenant->used_us += took_us - job->charged_us;
    tenant->mean_us = (tenant->mean_us * 7 + took_us) / 8;
    tenant->computes_us = (tenant->computes_us * 7 + computed_us) / 8;
    drop_idle(queue, tenant);
}
