/* One run. */
#include "tests/crashpoints/run.h"

#include "backend/api/api.h"
#include "common/error.h"
#include "tests/support/project.h"

#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 5

typedef struct processor {
    actor actor;
    kedge_backend *backend;
    const operation *wanted;
    const kedge_project_ref *ref;
} processor;

typedef struct run {
    world *here;
    story told;
    kedge_project_ref ref;
    suite_checks *all;
    witness seen;
    processor first;
    processor second;
} run;

/* ---- processors ---- */

static void work(void *context)
{
    processor *own = context;
    story_do(own->wanted, HANDLE(own->backend, own->ref), NULL);
}

static void make_processor(run *at, processor *made, const operation *wanted)
{
    gate *ports = &made->actor.ports;
    gate_make(ports, &at->here->records, &at->here->blobs);
    made->actor.act = work;
    made->actor.context = made;
    made->backend = world_backend(at->here, &at->told, &ports->records, &ports->blobs);
    made->wanted = wanted;
    made->ref = &at->ref;
}

static void free_processor(processor *gone)
{
    kedge_backend_free(gone->backend);
    gate_free(&gone->actor.ports);
}

/* ---- looking ---- */

static void look(run *at, check_name name)
{
    kedge_backend *reader =
        world_backend(at->here, &at->told, &at->here->records, &at->here->blobs);
    witness_look(&at->seen, reader, &at->ref, at->all, name);
    kedge_backend_free(reader);
}

static void check_all(run *at)
{
    const operation *operations[] = {&at->told.first, &at->told.second};
    kedge_backend *reader =
        world_backend(at->here, &at->told, &at->here->records, &at->here->blobs);
    check_project(&at->here->known, reader, &at->ref, at->all);
    for (size_t i = 0; i < 2; i++) {
        int64_t expected = story_last_id(&at->told, operations[i]);
        if (expected == 0) continue;
        int64_t last = check_last_id(reader, &at->ref, operations[i]->client);
        check_holds(at->all, CHECK_I1, last >= expected,
                    "%s pushed up to %lld and has %lld decided", operations[i]->client,
                    (long long)expected, (long long)last);
    }
    kedge_backend_free(reader);
}

/* ---- the run ---- */

static kedge_status warm(run *at, kedge_error *error)
{
    int64_t id = at->told.versions;
    kedge_status status = story_warm(HANDLE(at->first.backend, &at->ref), id + 1, error);
    if (status == KEDGE_OK)
        status = story_warm(HANDLE(at->second.backend, &at->ref), id + 2, error);
    return status;
}

static void look_before(void *context)
{
    look(context, CHECK_I3);
}

static void look_late(void *context)
{
    look(context, CHECK_I17);
}

/* As clients do that got no response. */
static kedge_status repeat(run *at, const operation *wanted, kedge_error *error)
{
    kedge_backend *backend =
        world_backend(at->here, &at->told, &at->here->records, &at->here->blobs);
    kedge_status status = KEDGE_UNAVAILABLE;
    for (int i = 0; i < REPEATS_MAX && status == KEDGE_UNAVAILABLE; i++)
        status = story_do(wanted, HANDLE(backend, &at->ref), error);
    kedge_backend_free(backend);
    return status;
}

kedge_status run_once(world *here, size_t place, bool turned, const run_points *points,
                      run_reached *reached, suite_checks *all, kedge_error *error)
{
    run *at = calloc(1, sizeof *at);
    if (at == NULL) return kedge_fail_no_memory(error);
    at->here = here;
    at->told = stories[place];
    if (turned) at->told.first = stories[place].second;
    if (turned) at->told.second = stories[place].first;
    at->all = all;
    at->seen.known = &here->known;
    at->seen.from = at->told.versions;
    kedge_status status = world_prepare(here, &stories[place], error);
    if (status == KEDGE_OK) status = world_fresh(here, &at->ref, error);
    make_processor(at, &at->first, &at->told.first);
    make_processor(at, &at->second, &at->told.second);
    if (status == KEDGE_OK) status = warm(at, error);
    if (status == KEDGE_OK) {
        actors_run(&at->first.actor, &at->second.actor, points, reached, look_before, look_late,
                   at);
        status = repeat(at, &at->told.first, error);
    }
    if (status == KEDGE_OK) status = repeat(at, &at->told.second, error);
    look(at, CHECK_I3);
    if (status == KEDGE_OK && points->delete_derived)
        status = world_delete_derived(here, &at->ref, error);
    if (status == KEDGE_OK) check_all(at);
    free_processor(&at->first);
    free_processor(&at->second);
    free(at);
    return status;
}
