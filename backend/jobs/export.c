/* Export: a project, record by record, and its lines. */
#include "backend/jobs/export.h"

#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "backend/jobs/chain.h"
#include "backend/jobs/key_set.h"
#include "backend/jobs/replay.h"
#include "backend/jobs/visit.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/version_codec.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 16
#define GONE_PER_LINE    1000
#define ITEMS_BYTES_MAX  262144 /* of the items in one line */
#define ID_BYTES         16

typedef struct exporting {
    const kedge_project *project;
    kedge_key partition;
    const kedge_lines *lines;
    kedge_export_result *result;
    kedge_chain chain;
    kedge_buffer line;
    kedge_key_set bodies; /* that were told */
    int64_t oldest;
    const kedge_version *newest;
    kedge_bytes collection; /* whose items are told */
} exporting;

/* ---- lines ---- */

static kedge_json_writer begin(exporting *work, const char *kind)
{
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, kind);
    return writer;
}

static kedge_status end(exporting *work, kedge_json_writer *writer, kedge_error *error)
{
    kedge_json_end_object(writer);
    kedge_status status = kedge_buffer_status(&work->line, error);
    if (status == KEDGE_OK) {
        status = kedge_chain_add(&work->chain, kedge_buffer_bytes(&work->line), error);
    }
    if (status == KEDGE_OK) status = kedge_lines_put(work->lines, &work->line, error);
    return status;
}

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

static void write_text(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    kedge_json_key(writer, name);
    kedge_json_text(writer, text);
}

/* ---- the first and the last line ---- */

static kedge_status tell_project(exporting *work, kedge_error *error)
{
    const kedge_version *creation = NULL;
    char id[2 * ID_BYTES + 1];
    kedge_status status = kedge_version_load_creation(work->project, &creation, error);
    if (status != KEDGE_OK) return status;
    kedge_random_hex(work->project->environment, ID_BYTES, id);
    kedge_json_writer writer = begin(work, "kedge_export");
    kedge_json_integer(&writer, KEDGE_EXPORT_FORMAT);
    write_text(&writer, "id", kedge_bytes_of(id));
    write_text(&writer, "organization", work->project->ref.organization);
    write_text(&writer, "project", work->project->ref.project);
    write_integer(&writer, "created", creation->created_ms);
    write_text(&writer, "lineage", kedge_bytes_of(creation->lineage));
    if (creation->forked.size > 0) {
        kedge_json_key(&writer, "forked");
        kedge_json_raw(&writer, creation->forked);
    }
    write_integer(&writer, "oldest", work->oldest);
    write_integer(&writer, "newest", work->newest->number);
    kedge_version_release(creation);
    return end(work, &writer, error);
}

static kedge_status tell_end(exporting *work, kedge_error *error)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(work->chain.hash, sizeof work->chain.hash, hex);
    kedge_json_writer writer = begin(work, "end");
    kedge_json_begin_object(&writer);
    write_integer(&writer, "lines", work->chain.lines);
    write_text(&writer, "sha256", kedge_bytes_of(hex));
    kedge_json_end_object(&writer);
    return end(work, &writer, error);
}

/* ---- bodies ---- */

static kedge_status tell_body(exporting *work, kedge_bytes collection, const kedge_entry *entry,
                              kedge_error *error)
{
    bool added = false;
    char hex[KEDGE_SHA256_HEX];
    kedge_key key = kedge_key_body(&work->project->ref, collection, entry->hash);
    if (entry->body.data != NULL) return KEDGE_OK;
    kedge_status status = kedge_key_set_add(&work->bodies, kedge_key_bytes(&key), &added, error);
    if (status != KEDGE_OK || !added) return status;
    work->result->bodies++;
    kedge_hex_encode(entry->hash, sizeof entry->hash, hex);
    kedge_json_writer writer = begin(work, "body");
    kedge_json_begin_object(&writer);
    write_text(&writer, "collection", collection);
    write_text(&writer, "hash", kedge_bytes_of(hex));
    kedge_json_key(&writer, "value");
    kedge_json_raw(&writer, (kedge_bytes){NULL, 0}); /* the body goes straight into the line */
    status = kedge_blob_body(work->project, collection, entry->hash, NULL, &work->line, error);
    kedge_json_end_object(&writer);
    return status == KEDGE_OK ? end(work, &writer, error) : status;
}

/* ---- versions ---- */

static kedge_status removed_meanwhile(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                      "versions were removed while they were exported; begin again");
}

