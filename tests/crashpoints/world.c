/* Stores, and copies of a project in them. */
#include "tests/crashpoints/world.h"

#include "backend/api/api.h"
#include "backend/memory/memory_ports.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/projects.h"
#include "common/error.h"
#include "tests/support/project.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 100

static kedge_project_ref ref_of(const char *project)
{
    return (kedge_project_ref){KEDGE_BYTES("acme"), kedge_bytes_of(project)};
}

static kedge_status open_engines(world *made, kedge_error *error)
{
    char suffix[17];
    char table[64];
    char bucket[64];
    kedge_random_hex(&made->environment, 8, suffix);
    snprintf(table, sizeof table, "kedge-crash-%s", suffix);
    snprintf(bucket, sizeof bucket, "kedge-crash-%s", suffix);
    kedge_aws_options options = {
        .environment = &made->environment, .table = table, .bucket = bucket, .create = true};
    kedge_status status = kedge_aws_open(&options, &made->aws, error);
    if (status != KEDGE_OK) return status;
    made->records = kedge_aws_records(made->aws);
    made->blobs = kedge_aws_blobs(made->aws);
    return KEDGE_OK;
}

static kedge_status open_memory(world *made, kedge_error *error)
{
    const kedge_environment *environment = &made->environment;
    kedge_status status = kedge_memory_records_open(environment, &made->records, error);
    if (status == KEDGE_OK) status = kedge_memory_blobs_open(environment, &made->blobs, error);
    if (status == KEDGE_OK)
        status = kedge_memory_records_open(environment, &made->template_records, error);
    if (status == KEDGE_OK)
        status = kedge_memory_blobs_open(environment, &made->template_blobs, error);
    return status;
}

kedge_status world_open(world *made, bool engines, kedge_error *error)
{
    memset(made, 0, sizeof *made);
    made->environment = kedge_environment_system(NULL);
    kedge_status status =
        kedge_registry_new(made->environment.allocator, NULL, 0, &made->registry, error);
    if (status == KEDGE_OK) status = engines ? open_engines(made, error) : open_memory(made, error);
    return status;
}

void world_close(world *gone)
{
    known_versions_free(&gone->known);
    if (gone->aws == NULL) {
        kedge_records *records[] = {&gone->records, &gone->template_records};
        kedge_blobs *blobs[] = {&gone->blobs, &gone->template_blobs};
        for (size_t i = 0; i < 2; i++) {
            if (records[i]->vtable != NULL) records[i]->vtable->close(records[i]->self);
            if (blobs[i]->vtable != NULL) blobs[i]->vtable->close(blobs[i]->self);
        }
    }
    kedge_aws_close(gone->aws);
    kedge_registry_free(gone->registry);
}

/* A dead processor would wait between its tries, too. */
static void pause_not(void *context, int64_t ms)
{
    (void)context;
    (void)ms;
}

static kedge_backend *new_backend(world *here, kedge_cadence cadence, bool resources_in_order,
                                  const kedge_records *records, const kedge_blobs *blobs)
{
    kedge_backend *backend = NULL;
    kedge_backend_options options = {.environment = &here->environment,
                                     .records = *records,
                                     .blobs = *blobs,
                                     .registry = here->registry,
                                     .cadence = cadence,
                                     .resources_in_order = resources_in_order,
                                     .pause = pause_not};
    if (kedge_backend_new(&options, &backend, NULL) != KEDGE_OK) abort();
    return backend;
}

kedge_backend *world_backend(world *here, const story *told, const kedge_records *records,
                             const kedge_blobs *blobs)
{
    return new_backend(here, told->cadence, false, records, blobs);
}

kedge_backend *world_plain_backend(world *here, bool resources_in_order,
                                   const kedge_records *records, const kedge_blobs *blobs)
{
    return new_backend(here, KEDGE_CADENCE_COMPACT, resources_in_order, records, blobs);
}

kedge_status world_prepare(world *here, const story *told, kedge_error *error)
{
    bool created = false;
    int64_t created_ms = 0;
    if (here->prepared == told) return KEDGE_OK;
    here->prepared = NULL;
    snprintf(here->template_project, sizeof here->template_project, "story-%" PRIu64,
             here->aws == NULL ? 0 : here->projects++);
    kedge_project_ref ref = ref_of(here->template_project);
    kedge_status status = KEDGE_OK;
    if (here->aws == NULL) {
        /* Nothing is left of the story before. */
        here->template_records.vtable->close(here->template_records.self);
        here->template_blobs.vtable->close(here->template_blobs.self);
        status = kedge_memory_records_open(&here->environment, &here->template_records, error);
        if (status == KEDGE_OK)
            status = kedge_memory_blobs_open(&here->environment, &here->template_blobs, error);
        if (status != KEDGE_OK) return status;
    }
    const kedge_records *records = here->aws == NULL ? &here->template_records : &here->records;
    const kedge_blobs *blobs = here->aws == NULL ? &here->template_blobs : &here->blobs;
    kedge_backend *backend = world_backend(here, told, records, blobs);
    status = kedge_project_create(HANDLE(backend, &ref), &created, &created_ms, error);
    if (status == KEDGE_OK) status = story_prepare(told, HANDLE(backend, &ref), error);
    kedge_backend_free(backend);
    if (status == KEDGE_OK) here->prepared = told;
    return status;
}

/* ---- copies ---- */

