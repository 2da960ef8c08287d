/* One run. */
#include "tests/crashpoints/resource_run.h"

#include "backend/api/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 5

const char *const resource_check_names[RESOURCE_CHECKS] = {"I1", "I3", "I5", "I17"};

typedef struct seen_version {
    char uid;
    char value[8];
} seen_version;

typedef struct processor {
    actor actor;
    kedge_backend *backend;
    const kedge_resource_ref *ref;
    const resource_edit *wanted;
    edit_result results[RESOURCE_EDITS_MAX];
} processor;

typedef struct resource_run {
    world *here;
    resource_mode mode;
    char id[32];
    kedge_resource_ref ref;
    suite_checks *all;
    seen_version seen[RESOURCE_VERSIONS_MAX + 1]; /* by version */
    int64_t newest;                               /* seen */
    kedge_backend *reader;
    processor first;
    processor second;
} resource_run;

static void holds(resource_run *at, resource_check check, bool right, const char *what,
                  int64_t version)
{
    at->all->evaluated[check]++;
    if (right) return;
    if (at->all->violated[check]++ == 0 && at->all->first[0] == '\0')
        snprintf(at->all->first, sizeof at->all->first, "%s: version %" PRId64 ": %s",
                 resource_check_names[check], version, what);
}

/* ---- looking ---- */

typedef struct list_of_versions {
    seen_version versions[RESOURCE_VERSIONS_MAX + 1];
    int64_t newest;
} list_of_versions;

static seen_version seen_of(const kedge_resource *row)
{
    seen_version seen = {.uid = row->uid[0]};
    snprintf(seen.value, sizeof seen.value, "%.*s", (int)row->value.size, row->value.data);
    return seen;
}

static bool is_same(const seen_version *one, const seen_version *other)
{
    return one->uid == other->uid && strcmp(one->value, other->value) == 0;
}

static kedge_status add(void *context, kedge_bytes id, const kedge_resource *row,
                        kedge_error *error)
{
    list_of_versions *list = context;
    (void)id, (void)error;
    if (row->version > RESOURCE_VERSIONS_MAX) abort();
    if (list->newest == 0) list->newest = row->version;
    list->versions[row->version] = seen_of(row);
    return KEDGE_OK;
}

/* What a reader sees of one version (0: the latest) is what the list has. */
static void check_read(resource_run *at, const list_of_versions *list, int64_t version,
                       int64_t expected)
{
    kedge_resource row = {0};
    kedge_status status = kedge_resource_read(at->reader, &at->ref, version, &row, NULL);
    if (status != KEDGE_OK) {
        holds(at, RESOURCE_I5, expected == 0 && status == KEDGE_NOT_FOUND, "cannot be read",
              version);
        return;
    }
    seen_version seen = seen_of(&row);
    holds(at, RESOURCE_I5, row.version == expected && is_same(&seen, &list->versions[expected]),
          "is another one than in the list", version);
    kedge_resource_free(&row);
}

static void look(resource_run *at, resource_check check)
{
    list_of_versions list = {.newest = 0};
    kedge_resource_page page = {add, &list, RESOURCE_VERSIONS_MAX};
    int64_t latest = 0;
    int64_t next = 0;
    kedge_status status =
        kedge_resource_versions(at->reader, &at->ref, 0, &page, &latest, &next, NULL);
    bool none = status == KEDGE_NOT_FOUND && at->newest == 0;
    holds(at, check, none || status == KEDGE_OK, "the versions cannot be listed", at->newest);
    if (status != KEDGE_OK) return;
    holds(at, check, list.newest >= at->newest, "is gone", at->newest);
    for (int64_t version = 1; version <= at->newest; version++)
        holds(at, check, is_same(&list.versions[version], &at->seen[version]), "has changed",
              version);
    holds(at, RESOURCE_I5, latest == 0 || latest == list.newest, "is not the newest", latest);
    check_read(at, &list, 0, latest);
    for (int64_t version = 1; version <= list.newest; version++)
        check_read(at, &list, version, version);
    memcpy(at->seen, list.versions, sizeof at->seen);
    at->newest = list.newest;
}

/* ---- what became of the edits ---- */

