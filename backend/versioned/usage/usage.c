/* See usage.h: a table of organizations under one mutex, which is not held during calls of the
 * ports. */
#include "backend/versioned/usage/usage.h"

#include "backend/base/background.h"
#include "backend/base/pause.h"
#include "backend/ports/deadline.h"
#include "backend/ports/meter.h"
#include "backend/versioned/model/layout.h"
#include "common/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 16
#define BYTES     "bytes"
#define ROWS      ((size_t)KEDGE_USAGE_SETS * KEDGE_USAGE_WAYS)

typedef struct row {
    char organization[KEDGE_LIMIT_NAME_BYTES + 1]; /* "": free */
    bool read;                                     /* `stored` is known */
    int64_t read_ms;                               /* monotonic: when it was looked at */
    int64_t stored;                                /* in the record then */
    int64_t waiting;                               /* bytes that are not in the record yet */
    int64_t adding;                                /* bytes that one thread is adding to it now */
    uint64_t adds;                                 /* how many of these additions have ended */
    int64_t coming;                                /* bytes that requests under way may store */
    bool counted;                                  /* `projects` is known */
    int64_t counted_ms;                            /* monotonic: when they were counted */
    int64_t projects;
    int64_t creating; /* projects that requests under way may create */
} row;

struct kedge_usage {
    const kedge_environment *environment;
    pthread_mutex_t mutex;
    size_t next; /* counts up; says which row of a full set is freed next */
    row rows[ROWS];
};

kedge_status kedge_usage_new(const kedge_backend_options *options, kedge_usage **usage,
                             kedge_error *error)
{
    *usage = NULL;
    if (options->organization_projects < 0 || options->organization_stored_bytes < 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "budget-invalid",
                          "the budgets " KEDGE_USAGE_PROJECTS " and " KEDGE_USAGE_STORED
                          " are numbers from 0 on; 0 is no limit");
    }
    if (options->organization_projects == 0 && options->organization_stored_bytes == 0)
        return KEDGE_OK;
    kedge_usage *made = kedge_allocate(options->environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->environment = options->environment;
    pthread_mutex_init(&made->mutex, NULL);
    *usage = made;
    return KEDGE_OK;
}

/* ---- the table; with the mutex held ---- */

static bool is_idle(const row *of)
{
    return of->waiting + of->adding + of->coming + of->creating == 0;
}

/* The one of the set that was looked at least recently, of those that nobody uses now. */
static row *find_free(row *set)
{
    row *found = NULL;
    for (size_t i = 0; i < KEDGE_USAGE_WAYS; i++) {
        if (set[i].organization[0] == '\0') return &set[i];
        if (is_idle(&set[i]) && (found == NULL || set[i].read_ms < found->read_ms)) found = &set[i];
    }
    return found;
}

static row *set_of(kedge_usage *usage, kedge_bytes organization)
{
    const kedge_project_ref ref = {.organization = organization};
    size_t place = kedge_project_ref_hash(&ref) % KEDGE_USAGE_SETS;
    return &usage->rows[place * KEDGE_USAGE_WAYS];
}

/* NULL: all that share its place are in use (see make_room). */
static row *find(kedge_usage *usage, kedge_bytes organization)
{
    row *set = set_of(usage, organization);
    for (size_t i = 0; i < KEDGE_USAGE_WAYS; i++)
        if (kedge_bytes_equal_text(organization, set[i].organization)) return &set[i];
    row *found = find_free(set);
    if (found == NULL || organization.size > KEDGE_LIMIT_NAME_BYTES) return NULL;
    *found = (row){.read = false};
    memcpy(found->organization, organization.data, organization.size);
    return found;
}

static int64_t now_ms(const kedge_usage *usage)
{
    return usage->environment->monotonic_ms(usage->environment->context);
}

/* ---- the record ---- */

