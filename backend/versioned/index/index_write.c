/* Index rows, written, and written again when they are gone.
 *
 * All rows of the versions that are kept may be deleted at any time; they are then made again from
 * the version records, the newest version first. So at any moment, also after a crash in between,
 * the existing rows are the newest ones: a client whose newest row is missing has no row at all, or
 * only rows of versions that are no longer kept (versions/versions.h). A reader that finds this
 * looks for a row of the oldest version that is kept. When that row is missing, too, the rows were
 * deleted, or not all of them are written again yet. */
#include "backend/versioned/index/index.h"

#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"
#include "common/json.h"

#include <string.h>

#define VERSIONS_PER_STEP 16
#define ROW_ATTRIBUTES    7

/* ---- the rows of a version ---- */

static kedge_status add_write(kedge_index_rows *rows, kedge_bytes partition, const kedge_key *key,
                              const kedge_attribute *attributes, size_t count, kedge_error *error)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? 32 : rows->capacity * 2;
        kedge_record_write *grown = kedge_arena_take_array(rows->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (rows->count > 0) memcpy(grown, rows->writes, rows->count * sizeof *grown);
        rows->writes = grown;
        rows->capacity = capacity;
    }
    kedge_attribute *kept = kedge_arena_take_array(rows->arena, count, sizeof *kept);
    kedge_bytes sort;
    if (kept == NULL || !kedge_arena_copy(rows->arena, kedge_key_bytes(key), &sort)) {
        return kedge_fail_no_memory(error);
    }
    memcpy(kept, attributes, count * sizeof *kept);
    kedge_record_write *write = &rows->writes[rows->count++];
    *write = (kedge_record_write){.kind = KEDGE_WRITE_PUT,
                                  .record = {{partition, sort}, kept, count},
                                  .condition = KEDGE_IF_ANY};
    return KEDGE_OK;
}

static kedge_attribute text(const char *name, kedge_bytes bytes)
{
    return (kedge_attribute){name, KEDGE_ATTRIBUTE_TEXT, bytes, 0};
}

static kedge_attribute number(const char *name, int64_t value)
{
    return (kedge_attribute){name, KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, value};
}

static void write_outcomes(kedge_buffer *out, const kedge_version *version, kedge_bytes client)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        if (!kedge_bytes_equal(mutation->client, client)) continue;
        char digest[KEDGE_DIGEST_HEX];
        kedge_hex_encode(mutation->digest, KEDGE_DIGEST_SIZE, digest);
        kedge_json_begin_array(&writer);
        kedge_json_chars(&writer, digest);
        kedge_json_integer(&writer, mutation->outcome);
        if (kedge_mutation_has_reason(mutation)) {
            kedge_json_text(&writer, mutation->code);
            kedge_json_text(&writer, mutation->message);
        }
        kedge_json_end_array(&writer);
    }
    kedge_json_end_array(&writer);
}

static kedge_status add_run(kedge_index_rows *rows, kedge_bytes partition,
                            const kedge_version *version, const kedge_run *run, kedge_error *error)
{
    kedge_bytes lineage = kedge_bytes_of(version->lineage);
    kedge_attribute attributes[ROW_ATTRIBUTES] = {
        number("version", version->number), text("lineage", lineage),    text("group", run->group),
        text("subject", run->user),         number("first", run->first), number("last", run->last)};
    kedge_buffer outcomes = kedge_buffer_make(rows->arena->allocator);
    write_outcomes(&outcomes, version, run->client);
    kedge_status status = kedge_buffer_status(&outcomes, error);
    if (status == KEDGE_OK) {
        status = kedge_pack("outcomes", kedge_buffer_bytes(&outcomes), rows->arena,
                            &attributes[ROW_ATTRIBUTES - 1], error);
    }
    kedge_buffer_free(&outcomes);
    if (status != KEDGE_OK) return status;
    /* Once for a client: at its first run, or when it is retired before it had one. */
    if (run->first == 1) {
        kedge_key key = kedge_key_group(run->group, run->client);
        status = add_write(rows, partition, &key, attributes, 2, error);
        if (status != KEDGE_OK) return status;
    }
    kedge_key key = kedge_key_run(run->client, run->retired ? KEDGE_RETIRED_FIRST : run->first);
    return add_write(rows, partition, &key, attributes, ROW_ATTRIBUTES, error);
}