static kedge_status copy_page(world *here, kedge_record_set *set, kedge_bytes partition,
                              kedge_error *error)
{
    kedge_record_write writes[PAGE];
    for (size_t i = 0; i < set->count; i++) {
        writes[i] = (kedge_record_write){.kind = KEDGE_WRITE_PUT, .record = set->records[i]};
        writes[i].record.key.partition = partition;
    }
    return here->records.vtable->transact(here->records.self, writes, set->count, error);
}

static kedge_status copy_records(world *here, const kedge_project_ref *from,
                                 const kedge_project_ref *to, kedge_error *error)
{
    kedge_key source = kedge_key_partition(from);
    kedge_key target = kedge_key_partition(to);
    kedge_key after = {.size = 0};
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_records_query query = {.partition = kedge_key_bytes(&source),
                                     .after = kedge_key_bytes(&after),
                                     .limit = PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = here->records.vtable->query(here->records.self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        if (set.count > 0) {
            kedge_bytes last = set.records[set.count - 1].key.sort;
            memcpy(after.text, last.data, last.size);
            after.size = last.size;
            status = copy_page(here, &set, kedge_key_bytes(&target), error);
        }
        more = set.more;
        kedge_record_set_free(&set);
    }
    return status;
}

static kedge_status copy_project_row(world *here, const kedge_project_ref *from,
                                     const kedge_project_ref *to, kedge_error *error)
{
    kedge_key organization = kedge_key_organization(from->organization);
    kedge_key source = kedge_key_project(from->project);
    kedge_key target = kedge_key_project(to->project);
    kedge_record_key key = {kedge_key_bytes(&organization), kedge_key_bytes(&source)};
    kedge_record_set set = {0};
    kedge_status status = here->records.vtable->get(here->records.self, &key, true, &set, error);
    if (status != KEDGE_OK) return status;
    kedge_attribute attributes[KEDGE_RECORD_ATTRIBUTES_MAX];
    size_t count = set.records[0].attribute_count;
    for (size_t i = 0; i < count; i++) {
        attributes[i] = set.records[0].attributes[i];
        if (strcmp(attributes[i].name, KEDGE_RECORDS_INVERTED) == 0)
            attributes[i].bytes = to->project;
    }
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{key.partition, kedge_key_bytes(&target)}, attributes, count}};
    status = here->records.vtable->write(here->records.self, &write, error);
    kedge_record_set_free(&set);
    return status;
}

static kedge_status copy_blobs(world *here, const kedge_project_ref *from,
                               const kedge_project_ref *to, kedge_error *error)
{
    char prefix[128];
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    int size = snprintf(prefix, sizeof prefix, "acme/projects/%.*s/", (int)from->project.size,
                        from->project.data);
    kedge_status status =
        here->blobs.vtable->list(here->blobs.self, (kedge_bytes){prefix, (size_t)size}, none,
                                 KEDGE_BLOB_LIST_MAX, &list, error);
    for (size_t i = 0; i < list.count && status == KEDGE_OK; i++) {
        char key[KEDGE_BLOB_KEY_BYTES_MAX];
        kedge_buffer body = kedge_buffer_make(here->environment.allocator);
        snprintf(key, sizeof key, "acme/projects/%.*s/%s", (int)to->project.size, to->project.data,
                 list.blobs[i].key + size);
        status = here->blobs.vtable->get(here->blobs.self, kedge_bytes_of(list.blobs[i].key), &body,
                                         error);
        if (status == KEDGE_OK)
            status = here->blobs.vtable->put_if_absent(here->blobs.self, kedge_bytes_of(key),
                                                       kedge_buffer_bytes(&body), error);
        kedge_buffer_free(&body);
    }
    kedge_blob_list_free(&list);
    return status;
}

kedge_status world_fresh(world *here, kedge_project_ref *ref, kedge_error *error)
{
    if (here->aws == NULL) {
        *ref = ref_of(here->template_project);
        kedge_status status =
            kedge_memory_records_copy(&here->template_records, &here->records, error);
        if (status == KEDGE_OK)
            status = kedge_memory_blobs_copy(&here->template_blobs, &here->blobs, error);
        return status;
    }
    snprintf(here->project, sizeof here->project, "run-%" PRIu64, here->projects++);
    *ref = ref_of(here->project);
    kedge_project_ref from = ref_of(here->template_project);
    kedge_status status = copy_blobs(here, &from, ref, error);
    if (status == KEDGE_OK) status = copy_records(here, &from, ref, error);
    if (status == KEDGE_OK) status = copy_project_row(here, &from, ref, error);
    return status;
}

kedge_status world_delete_derived(world *here, const kedge_project_ref *ref, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(ref);
    kedge_records_query query = {
        .partition = kedge_key_bytes(&partition), .limit = 1000, .consistent = true};
    kedge_record_set set = {0};
    kedge_status status = here->records.vtable->query(here->records.self, &query, &set, error);
    if (status == KEDGE_OK && set.more)
        status = kedge_fail(error, KEDGE_INTERNAL, "story-too-long",
                            "a story's project has more than a page of records");
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        if (kedge_bytes_start_with(set.records[i].key.sort, KEDGE_BYTES("ProjectVersion#")))
            continue;
        kedge_record_write write = {.kind = KEDGE_WRITE_DELETE,
                                    .record = {.key = set.records[i].key}};
        status = here->records.vtable->write(here->records.self, &write, error);
    }
    kedge_record_set_free(&set);
    return status;
}