static kedge_status read_record(const kedge_project *project, const kedge_key *partition,
                                bool *there, int64_t *bytes, kedge_error *error)
{
    kedge_key sort = kedge_key_stored();
    const kedge_record_key key = {kedge_key_bytes(partition), kedge_key_bytes(&sort)};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    *there = status == KEDGE_OK;
    *bytes = 0;
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *stored = kedge_record_attribute(&set.records[0], BYTES);
    if (stored != NULL && stored->type == KEDGE_ATTRIBUTE_NUMBER)
        *bytes = stored->number;
    else
        status = kedge_record_damaged("the record of what an organization has stored", error);
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_usage_read(const kedge_project *project, int64_t *bytes, kedge_error *error)
{
    bool there;
    kedge_key partition = kedge_key_usage(project->ref.organization);
    return read_record(project, &partition, &there, bytes, error);
}

/* One try. KEDGE_CONFLICT: the record was changed between the read and the write. */
static kedge_status try_to_add(const kedge_project *project, int64_t more, int64_t *bytes,
                               kedge_error *error)
{
    bool there;
    int64_t before;
    kedge_key partition = kedge_key_usage(project->ref.organization);
    kedge_key sort = kedge_key_stored();
    kedge_status status = read_record(project, &partition, &there, &before, error);
    if (status != KEDGE_OK) return status;
    *bytes = before + more < 0 ? 0 : before + more;
    if (*bytes == before) return KEDGE_OK;
    const kedge_attribute after = {BYTES, KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, *bytes};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&sort)}, &after, 1},
        .condition = there ? KEDGE_IF_EQUAL : KEDGE_IF_ABSENT,
        .expected = {BYTES, KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, before}};
    return project->records->vtable->write(project->records->self, &write, error);
}

kedge_status kedge_usage_add(const kedge_project *project, int64_t more, int64_t *bytes,
                             kedge_error *error)
{
    kedge_status status = KEDGE_CONFLICT;
    for (uint32_t tries = 0; tries < TRIES_MAX && status == KEDGE_CONFLICT; tries++) {
        if (tries > 0) kedge_backend_pause(project->backend, tries);
        status = try_to_add(project, more, bytes, error);
    }
    if (status != KEDGE_CONFLICT) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                      "the record of what the organization has stored was changed by others "
                      "in each of %d tries to add to it",
                      TRIES_MAX);
}

kedge_status kedge_usage_count_projects(const kedge_project *project, int64_t most, int64_t *count,
                                        kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_organization(project->ref.organization);
    kedge_record_set set = {0};
    kedge_key behind = {.size = 0};
    int64_t counted = 0;
    for (bool more = true; more && counted < most;) {
        const kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                           .after = kedge_key_bytes(&behind),
                                           .limit = KEDGE_RECORDS_QUERY_MAX,
                                           .consistent = true};
        kedge_status status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        counted += (int64_t)set.count;
        more = set.more && set.count > 0;
        if (more) {
            kedge_bytes project_name;
            kedge_bytes last = set.records[set.count - 1].key.sort;
            if (kedge_key_read_project(last, &project_name))
                behind = kedge_key_project(project_name);
            else
                more = false;
        }
        kedge_record_set_free(&set);
    }
    *count = counted < most ? counted : most;
    return KEDGE_OK;
}

/* ---- counting ---- */

/* The bytes that the thread had put when its last piece of work began or ended. */
static _Thread_local uint64_t put_before;

/* What this thread's request has added to `coming` and `creating` of its organization. */
static _Thread_local int64_t own_coming;
static _Thread_local int64_t own_creating;

static uint64_t put_so_far(void)
{
    return kedge_meter_of_thread().of[KEDGE_COST_BYTES_STORED];
}

void kedge_usage_begin(void)
{
    put_before = put_so_far();
}

/* Adds what is waiting to the record, unless another thread is adding to it now, and notes what the
 * record has. After a failure the bytes wait again. Those that are in the record in spite of it
 * count twice then, until the record is counted anew (jobs/usage.h). */
