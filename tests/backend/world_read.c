/* Reading a world with a backend that has nothing in memory, and checking all of it. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/ports/records_support.h"
#include "backend/versioned/model/layout.h"
#include "common/error.h"
#include "tests/backend/project_records.h"
#include "tests/support/project.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A backend on the real stores, beside the faults. */
static kedge_backend *open_reader(test_world *world)
{
    kedge_backend_options options = {.environment = &world->environment,
                                     .records = world->store_records,
                                     .blobs = world->store_blobs,
                                     .registry = world->registry,
                                     .cadence = world->cadence};
    kedge_backend *backend = NULL;
    assert_int_equal(kedge_backend_new(&options, &backend, NULL), KEDGE_OK);
    return backend;
}

static const kedge_version *load_of(const kedge_project *project, int64_t number)
{
    const kedge_version *version = NULL;
    kedge_error error = {0};
    if (kedge_version_load(project, number, &version, &error) != KEDGE_OK) {
        fail_msg("version %lld: %s", (long long)number, error.message);
    }
    return version;
}

static const kedge_version *load(kedge_backend *backend, int64_t number)
{
    return load_of(HANDLE(backend, &notes), number);
}

int64_t world_head(test_world *world)
{
    kedge_backend *backend = open_reader(world);
    const kedge_version *version = load(backend, 0);
    int64_t number = version->number;
    kedge_version_release(version);
    kedge_backend_free(backend);
    return number;
}

int64_t world_lmid(test_world *world, const char *client)
{
    kedge_backend *backend = open_reader(world);
    const kedge_version *version = load(backend, 0);
    kedge_client_state state;
    kedge_error error = {0};
    assert_int_equal(
        kedge_client_load(HANDLE(backend, &notes), version, kedge_bytes_of(client), &state, &error),
        KEDGE_OK);
    kedge_version_release(version);
    kedge_backend_free(backend);
    return state.lmid;
}

const char *world_value(test_world *world, const char *item)
{
    static char text[4096];
    kedge_backend *backend = open_reader(world);
    const kedge_version *version = load(backend, 0);
    kedge_state *state = NULL;
    kedge_entry entry;
    kedge_error error = {0};
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_state_open(HANDLE(backend, &notes), version, &state, &error), KEDGE_OK);
    kedge_status status =
        kedge_state_find(state, KEDGE_BYTES("items"), kedge_bytes_of(item), &entry, &error);
    if (status == KEDGE_OK) {
        assert_int_equal(kedge_state_body(state, KEDGE_BYTES("items"), &entry, &body, &error),
                         KEDGE_OK);
        snprintf(text, sizeof text, "%.*s", (int)body.size, body.data);
    } else {
        assert_int_equal(status, KEDGE_NOT_FOUND);
        snprintf(text, sizeof text, "absent");
    }
    kedge_buffer_free(&body);
    kedge_state_close(state);
    kedge_version_release(version);
    kedge_backend_free(backend);
    return text;
}

static void dump_collection(kedge_state *state, kedge_bytes name, kedge_buffer *out)
{
    kedge_entry entry;
    kedge_error error = {0};
    kedge_bytes after = {NULL, 0};
    bool first = true;
    kedge_status status = kedge_state_next(state, name, true, after, &entry, &error);
    while (status == KEDGE_OK) {
        first = false;
        kedge_buffer_append_bytes(out, name);
        kedge_buffer_append_byte(out, '/');
        kedge_buffer_append_bytes(out, entry.id);
        kedge_buffer_append_byte(out, '=');
        assert_int_equal(kedge_state_body(state, name, &entry, out, &error), KEDGE_OK);
        kedge_buffer_append_byte(out, '\n');
        status = kedge_state_next(state, name, first, entry.id, &entry, &error);
    }
    if (status != KEDGE_DONE) fail_msg("a collection cannot be read: %s", error.message);
}

void world_dump_project(test_world *world, const kedge_project_ref *ref, int64_t number,
                        kedge_buffer *out)
{
    kedge_backend *backend = open_reader(world);
    const kedge_version *version = load_of(HANDLE(backend, ref), number);
    kedge_state *state = NULL;
    kedge_error error = {0};
    assert_int_equal(kedge_state_open(HANDLE(backend, ref), version, &state, &error), KEDGE_OK);
    kedge_buffer_append_bytes(out, version->project_record);
    kedge_buffer_append_byte(out, '\n');
    for (size_t i = 0; i < version->collection_count; i++) {
        dump_collection(state, version->collections[i].name, out);
    }
    assert_false(out->no_memory);
    kedge_state_close(state);
    kedge_version_release(version);
    kedge_backend_free(backend);
}

void world_dump(test_world *world, int64_t number, kedge_buffer *out)
{
    world_dump_project(world, &notes, number, out);
}

/* ---- the checks ---- */

typedef struct seen_client {
    char name[129];
    int64_t last;
} seen_client;

typedef struct checking {
    seen_client clients[256];
    size_t client_count;
    kedge_overlay *fold; /* the state, from the deltas alone */
    const kedge_project *project;
} checking;

static seen_client *find_seen(checking *check, kedge_bytes name)
{
    for (size_t i = 0; i < check->client_count; i++) {
        if (kedge_bytes_equal_text(name, check->clients[i].name)) return &check->clients[i];
    }
    assert_true(check->client_count < sizeof check->clients / sizeof check->clients[0]);
    seen_client *added = &check->clients[check->client_count++];
    snprintf(added->name, sizeof added->name, "%.*s", (int)name.size, name.data);
    added->last = 0;
    return added;
}

