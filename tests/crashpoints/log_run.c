/* One run over a log. */
#include "tests/crashpoints/log_run.h"

#include "backend/api/api.h"

#include "backend/log/body.h"
#include "backend/log/layout.h"
#include "tests/crashpoints/log_story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 5
#define ENTRIES_MAX 64

const char *const log_check_names[LOG_CHECKS] = {"I1", "I3", "I5", "I14", "I15", "I17"};

/* What was seen of the log. */
typedef struct seen_log {
    bool exists;
    int64_t first;
    int64_t next;
    int64_t last_snapshot;
    struct {
        char type[16];
        uint8_t id[KEDGE_LOG_ID_SIZE];
    } entries[ENTRIES_MAX]; /* by number */
} seen_log;

typedef struct processor {
    actor actor;
    kedge_backend *backend;
    kedge_project project;
    kedge_log log;
    const log_step *wanted;
    int64_t since;
    log_answer answers[LOG_STEPS_MAX];
} processor;

typedef struct log_run {
    world *here;
    suite_checks *all;
    char name[32];
    kedge_project_ref ref;
    int64_t since;
    seen_log seen;
    kedge_backend *reader;
    kedge_project project;
    kedge_log log; /* of the reader */
    processor first;
    processor second;
} log_run;

static void holds(log_run *at, log_check check, bool right, const char *what, int64_t number)
{
    at->all->evaluated[check]++;
    if (right) return;
    if (at->all->violated[check]++ == 0 && at->all->first[0] == '\0')
        snprintf(at->all->first, sizeof at->all->first, "%s: entry %" PRId64 ": %s",
                 log_check_names[check], number, what);
}

/* ---- looking ---- */

static void check_body(log_run *at, const kedge_log_entry *entry)
{
    const kedge_blobs *blobs = &at->here->blobs;
    if (entry->external.size == 0) return;
    kedge_buffer body = kedge_buffer_make(at->here->environment.allocator);
    kedge_status status = kedge_log_read_body(&at->log, entry, &body, NULL);
    holds(at, LOG_I14, status == KEDGE_OK, "its body cannot be read", entry->at.number);
    kedge_buffer_clear(&body);
    kedge_log_key key = kedge_log_key_body(&at->log, entry->external);
    status = blobs->vtable->get_tag(blobs->self, kedge_log_key_bytes(&key),
                                    KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), &body, NULL);
    holds(at, LOG_I14, status == KEDGE_NOT_FOUND, "its body is to be discarded", entry->at.number);
    kedge_buffer_free(&body);
}

static void note(log_run *at, const kedge_log_entry *entry, seen_log *now)
{
    if (entry->at.number >= ENTRIES_MAX) abort();
    if (now->next == 0 && now->first == 0 && entry->at.number > 0) now->first = entry->at.number;
    snprintf(now->entries[entry->at.number].type, sizeof now->entries[0].type, "%.*s",
             (int)entry->type.size, entry->type.data);
    memcpy(now->entries[entry->at.number].id, entry->id, sizeof entry->id);
    holds(at, LOG_I3, now->next == 0 || entry->at.number == now->next, "stands behind a gap",
          entry->at.number);
    now->next = entry->at.number + 1;
    check_body(at, entry);
}

/* All of the log, and what a load gives of it. */
static void read_all(log_run *at, seen_log *now)
{
    kedge_log_reader reader = {.ended = true};
    kedge_error error = {0};
    kedge_status status =
        kedge_log_query(&at->log, KEDGE_LOG_FROM_START, 0, false, &reader, &error);
    now->exists = status != KEDGE_NOT_FOUND;
    if (!now->exists) return;
    now->last_snapshot = reader.last_snapshot;
    while (status == KEDGE_OK && !reader.ended) {
        kedge_log_page page = kedge_log_page_make(at->here->environment.allocator);
        status = kedge_log_read(&reader, KEDGE_LOG_PAGE_MAX, &page, &error);
        for (size_t i = 0; i < page.count; i++)
            note(at, &page.entries[i], now);
        kedge_log_page_free(&page);
    }
    holds(at, LOG_I3, status == KEDGE_OK, error.message, now->next);
}