static kedge_status add_waiting(const kedge_project *project, kedge_error *error)
{
    kedge_usage *usage = project->backend->usage;
    int64_t stored = 0;
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    bool adds = of != NULL && of->adding == 0;
    int64_t more = adds ? of->waiting : 0;
    uint64_t seen = of == NULL ? 0 : of->adds;
    if (adds) {
        of->adding = more;
        of->waiting = 0;
    }
    pthread_mutex_unlock(&usage->mutex);
    uint64_t before = put_so_far();
    kedge_deadline_begin_commit(); /* also when the thread's time is over */
    kedge_status status = kedge_usage_add(project, more, &stored, error);
    kedge_deadline_end_commit();
    put_before += put_so_far() - before; /* the bytes of this record are not counted */
    pthread_mutex_lock(&usage->mutex);
    of = find(usage, project->ref.organization);
    /* What was read before another thread has added is older than what that thread knows. */
    if (of != NULL && status == KEDGE_OK && (of->adds == seen || !of->read)) {
        of->read = true;
        of->stored = stored;
        of->read_ms = now_ms(usage);
    }
    if (of != NULL && more > 0) {
        of->adding = 0;
        of->adds++;
        if (status != KEDGE_OK) of->waiting += more;
    }
    pthread_mutex_unlock(&usage->mutex);
    return status;
}

/* False: the organization has a row. Otherwise `other` is one of the organizations that have the
 * rows of its set, another one with each call. */
static bool lacks_room(kedge_usage *usage, kedge_bytes organization, char *other, size_t other_size)
{
    pthread_mutex_lock(&usage->mutex);
    bool lacks = find(usage, organization) == NULL;
    size_t way = lacks ? usage->next++ % KEDGE_USAGE_WAYS : 0;
    snprintf(other, other_size, "%s", set_of(usage, organization)[way].organization);
    pthread_mutex_unlock(&usage->mutex);
    return lacks;
}

/* Sees to it that the organization has a row: when all that share its place have something to add,
 * one of these is added to its record, and its row is free. A record that is damaged does not stop
 * the others. */
static void make_room(const kedge_project *project)
{
    char other[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_status status = KEDGE_OK;
    for (size_t tries = 0; tries < KEDGE_USAGE_WAYS && status != KEDGE_UNAVAILABLE; tries++) {
        kedge_error error = {0};
        if (!lacks_room(project->backend->usage, project->ref.organization, other, sizeof other))
            return;
        const kedge_project_ref ref = {.organization = kedge_bytes_of(other)};
        const kedge_project its = kedge_project_of(project->backend, &ref);
        status = add_waiting(&its, &error);
        if (status != KEDGE_OK) kedge_background_failed(&its, KEDGE_BACKGROUND_USAGE, &error);
    }
}

/* With the mutex held. */
static bool is_old(const kedge_usage *usage, const row *of)
{
    return !of->read || now_ms(usage) - of->read_ms >= KEDGE_USAGE_MS;
}

/* With the mutex held. */
static void end_request(row *of)
{
    if (of != NULL) {
        of->coming -= own_coming;
        of->creating -= own_creating;
    }
    own_coming = 0;
    own_creating = 0;
}

void kedge_usage_end(const kedge_project *project)
{
    kedge_usage *usage = project->backend->usage;
    uint64_t put = put_so_far();
    int64_t more = (int64_t)(put - put_before);
    put_before = put;
    if (usage == NULL) return;
    if (project->backend->options.organization_stored_bytes == 0) more = 0;
    if (more == 0 && own_coming == 0 && own_creating == 0) return;
    if (more > 0) make_room(project);
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    end_request(of);
    if (of != NULL) of->waiting += more;
    if (more == 0) of = NULL;
    bool due =
        of != NULL && of->adding == 0 && (of->waiting >= KEDGE_USAGE_BYTES || is_old(usage, of));
    pthread_mutex_unlock(&usage->mutex);
    kedge_error error = {0};
    if (due && add_waiting(project, &error) != KEDGE_OK)
        kedge_background_failed(project, KEDGE_BACKGROUND_USAGE, &error);
}

/* Ends at the first organization for which the store is unavailable: it is for the others, too. */
static void add_all(kedge_backend *backend)
{
    kedge_usage *usage = backend->usage;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < ROWS && status != KEDGE_UNAVAILABLE; i++) {
        kedge_error error = {0};
        row this = usage->rows[i];
        if (this.waiting == 0) continue;
        const kedge_project_ref ref = {.organization = kedge_bytes_of(this.organization)};
        kedge_project project = kedge_project_of(backend, &ref);
        status = add_waiting(&project, &error);
        if (status != KEDGE_OK) kedge_background_failed(&project, KEDGE_BACKGROUND_USAGE, &error);
    }
}