/* I1 and I2: every client's ids 1, 2, 3… each once, in the order of versions. */
static void check_mutations(checking *check, const kedge_version *version)
{
    for (size_t i = 0; i < version->mutation_count; i++) {
        seen_client *client = find_seen(check, version->mutations[i].client);
        assert_int_equal(version->mutations[i].id, client->last + 1);
        client->last++;
    }
}

static void fold_version(checking *check, const kedge_version *version)
{
    kedge_error error = {0};
    for (size_t i = 0; i < version->change_count; i++) {
        const kedge_version_change *change = &version->changes[i];
        char hash[KEDGE_SHA256_HEX];
        kedge_hex_encode(change->entry.hash, KEDGE_SHA256_SIZE, hash);
        kedge_status status =
            change->deleted
                ? kedge_overlay_delete(check->fold, change->collection, change->entry.id, &error)
                : kedge_overlay_put(check->fold, change->collection, change->entry.id,
                                    kedge_bytes_of(hash), &error);
        assert_int_equal(status, KEDGE_OK);
    }
}

/* I5: the state that a reader gets == the fold of all deltas; every body has the hash it is named
 * by. */
static void check_state(checking *check, const kedge_version *version)
{
    kedge_state *state = NULL;
    kedge_error error = {0};
    kedge_overlay_entry entry;
    size_t living = 0;
    size_t items = 0;
    assert_int_equal(kedge_state_open(check->project, version, &state, &error), KEDGE_OK);
    bool more = kedge_overlay_next(check->fold, NULL, &entry);
    for (; more; more = kedge_overlay_next(check->fold, &entry, &entry)) {
        kedge_entry found;
        kedge_status status = kedge_state_find(state, entry.collection, entry.id, &found, &error);
        if (entry.deleted) {
            assert_int_equal(status, KEDGE_NOT_FOUND);
            continue;
        }
        if (status != KEDGE_OK) fail_msg("an item of the fold: %s", error.message);
        char hash[KEDGE_SHA256_HEX];
        char body_hash[KEDGE_SHA256_HEX];
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        kedge_hex_encode(found.hash, KEDGE_SHA256_SIZE, hash);
        assert_true(kedge_bytes_equal_text(entry.value, hash));
        assert_int_equal(kedge_state_body(state, entry.collection, &found, &body, &error),
                         KEDGE_OK);
        kedge_sha256_hex(kedge_buffer_bytes(&body), body_hash);
        assert_string_equal(body_hash, hash);
        kedge_buffer_free(&body);
        living++;
    }
    for (size_t i = 0; i < version->collection_count; i++) {
        items += (size_t)version->collections[i].items;
    }
    assert_int_equal(items, living);
    kedge_state_close(state);
}

/* What clients see of themselves at the head is what the versions say. */
static void check_clients(checking *check, const kedge_version *head)
{
    for (size_t i = 0; i < check->client_count; i++) {
        kedge_client_state state;
        kedge_error error = {0};
        assert_int_equal(kedge_client_load(check->project, head,
                                           kedge_bytes_of(check->clients[i].name), &state, &error),
                         KEDGE_OK);
        assert_int_equal(state.lmid, check->clients[i].last);
    }
}

void world_check_project(test_world *world, const kedge_project_ref *ref)
{
    checking *check = calloc(1, sizeof *check);
    assert_non_null(check);
    kedge_backend *backend = open_reader(world);
    kedge_project project = kedge_project_of(backend, ref);
    check->project = &project;
    check->fold = kedge_overlay_new(&kedge_allocator_default);
    assert_non_null(check->fold);
    const kedge_version *head = load_of(&project, 0);
    for (int64_t number = 1; number <= head->number; number++) {
        const kedge_version *version = load_of(&project, number);
        assert_int_equal(version->number, number);
        check_mutations(check, version);
        fold_version(check, version);
        kedge_version_release(version);
    }
    if (head->number > 0) check_state(check, head);
    check_clients(check, head);
    kedge_version_release(head);
    kedge_overlay_free(check->fold);
    kedge_backend_free(check->project->backend);
    free(check);
}

void world_check(test_world *world)
{
    world_check_project(world, &notes);
}

/* ---- records beside the backend ---- */

void world_delete_derived_of(test_world *world, const kedge_project_ref *ref)
{
    project_records_delete_derived(&world->store_records, ref);
}

void world_delete_derived(test_world *world)
{
    world_delete_derived_of(world, &notes);
}

size_t world_count_records(test_world *world, const char *prefix)
{
    return project_records_count(&world->store_records, &notes, prefix);
}

static void measure_record(const kedge_records *records, const kedge_record *record, void *context)
{
    (void)records;
    size_t *largest = context;
    size_t bytes = kedge_record_bytes(record);
    if (bytes > *largest) *largest = bytes;
}

size_t world_largest_record(test_world *world, const kedge_project_ref *ref)
{
    size_t largest = 0;
    project_records_visit(&world->store_records, ref, measure_record, &largest);
    return largest;
}

void world_remove_one_blob(test_world *world, const char *prefix)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    kedge_bytes none = {NULL, 0};
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix), none, 1, &list, NULL),
                     KEDGE_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[0].key), NULL),
                     KEDGE_OK);
    kedge_blob_list_free(&list);
}

/* ---- the folder of a test ---- */

void world_remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char child[1024];
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        if (lstat(child, &about) == 0 && S_ISDIR(about.st_mode)) {
            world_remove_folder(child);
        } else {
            unlink(child);
        }
    }
    closedir(folder);
    rmdir(path);
}
