/* Snapshots of log projects: found and opened. */
#include "backend/logged/snapshots.h"

#include "backend/logged/snapshot_object.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/state/state_internal.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

kedge_status kedge_logged_last_snapshot(const kedge_project *project, int64_t *number,
                                        kedge_error *error)
{
    kedge_logged_reader reader;
    kedge_status status = kedge_logged_reader_open(project, -1, true, 1, &reader, error);
    if (status == KEDGE_OK) *number = reader.entries.last_snapshot;
    kedge_logged_reader_close(&reader);
    return status;
}

kedge_status kedge_logged_snapshot_hash(const kedge_project *project, const char *id,
                                        uint8_t hash[KEDGE_SHA256_SIZE], kedge_error *error)
{
    kedge_snapshot_object object;
    kedge_status status = kedge_snapshot_object_get(project, id, &object, error);
    if (status != KEDGE_OK) return status;
    memcpy(hash, object.hash, KEDGE_SHA256_SIZE);
    kedge_version_release(object.state);
    kedge_version_release(object.rejections);
    return KEDGE_OK;
}

/* ---- opening ---- */

/* The cache keeps the states of snapshots under names that no project can have. Under the project's
 * own name it keeps the heads, whose states have no collections. */
static kedge_status open_state(const kedge_project *project, const char *mark,
                               const kedge_version *version, kedge_state **state,
                               kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 16];
    (void)snprintf(name, sizeof name, "%.*s#%s", (int)project->ref.project.size,
                   project->ref.project.data, mark);
    kedge_project_ref ref = {project->ref.organization, kedge_bytes_of(name)};
    kedge_cache *cache = project->backend->cache;
    *state = kedge_cache_find(cache, &ref, version->number, version->lineage);
    if (*state != NULL) return KEDGE_OK;
    kedge_status status = kedge_state_derive(project, NULL, version, state, error);
    if (status == KEDGE_OK) kedge_cache_add(cache, &ref, *state, false);
    return status;
}

/* The entry's version, its snapshot's id, and the revision that has it. */
static kedge_status load_entry(const kedge_project *project, int64_t number,
                               const kedge_version **at, char id[KEDGE_SHA256_HEX],
                               int64_t *revision, kedge_error *error)
{
    kedge_logged_reader reader;
    kedge_logged_entry entry = {.version = NULL};
    kedge_status status = kedge_logged_reader_open(project, number, false, 1, &reader, error);
    if (status == KEDGE_OK) status = kedge_logged_read(&reader, &entry, error);
    kedge_logged_reader_close(&reader);
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    bool there = status == KEDGE_OK && entry.version->number == number && entry.snapshot[0] != '\0';
    bool is_system = entry.is_system;
    memcpy(id, entry.snapshot, KEDGE_SHA256_HEX);
    *revision = entry.revision;
    if (there && !is_system) {
        *at = entry.version;
        return KEDGE_OK;
    }
    kedge_version_release(entry.version);
    if (there) return project->history->load(project, number, at, error);
    return kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                      "there is no snapshot of version %" PRId64, number);
}

static kedge_status open_object(const kedge_project *project, const char *id,
                                kedge_logged_snapshot *out, kedge_error *error)
{
    kedge_snapshot_object object;
    kedge_status status = kedge_snapshot_object_get(project, id, &object, error);
    if (status != KEDGE_OK) return status;
    if (object.state->number != out->number ||
        strcmp(object.state->lineage, out->at->lineage) != 0) {
        status = kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                            "the snapshot of entry %" PRId64 " is of another one", out->number);
    }
    memcpy(out->hash, object.hash, sizeof out->hash);
    memcpy(out->id, id, sizeof out->id);
    if (status == KEDGE_OK) status = open_state(project, "s", object.state, &out->state, error);
    if (status == KEDGE_OK)
        status = open_state(project, "r", object.rejections, &out->rejections, error);
    kedge_version_release(object.state);
    kedge_version_release(object.rejections);
    return status;
}

kedge_status kedge_logged_snapshot_open(const kedge_project *project, int64_t number,
                                        kedge_logged_snapshot *snapshot, kedge_error *error)
{
    char id[KEDGE_SHA256_HEX];
    kedge_logged_snapshot made = {.number = number};
    KEDGE_ASSERT(project->history != NULL);
    kedge_status status = load_entry(project, number, &made.at, id, &made.revision, error);
    if (status != KEDGE_OK) return status;
    status = open_object(project, id, &made, error);
    if (status != KEDGE_OK) {
        kedge_logged_snapshot_close(&made);
        return status;
    }
    *snapshot = made;
    return KEDGE_OK;
}