void kedge_usage_close(kedge_backend *backend)
{
    kedge_usage *usage = backend->usage;
    if (usage == NULL) return;
    add_all(backend);
    pthread_mutex_destroy(&usage->mutex);
    kedge_release(backend->allocator, usage);
    backend->usage = NULL;
}

/* ---- the bounds ---- */

static kedge_status refuse(const char *budget, int64_t bound, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, budget, "the budget %s is %lld, and used up",
                      budget, (long long)bound);
}

const char *kedge_usage_exceeded(const kedge_backend *backend, const kedge_error *error,
                                 int64_t *bound)
{
    if (strcmp(error->code, KEDGE_USAGE_PROJECTS) == 0) {
        *bound = backend->options.organization_projects;
        return KEDGE_USAGE_PROJECTS;
    }
    if (strcmp(error->code, KEDGE_USAGE_STORED) == 0) {
        *bound = backend->options.organization_stored_bytes;
        return KEDGE_USAGE_STORED;
    }
    return NULL;
}

/* Whether what the table says of the organization is old. */
static bool is_to_be_read(kedge_usage *usage, kedge_bytes organization)
{
    pthread_mutex_lock(&usage->mutex);
    const row *of = find(usage, organization);
    bool old = of != NULL && is_old(usage, of);
    pthread_mutex_unlock(&usage->mutex);
    return old;
}

kedge_status kedge_usage_check_stored(const kedge_project *project, size_t coming,
                                      kedge_error *error)
{
    kedge_usage *usage = project->backend->usage;
    int64_t bound = project->backend->options.organization_stored_bytes;
    if (usage == NULL || bound == 0) return KEDGE_OK;
    make_room(project);
    if (is_to_be_read(usage, project->ref.organization)) {
        kedge_status status = add_waiting(project, error);
        if (status != KEDGE_OK) return status;
    }
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    bool full = of != NULL && of->stored + of->waiting + of->adding + of->coming >= bound;
    if (of != NULL && !full) {
        of->coming += (int64_t)coming;
        own_coming += (int64_t)coming;
    }
    pthread_mutex_unlock(&usage->mutex);
    return full ? refuse(KEDGE_USAGE_STORED, bound, error) : KEDGE_OK;
}

/* Counts them, unless that was done within a minute. */
static kedge_status look_at_projects(const kedge_project *project, kedge_error *error)
{
    kedge_usage *usage = project->backend->usage;
    int64_t projects = 0;
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    bool known = of != NULL && of->counted && now_ms(usage) - of->counted_ms < KEDGE_USAGE_MS;
    pthread_mutex_unlock(&usage->mutex);
    if (known) return KEDGE_OK;
    kedge_status status = kedge_usage_count_projects(
        project, project->backend->options.organization_projects, &projects, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&usage->mutex);
    of = find(usage, project->ref.organization);
    if (of != NULL) {
        of->counted = true;
        of->projects = projects;
        of->counted_ms = now_ms(usage);
    }
    pthread_mutex_unlock(&usage->mutex);
    return KEDGE_OK;
}

kedge_status kedge_usage_check_projects(const kedge_project *project, kedge_error *error)
{
    kedge_usage *usage = project->backend->usage;
    int64_t bound = project->backend->options.organization_projects;
    if (usage == NULL || bound == 0) return KEDGE_OK;
    make_room(project);
    kedge_status status = look_at_projects(project, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    bool full = of != NULL && of->projects + of->creating >= bound;
    if (of != NULL && !full) {
        of->creating++;
        own_creating++;
    }
    pthread_mutex_unlock(&usage->mutex);
    return full ? refuse(KEDGE_USAGE_PROJECTS, bound, error) : KEDGE_OK;
}

void kedge_usage_created(const kedge_project *project)
{
    kedge_usage *usage = project->backend->usage;
    if (usage == NULL || project->backend->options.organization_projects == 0) return;
    pthread_mutex_lock(&usage->mutex);
    row *of = find(usage, project->ref.organization);
    if (of != NULL) {
        of->projects++;
        of->creating -= own_creating;
    }
    own_creating = 0;
    pthread_mutex_unlock(&usage->mutex);
}