static kedge_status tell_version(exporting *work, const kedge_version *version, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (change->deleted) continue;
        status = tell_body(work, change->collection, &change->entry, error);
    }
    if (status != KEDGE_OK) return status;
    kedge_json_writer writer = begin(work, "version");
    kedge_json_integer(&writer, version->number);
    kedge_json_key(&writer, "record");
    kedge_version_write_json(version, &writer);
    return end(work, &writer, error);
}

static kedge_status tell_page(exporting *work, const kedge_record_set *set, int64_t *next,
                              kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < set->count && status == KEDGE_OK; i++) {
        kedge_version_object *object = NULL;
        const kedge_record *record = &set->records[i];
        int64_t number = 0;
        kedge_key_read_version(record->key.sort, &number);
        if (kedge_retained_is_gone(record)) return removed_meanwhile(error);
        if (number != *next) {
            return kedge_fail(error, KEDGE_CORRUPT, "version-missing", "version %lld is not there",
                              (long long)*next);
        }
        status = kedge_version_decode(work->project, record, KEDGE_VERSION_WHOLE, &object, error);
        if (status != KEDGE_OK) return status;
        status = tell_version(work, &object->version, error);
        kedge_version_release(&object->version);
        ++*next;
    }
    return status;
}

static kedge_status tell_versions(exporting *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    int64_t next = work->oldest;
    kedge_status status = KEDGE_OK;
    while (next <= work->newest->number && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_key to = kedge_key_version(work->newest->number);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        if (set.count == 0) {
            kedge_record_set_free(&set);
            return kedge_fail(error, KEDGE_CORRUPT, "version-missing", "version %lld is not there",
                              (long long)next);
        }
        status = tell_page(work, &set, &next, error);
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- what retention has left: versions that are gone ---- */

static void write_gone(kedge_json_writer *writer, const kedge_record *record)
{
    const kedge_attribute *lineage = kedge_record_attribute(record, "lineage");
    const kedge_attribute *created = kedge_record_attribute(record, "created");
    int64_t number = 0;
    kedge_key_read_version(record->key.sort, &number);
    kedge_json_begin_array(writer);
    kedge_json_integer(writer, number);
    kedge_json_text(writer, lineage == NULL ? KEDGE_BYTES("") : lineage->bytes);
    kedge_json_integer(writer, created == NULL ? 0 : created->number);
    kedge_json_end_array(writer);
}

/* The versions below the oldest one that is kept. A retention that was broken off may have left
 * whole records of some: they are written as those that it has replaced. */
static kedge_status tell_gone(exporting *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    int64_t next = 1;
    kedge_status status = KEDGE_OK;
    while (next < work->oldest && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_key to = kedge_key_version(work->oldest - 1);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = GONE_PER_LINE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        if (set.count == 0) {
            kedge_record_set_free(&set);
            return kedge_fail(error, KEDGE_CORRUPT, "version-missing", "version %lld has no record",
                              (long long)next);
        }
        kedge_json_writer writer = begin(work, "gone");
        kedge_json_begin_array(&writer);
        for (size_t i = 0; i < set.count; i++)
            write_gone(&writer, &set.records[i]);
        kedge_json_end_array(&writer);
        kedge_key_read_version(set.records[set.count - 1].key.sort, &next);
        next++;
        kedge_record_set_free(&set);
        status = end(work, &writer, error);
    }
    return status;
}

/* ---- what retention has left: the state in front of the oldest version ---- */

static kedge_status tell_items(void *context, const kedge_chunk *chunk, kedge_error *error)
{
    exporting *work = context;
    kedge_json_writer writer = begin(work, "items");
    kedge_json_begin_object(&writer);
    write_text(&writer, "collection", work->collection);
    kedge_json_key(&writer, "entries");
    kedge_json_raw(&writer, chunk->text);
    kedge_json_end_object(&writer);
    return end(work, &writer, error);
}

static kedge_status tell_base(exporting *work, const kedge_replayed_collection *base,
                              kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    work->collection = kedge_bytes_of(base->name);
    const kedge_item *item = kedge_map_next(&base->map, true, (kedge_bytes){NULL, 0});
    while (item != NULL && status == KEDGE_OK) {
        status = tell_body(work, work->collection, &item->entry, error);
        item = kedge_map_next(&base->map, false, item->entry.id);
    }
    if (status == KEDGE_OK) {
        status = kedge_chunks_cut(work->project->allocator, &base->map, ITEMS_BYTES_MAX, 0,
                                  tell_items, work, error);
    }
    if (status != KEDGE_OK) return status;
    kedge_json_writer writer = begin(work, "base");
    kedge_json_begin_object(&writer);
    write_text(&writer, "collection", work->collection);
    write_integer(&writer, "number", base->number);
    write_integer(&writer, "changed", base->last);
    write_integer(&writer, "items", (int64_t)base->map.count);
    kedge_json_end_object(&writer);
    return end(work, &writer, error);
}

static kedge_status tell_bases(exporting *work, kedge_error *error)
{
    const kedge_version *oldest = NULL;
    kedge_replay replay = kedge_replay_make(work->project);
    kedge_status status =
        kedge_version_load_detail(work->project, work->oldest, KEDGE_VERSION_STATE, &oldest, error);
    if (status == KEDGE_NOT_FOUND) return removed_meanwhile(error);
    if (status == KEDGE_OK) status = kedge_replay_start(&replay, oldest, error);
    for (size_t i = 0; i < replay.count && status == KEDGE_OK; i++) {
        status = tell_base(work, &replay.collections[i], error);
    }
    kedge_version_release(oldest);
    kedge_replay_free(&replay);
    return status;
}

/* ---- what retention has left: index rows ---- */

static kedge_status write_attribute(exporting *work, kedge_json_writer *writer,
                                    const kedge_attribute *attribute, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(work->project->allocator);
    kedge_bytes text = attribute->bytes;
    kedge_status status = KEDGE_OK;
    kedge_json_key(writer, attribute->name);
    if (attribute->type == KEDGE_ATTRIBUTE_NUMBER) {
        kedge_json_integer(writer, attribute->number);
    } else if (strcmp(attribute->name, "outcomes") != 0) {
        kedge_json_text(writer, text);
    } else {
        status = kedge_unpack(attribute, &arena, &text, error);
        if (status == KEDGE_OK) kedge_json_raw(writer, text);
    }
    kedge_arena_free(&arena);
    return status;
}

static kedge_status tell_row(void *context, const kedge_record *record, kedge_error *error)
{
    exporting *work = context;
    const kedge_attribute *version = kedge_record_attribute(record, "version");
    if (version == NULL || version->number >= work->oldest) return KEDGE_OK;
    kedge_status status = KEDGE_OK;
    kedge_json_writer writer = begin(work, "row");
    kedge_json_text(&writer, record->key.sort);
    for (size_t i = 0; i < record->attribute_count && status == KEDGE_OK; i++) {
        status = write_attribute(work, &writer, &record->attributes[i], error);
    }
    return status == KEDGE_OK ? end(work, &writer, error) : status;
}

static kedge_status tell_old(exporting *work, kedge_error *error)
{
    static const char *const rows[] = {"Fork#", "Group#", "Mutation#", "Origin#"};
    if (work->oldest == 1) return KEDGE_OK;
    kedge_status status = tell_gone(work, error);
    if (status == KEDGE_OK) status = tell_bases(work, error);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == KEDGE_OK; i++) {
        status = kedge_visit_records(work->project, rows[i], tell_row, work, error);
    }
    return status;
}

/* ---- the job ---- */

static kedge_status run(exporting *work, kedge_error *error)
{
    kedge_status status = kedge_retained_oldest(work->project, &work->oldest, error);
    if (status != KEDGE_OK) return status;
    /* The newest version was read before the oldest one, and may have been removed in between. */
    if (work->oldest > 1 && work->oldest > work->newest->number) return removed_meanwhile(error);
    work->result->oldest = work->oldest;
    work->result->newest = work->newest->number;
    status = tell_project(work, error);
    if (status == KEDGE_OK) status = tell_old(work, error);
    if (status == KEDGE_OK) status = tell_versions(work, error);
    if (status == KEDGE_OK) status = tell_end(work, error);
    work->result->lines = work->chain.lines;
    return status;
}

kedge_status kedge_export_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_export_result *result, kedge_error *error)
{
    const kedge_allocator *allocator = project->allocator;
    exporting work = {.project = project,
                      .partition = kedge_key_partition(&project->ref),
                      .lines = lines,
                      .result = result,
                      .chain = {.allocator = allocator},
                      .line = kedge_buffer_make(allocator),
                      .bodies = {.allocator = allocator}};
    memset(result, 0, sizeof *result);
    kedge_status status =
        kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, &work.newest, error);
    if (status == KEDGE_OK) status = run(&work, error);
    kedge_version_release(work.newest);
    kedge_key_set_free(&work.bodies);
    kedge_buffer_free(&work.line);
    return status;
}