static void check_load(log_run *at, const seen_log *now)
{
    kedge_log_reader reader;
    kedge_error error = {0};
    int64_t last = -1;
    kedge_status status = kedge_log_load(&at->log, &reader, &error);
    holds(at, LOG_I5, status == KEDGE_OK, error.message, now->next);
    while (status == KEDGE_OK && !reader.ended) {
        kedge_log_page page = kedge_log_page_make(at->here->environment.allocator);
        status = kedge_log_read(&reader, KEDGE_LOG_PAGE_MAX, &page, &error);
        for (size_t i = 0; i < page.count; i++) {
            int64_t number = page.entries[i].at.number;
            bool start =
                last < 0 && (now->last_snapshot < 0 ? number == 1 : number == now->last_snapshot);
            /* entry 0 of a segment is left out */
            bool follows = last >= 0 && (number == last + 1 || number == last + 2);
            holds(at, LOG_I5, start || follows, "is out of place in a load", number);
            last = number;
        }
        kedge_log_page_free(&page);
    }
    holds(at, LOG_I5, status == KEDGE_OK, error.message, now->next);
}

static void look(log_run *at, log_check check)
{
    seen_log now = {.last_snapshot = -1};
    seen_log *before = &at->seen;
    read_all(at, &now);
    holds(at, check, now.exists || !before->exists, "the log is gone", 0);
    if (!now.exists) return;
    holds(at, check, now.next >= before->next, "entries are gone", now.next);
    holds(at, LOG_I15, now.last_snapshot >= before->last_snapshot || !before->exists,
          "the last snapshot moved back", now.last_snapshot);
    for (int64_t number = now.first; number < before->next; number++) {
        if (number < before->first) continue;
        bool same =
            memcmp(&now.entries[number], &before->entries[number], sizeof now.entries[0]) == 0;
        holds(at, check, same, "has changed", number);
    }
    check_load(at, &now);
    at->seen = now;
}

/* ---- what became of the steps ---- */

static void check_append(log_run *at, const log_step *step, const log_answer *answer)
{
    int times = 0;
    int64_t found = -1;
    for (int64_t number = at->seen.first; number < at->seen.next; number++) {
        if (at->seen.entries[number].id[0] != step->id ||
            strcmp(at->seen.entries[number].type, "set") != 0)
            continue;
        times++;
        found = number;
    }
    holds(at, LOG_I1, times <= 1, "an append took effect twice", found);
    if (answer->status != KEDGE_OK) return;
    holds(at, LOG_I1, times == (answer->conflict ? 0 : 1),
          answer->conflict ? "was refused, and is there" : "was answered, and is not there",
          answer->number);
    if (!answer->conflict)
        holds(at, LOG_I1, found == answer->number, "stands elsewhere than was answered", found);
}

static void check_step(log_run *at, const log_step *step, const log_answer *answer)
{
    if (step->kind == STEP_APPEND || step->kind == STEP_EXPECT || step->kind == STEP_LARGE) {
        uint8_t none[KEDGE_LOG_ID_SIZE - 1] = {0};
        for (int64_t number = at->seen.first; number < at->seen.next; number++) {
            /* a random id is no id of a step */
            if (memcmp(at->seen.entries[number].id + 1, none, sizeof none) != 0)
                at->seen.entries[number].id[0] = 0;
        }
        check_append(at, step, answer);
    }
    bool sound = answer->status != KEDGE_CORRUPT && answer->status != KEDGE_UNSUPPORTED;
    holds(at, LOG_I3, sound, "the log was taken for corrupt", step->number);
    if (step->kind == STEP_SNAPSHOT && answer->status == KEDGE_OK)
        holds(at, LOG_I15, at->seen.last_snapshot >= step->number, "has no snapshot", step->number);
    if (step->kind == STEP_TRUNCATE && answer->status == KEDGE_OK)
        holds(at, LOG_I3, at->seen.first == step->number, "is not the first one", step->number);
    if (step->kind == STEP_CREATE && answer->status == KEDGE_OK)
        holds(at, LOG_I1, at->seen.next == 1, "the log is not new", at->seen.next);
}