static kedge_status add_origin(kedge_index_rows *rows, kedge_bytes partition,
                               const kedge_version *version, const kedge_version_mutation *mutation,
                               kedge_error *error)
{
    kedge_attribute attributes[] = {number("version", version->number),
                                    text("lineage", kedge_bytes_of(version->lineage)),
                                    text("client", mutation->client), number("id", mutation->id)};
    kedge_key key =
        kedge_key_origin(mutation->origin_client, mutation->origin_id, mutation->digest);
    return add_write(rows, partition, &key, attributes, 4, error);
}

kedge_status kedge_index_rows_of(kedge_bytes partition, const kedge_version *version,
                                 kedge_index_rows *rows, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->mutation_count && status == KEDGE_OK; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        bool decided = mutation->outcome != KEDGE_MUTATION_DUPLICATE;
        if (mutation->origin_client.size == 0 || !decided) continue;
        status = add_origin(rows, partition, version, mutation, error);
    }
    for (size_t i = 0; i < version->run_count && status == KEDGE_OK; i++) {
        status = add_run(rows, partition, version, &version->runs[i], error);
    }
    if (status != KEDGE_OK || version->forked.size == 0) return status;
    kedge_attribute attributes[] = {number("version", version->number),
                                    text("lineage", kedge_bytes_of(version->lineage))};
    kedge_key key = kedge_key_fork(version->number);
    return add_write(rows, partition, &key, attributes, 2, error);
}

/* ---- making them durable ---- */

/* The versions are the newest first. With `in_order` their rows become durable in that order. */
static kedge_status write_versions(kedge_backend *backend, kedge_bytes partition,
                                   const kedge_version *const *versions, size_t count,
                                   bool in_order, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_arena arena = kedge_arena_make(backend->allocator);
    kedge_index_rows rows = {.arena = &arena};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = kedge_index_rows_of(partition, versions[i], &rows, error);
    }
    if (status == KEDGE_OK) {
        status = in_order ? kedge_records_put_in_order(records, rows.writes, rows.count, error)
                          : kedge_records_put_all(records, rows.writes, rows.count, error);
    }
    kedge_arena_free(&arena);
    return status;
}

kedge_status kedge_index_write(kedge_backend *backend, kedge_bytes partition,
                               const kedge_version *const *versions, size_t count,
                               kedge_error *error)
{
    return write_versions(backend, partition, versions, count, true, error);
}

/* A version that retention has removed: its rows were durable before. */
static kedge_status end_of_range(const kedge_project *project, int64_t missing, kedge_error *error)
{
    int64_t oldest = 1;
    kedge_status status = kedge_retained_oldest(project, &oldest, error);
    if (status != KEDGE_OK || missing < oldest) return status;
    return kedge_fail(error, KEDGE_CORRUPT, "version-missing", "version %lld is not there",
                      (long long)missing);
}

static void release_versions(const kedge_version **versions, size_t count)
{
    while (count > 0)
        kedge_version_release(versions[--count]);
}

/* The versions `at`, at - 1, … down to `from`, a few of them; fewer when one is missing. `head` may
 * be the first of them, which then need not be read again. */
static kedge_status load_step(const kedge_project *project, int64_t from, int64_t at,
                              const kedge_version *head, const kedge_version **versions,
                              size_t *count, bool *all, kedge_error *error)
{
    int64_t left = at - from + 1;
    size_t wanted = left < VERSIONS_PER_STEP ? (size_t)left : VERSIONS_PER_STEP;
    size_t own = at == head->number ? 1 : 0;
    size_t listed = 0;
    kedge_status status = KEDGE_OK;
    if (wanted > own) {
        status = kedge_version_list(project, at + 1 - (int64_t)own, (uint32_t)(wanted - own),
                                    KEDGE_VERSION_OUTCOMES, versions + own, &listed, error);
    }
    if (status != KEDGE_OK) return status;
    if (own > 0) {
        versions[0] = head;
        kedge_version_retain(head);
    }
    size_t there = own;
    while (there < own + listed && versions[there]->number == at - (int64_t)there)
        there++;
    release_versions(versions + there, own + listed - there);
    *count = there;
    *all = there == wanted;
    return KEDGE_OK;
}

/* The rows of versions from .. `head`, the newest first and a few versions at a time. */
static kedge_status write_range(const kedge_project *project, int64_t from,
                                const kedge_version *head, bool in_order, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_status status = KEDGE_OK;
    for (int64_t at = head->number; at >= from && status == KEDGE_OK;) {
        const kedge_version *versions[VERSIONS_PER_STEP];
        size_t count = 0;
        bool all = false;
        status = load_step(project, from, at, head, versions, &count, &all, error);
        if (status != KEDGE_OK) return status;
        status = write_versions(project->backend, kedge_key_bytes(&partition), versions, count,
                                in_order, error);
        release_versions(versions, count);
        at -= (int64_t)count;
        if (status == KEDGE_OK && !all) {
            status = end_of_range(project, at, error);
            from = at + 1; /* the versions below are gone as well */
        }
    }
    return status;
}