static void check_edit(resource_run *at, const resource_edit *edit, const edit_result *answers,
                       size_t count)
{
    int64_t found = 0;
    int times = 0;
    bool succeeded = false;
    for (int64_t version = 1; version <= at->newest; version++) {
        if (edit->kind == EDIT_DELETE || at->seen[version].uid != edit->uid) continue;
        found = version;
        times++;
    }
    holds(at, RESOURCE_I1, times <= 1, "a write was applied twice", found);
    for (size_t i = 0; i < count; i++) {
        if (answers[i].status != KEDGE_OK) continue;
        succeeded = true;
        if (edit->kind == EDIT_DELETE) continue;
        holds(at, RESOURCE_I1, answers[i].version == found, "was answered, and is another write's",
              answers[i].version);
    }
    /* A repeated creation may be refused although it is there: docs/explanation/resource.md. */
    if (edit->kind != EDIT_DELETE && edit->expected > 0)
        holds(at, RESOURCE_I1, succeeded || times == 0, "was refused, and is there", found);
}

/* ---- processors ---- */

static kedge_backend *new_backend(resource_run *at, const kedge_records *records,
                                  const kedge_blobs *blobs)
{
    return world_plain_backend(at->here, at->mode == IN_ORDER, records, blobs);
}

static void work(void *context)
{
    processor *own = context;
    for (size_t i = 0; i < RESOURCE_EDITS_MAX; i++)
        own->results[i] = resource_story_do(&own->wanted[i], own->backend, own->ref);
}

static void make_processor(resource_run *at, processor *made, const resource_edit *wanted)
{
    gate *ports = &made->actor.ports;
    gate_make(ports, &at->here->records, &at->here->blobs);
    made->actor.act = work;
    made->actor.context = made;
    made->backend = new_backend(at, &ports->records, &ports->blobs);
    made->wanted = wanted;
    made->ref = &at->ref;
}

static void free_processor(processor *gone)
{
    kedge_backend_free(gone->backend);
    gate_free(&gone->actor.ports);
}

static void look_before(void *context)
{
    look(context, RESOURCE_I3);
}

static void look_late(void *context)
{
    look(context, RESOURCE_I17);
}

/* As callers do that got no response; one that got a response has it already. */
static void repeat(resource_run *at, const processor *done, edit_result again[RESOURCE_EDITS_MAX])
{
    for (size_t i = 0; i < RESOURCE_EDITS_MAX; i++) {
        again[i] = done->results[i];
        for (int times = 0; times < REPEATS_MAX && again[i].status == KEDGE_UNAVAILABLE; times++)
            again[i] = resource_story_do(&done->wanted[i], at->reader, &at->ref);
        look(at, RESOURCE_I3);
    }
}

static void repeat_and_check(resource_run *at)
{
    edit_result first[RESOURCE_EDITS_MAX];
    edit_result second[RESOURCE_EDITS_MAX];
    repeat(at, &at->first, first);
    repeat(at, &at->second, second);
    for (size_t i = 0; i < RESOURCE_EDITS_MAX; i++) {
        const resource_edit *one = &at->first.wanted[i];
        const resource_edit *other = &at->second.wanted[i];
        if (one->kind != EDIT_NONE) check_edit(at, one, &first[i], 1);
        if (other->kind != EDIT_NONE) check_edit(at, other, &second[i], 1);
    }
}

kedge_status resource_run_once(world *here, size_t place, bool turned, const run_points *points,
                               run_reached *reached, suite_checks *all, kedge_error *error)
{
    const resource_story *told = &resource_stories[place / RESOURCE_MODES];
    const resource_edit *first = turned ? told->second : told->first;
    const resource_edit *second = turned ? told->first : told->second;
    resource_run *at = calloc(1, sizeof *at);
    if (at == NULL) abort();
    at->here = here;
    at->mode = (resource_mode)(place % RESOURCE_MODES);
    at->all = all;
    int size = snprintf(at->id, sizeof at->id, "run-%" PRIu64, here->projects++);
    at->ref =
        (kedge_resource_ref){KEDGE_BYTES("acme"), KEDGE_BYTES("plan"), {at->id, (size_t)size}};
    at->reader = new_backend(at, &here->records, &here->blobs);
    make_processor(at, &at->first, first);
    make_processor(at, &at->second, second);
    kedge_status status = resource_story_prepare(told, at->reader, &at->ref, error);
    if (status == KEDGE_OK) {
        look(at, RESOURCE_I3);
        if (points->alone) {
            for (size_t i = 0; i < RESOURCE_EDITS_MAX; i++)
                at->second.results[i].status =
                    second[i].kind == EDIT_NONE ? KEDGE_OK : KEDGE_UNAVAILABLE;
        }
        actors_run(&at->first.actor, &at->second.actor, points, reached, look_before, look_late,
                   at);
        repeat_and_check(at);
    }
    free_processor(&at->first);
    free_processor(&at->second);
    kedge_backend_free(at->reader);
    free(at);
    return status;
}