/* ---- processors ---- */

static kedge_backend *new_backend(log_run *at, const kedge_records *records,
                                  const kedge_blobs *blobs)
{
    return world_plain_backend(at->here, false, records, blobs);
}

static void work(void *context)
{
    processor *own = context;
    for (size_t i = 0; i < LOG_STEPS_MAX; i++)
        own->answers[i] = log_story_do(&own->wanted[i], &own->log, own->since);
}

static void make_processor(log_run *at, processor *made, const log_step *wanted)
{
    gate *ports = &made->actor.ports;
    gate_make(ports, &at->here->records, &at->here->blobs);
    made->actor.act = work;
    made->actor.context = made;
    made->backend = new_backend(at, &ports->records, &ports->blobs);
    made->project = kedge_project_of(made->backend, &at->ref);
    made->log = kedge_log_of(&made->project, kedge_bytes_of(at->name));
    made->wanted = wanted;
}

static void free_processor(processor *gone)
{
    kedge_backend_free(gone->backend);
    gate_free(&gone->actor.ports);
}

static void look_before(void *context)
{
    look(context, LOG_I3);
}

static void look_late(void *context)
{
    look(context, LOG_I17);
}

/* As callers do that got no response; one that got a response has it already. */
static void repeat(log_run *at, processor *done)
{
    for (size_t i = 0; i < LOG_STEPS_MAX; i++) {
        log_answer *answer = &done->answers[i];
        for (int times = 0; times < REPEATS_MAX && answer->status == KEDGE_UNAVAILABLE; times++)
            *answer = log_story_do(&done->wanted[i], &at->log, at->since);
        look(at, LOG_I3);
    }
}

static void check_all(log_run *at)
{
    repeat(at, &at->first);
    repeat(at, &at->second);
    for (size_t i = 0; i < LOG_STEPS_MAX; i++) {
        check_step(at, &at->first.wanted[i], &at->first.answers[i]);
        check_step(at, &at->second.wanted[i], &at->second.answers[i]);
    }
}

kedge_status log_run_once(world *here, size_t place, bool turned, const run_points *points,
                          run_reached *reached, suite_checks *all, kedge_error *error)
{
    const log_story *told = &log_stories[place];
    log_run *at = calloc(1, sizeof *at);
    if (at == NULL) abort();
    at->here = here;
    at->all = all;
    at->ref = (kedge_project_ref){KEDGE_BYTES("acme"), KEDGE_BYTES("logs")};
    at->seen.last_snapshot = -1;
    snprintf(at->name, sizeof at->name, "run-%" PRIu64, here->projects++);
    at->reader = new_backend(at, &here->records, &here->blobs);
    at->project = kedge_project_of(at->reader, &at->ref);
    at->log = kedge_log_of(&at->project, kedge_bytes_of(at->name));
    make_processor(at, &at->first, turned ? told->second : told->first);
    make_processor(at, &at->second, turned ? told->first : told->second);
    kedge_status status = log_story_prepare(told, &at->log, &at->since, error);
    if (status == KEDGE_OK) {
        look(at, LOG_I3);
        for (size_t i = 0; i < LOG_STEPS_MAX && points->alone; i++)
            at->second.answers[i].status = KEDGE_UNAVAILABLE;
        at->first.since = at->second.since = at->since;
        actors_run(&at->first.actor, &at->second.actor, points, reached, look_before, look_late,
                   at);
        check_all(at);
    }
    free_processor(&at->first);
    free_processor(&at->second);
    kedge_backend_free(at->reader);
    free(at);
    return status;
}