kedge_status kedge_logged_snapshot_open_id(const kedge_project *project, int64_t number,
                                           const char *id, kedge_logged_snapshot *snapshot,
                                           kedge_error *error)
{
    kedge_logged_snapshot made = {.number = number};
    KEDGE_ASSERT(project->history != NULL);
    kedge_status status = project->history->load(project, number, &made.at, error);
    if (status == KEDGE_OK) status = open_object(project, id, &made, error);
    if (status != KEDGE_OK) {
        kedge_logged_snapshot_close(&made);
        return status;
    }
    *snapshot = made;
    return KEDGE_OK;
}

void kedge_logged_snapshot_close(kedge_logged_snapshot *snapshot)
{
    kedge_state_close(snapshot->state);
    kedge_state_close(snapshot->rejections);
    kedge_version_release(snapshot->at);
    *snapshot = (kedge_logged_snapshot){.number = 0};
}

/* ---- damage ---- */

static kedge_status check_collections(kedge_state *state, kedge_error *error)
{
    const kedge_version *version = kedge_state_version(state);
    kedge_status status = KEDGE_OK;
    const kedge_map *map;
    for (size_t i = 0; i < version->collection_count && status == KEDGE_OK; i++)
        status = kedge_state_collection(state, version->collections[i].name, &map, error);
    return status;
}

kedge_status kedge_logged_snapshot_check(kedge_logged_snapshot *snapshot, kedge_error *error)
{
    kedge_status status = check_collections(snapshot->state, error);
    return status == KEDGE_OK ? check_collections(snapshot->rejections, error) : status;
}

/* ---- rejections ---- */

kedge_status kedge_logged_rejection_read(kedge_bytes object, int64_t number, kedge_buffer *code,
                                         kedge_buffer *message, kedge_error *error)
{
    kedge_bytes value;
    bool whole = kedge_json_member(object, "code", &value) && kedge_json_to_text(value, code) &&
                 kedge_json_member(object, "message", &value) &&
                 kedge_json_to_text(value, message) &&
                 code->size <= KEDGE_LIMIT_REJECTION_CODE_BYTES &&
                 message->size <= KEDGE_LIMIT_REJECTION_MESSAGE_BYTES;
    kedge_status status = kedge_buffer_status(code, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(message, error);
    if (status != KEDGE_OK || whole) return status;
    return kedge_fail(error, KEDGE_CORRUPT, "snapshot-damaged",
                      "a rejection of the snapshot of entry %" PRId64 " is damaged", number);
}

kedge_status kedge_logged_rejection(kedge_logged_snapshot *snapshot, kedge_bytes client, int64_t id,
                                    const uint8_t *digest, bool *found, kedge_buffer *code,
                                    kedge_buffer *message, kedge_error *error)
{
    kedge_entry entry;
    kedge_bytes name = KEDGE_BYTES(KEDGE_LOGGED_REJECTIONS);
    char text[KEDGE_LOGGED_REJECTION_BYTES];
    kedge_logged_rejection_id(client, id, digest, text);
    kedge_status status =
        kedge_state_find(snapshot->rejections, name, kedge_bytes_of(text), &entry, error);
    *found = status == KEDGE_OK;
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    kedge_buffer body = kedge_buffer_make(code->allocator);
    status = kedge_state_body(snapshot->rejections, name, &entry, &body, error);
    if (status == KEDGE_OK)
        status = kedge_logged_rejection_read(kedge_buffer_bytes(&body), snapshot->number, code,
                                             message, error);
    kedge_buffer_free(&body);
    return status;
}

void kedge_logged_rejection_id(kedge_bytes client, int64_t id, const uint8_t *digest,
                               char out[KEDGE_LOGGED_REJECTION_BYTES])
{
    char hex[KEDGE_DIGEST_HEX] = "";
    KEDGE_ASSERT(client.size <= KEDGE_LIMIT_CLIENT_ID_BYTES);
    if (digest != NULL) kedge_hex_encode(digest, KEDGE_DIGEST_SIZE, hex);
    (void)snprintf(out, KEDGE_LOGGED_REJECTION_BYTES, "%.*s#%016" PRId64 "%s%s", (int)client.size,
                   client.data, id, digest != NULL ? "#" : "", hex);
}