/* ---- is it there? ---- */

/* Of a version's rows that of its last run is written last. */
static kedge_status row_is_there(const kedge_project *project, const kedge_version *version,
                                 bool *there, kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_fork(version->number);
    if (version->run_count > 0) {
        const kedge_run *run = &version->runs[version->run_count - 1];
        sort = kedge_key_run(run->client, run->retired ? KEDGE_RETIRED_FIRST : run->first);
    }
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    *there = false;
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *lineage = kedge_record_attribute(&set.records[0], "lineage");
    *there = lineage != NULL && kedge_bytes_equal_text(lineage->bytes, version->lineage);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

static kedge_status load_oldest(const kedge_project *project, int64_t *number,
                                const kedge_version **version, kedge_error *error)
{
    *number = 1;
    kedge_status status = kedge_version_load_detail(project, 1, KEDGE_VERSION_RUNS, version, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_retained_oldest(project, number, error);
    if (status != KEDGE_OK) return status;
    if (*number == 1) return KEDGE_DONE; /* lost: the rows are what is left */
    status = kedge_version_load_detail(project, *number, KEDGE_VERSION_RUNS, version, error);
    return status == KEDGE_NOT_FOUND ? kedge_retained_fail(project, *number, *number, error)
                                     : status;
}

/* A row of the oldest version that is kept and has rows: the one that is written last when all are
 * made again. Without retention, which is the rule, that is version 1. A version that a repair has
 * committed has none. */
static kedge_status index_is_there(const kedge_project *project, int64_t through, bool *there,
                                   kedge_error *error)
{
    const kedge_version *first = NULL;
    int64_t number = 1;
    *there = true;
    kedge_status status = load_oldest(project, &number, &first, error);
    while (status == KEDGE_OK && first->run_count == 0 && first->forked.size == 0) {
        kedge_version_release(first);
        if (++number > through) return KEDGE_OK;
        status = kedge_version_load_detail(project, number, KEDGE_VERSION_RUNS, &first, error);
        if (status == KEDGE_NOT_FOUND) return kedge_retained_fail(project, number, number, error);
    }
    if (status != KEDGE_OK) return status == KEDGE_DONE ? KEDGE_OK : status;
    status = row_is_there(project, first, there, error);
    kedge_version_release(first);
    return status;
}

kedge_status kedge_index_repair(const kedge_project *project, const kedge_version *at, bool surely,
                                bool *repaired, kedge_error *error)
{
    bool there = false;
    const kedge_version *newest = NULL;
    kedge_status status = KEDGE_OK;
    *repaired = false;
    if (at->indexed_through == 0) return KEDGE_OK;
    if (!surely) status = index_is_there(project, at->indexed_through, &there, error);
    if (status != KEDGE_OK || there) return status;
    /* The rows of all versions up to the newest, not only those that `at` needs: a reader at a
     * newer version that finds old rows takes them for all there are. */
    status = kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, &newest, error);
    if (status != KEDGE_OK) return status;
    status = write_range(project, 1, newest, true, error);
    kedge_version_release(newest);
    *repaired = status == KEDGE_OK;
    return status;
}

kedge_status kedge_index_complete(const kedge_project *project, const kedge_version *head,
                                  kedge_error *error)
{
    if (head->number == 0) return KEDGE_OK;
    bool repaired = false;
    kedge_status status = kedge_index_repair(project, head, false, &repaired, error);
    if (status != KEDGE_OK) return status;
    /* No reader uses these rows before a commit says that all of them are there. */
    status = write_range(project, head->indexed_through + 1, head, false, error);
    if (status == KEDGE_OK) kedge_cache_set_indexed(project->backend->cache, &project->ref, head);
    return status;
}

kedge_status kedge_index_ensure(const kedge_project *project, kedge_error *error)
{
    bool repaired = false;
    const kedge_version *newest = NULL;
    kedge_status status = kedge_version_load_detail(project, 0, KEDGE_VERSION_RUNS, &newest, error);
    if (status != KEDGE_OK) return status;
    status = kedge_index_repair(project, newest, false, &repaired, error);
    kedge_version_release(newest);
    return status;
}
