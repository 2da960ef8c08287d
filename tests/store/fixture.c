/* A folder, an environment that repeats itself, a few mutators, and the steps of a sync. */
#include "tests/store/fixture.h"

#include "tests/support/store_view.h"
#include "tests/support/temporary.h"

#include "common/json.h"
#include "wire/key.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- mutators ---- */

static kedge_status number_at(kedge_tx *tx, const char *id, int64_t *number, kedge_error *error)
{
    const char *value;
    size_t size;
    *number = 0;
    kedge_status status = kedge_tx_get(tx, "notes", id, strlen(id), &value, &size, error);
    if (status == KEDGE_OK) kedge_json_to_integer((kedge_bytes){value, size}, number);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

static kedge_status set(kedge_tx *tx, const char *args, size_t size, void *userdata,
                        kedge_error *error)
{
    char id[600];
    kedge_bytes value;
    (void)userdata;
    kedge_status status = kedge_args_text(args, size, "id", id, sizeof id, NULL, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member((kedge_bytes){args, size}, "value", &value))
        return kedge_tx_reject(tx, "value-missing", "no value", error);
    return kedge_tx_put(tx, "notes", id, strlen(id), value.data, value.size, error);
}

static kedge_status add(kedge_tx *tx, const char *args, size_t size, void *userdata,
                        kedge_error *error)
{
    char id[600];
    char text[32];
    int64_t by;
    int64_t number;
    (void)userdata;
    kedge_status status = kedge_args_text(args, size, "id", id, sizeof id, NULL, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, size, "by", &by, error);
    if (status == KEDGE_OK) status = number_at(tx, id, &number, error);
    if (status != KEDGE_OK) return status;
    int written = snprintf(text, sizeof text, "%lld", (long long)(number + by));
    return kedge_tx_put(tx, "notes", id, strlen(id), text, (size_t)written, error);
}

static kedge_status remove_note(kedge_tx *tx, const char *args, size_t size, void *userdata,
                                kedge_error *error)
{
    char id[600];
    (void)userdata;
    kedge_status status = kedge_args_text(args, size, "id", id, sizeof id, NULL, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_delete(tx, "notes", id, strlen(id), error);
}

static kedge_status refuse_over(kedge_tx *tx, const char *args, size_t size, void *userdata,
                                kedge_error *error)
{
    char id[600];
    int64_t limit;
    int64_t number;
    (void)userdata;
    kedge_status status = kedge_args_text(args, size, "id", id, sizeof id, NULL, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, size, "limit", &limit, error);
    if (status == KEDGE_OK) status = number_at(tx, id, &number, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_put(tx, "notes", "touched", 7, "true", 4, error);
    if (status != KEDGE_OK) return status;
    if (number > limit) return kedge_tx_reject(tx, "over-limit", "it is too many", error);
    return KEDGE_OK;
}

static kedge_status refuse(kedge_tx *tx, const char *args, size_t size, void *userdata,
                           kedge_error *error)
{
    (void)args;
    (void)size;
    (void)userdata;
    return kedge_tx_reject(tx, "refused", "never", error);
}

static kedge_status pair(kedge_tx *tx, const char *args, size_t size, void *userdata,
                         kedge_error *error)
{
    (void)userdata;
    kedge_status status = kedge_tx_put(tx, "notes", "left", 4, args, size, error);
    if (status == KEDGE_OK) status = kedge_tx_put(tx, "notes", "right", 5, args, size, error);
    return status;
}

static kedge_status count_all(kedge_tx *tx, const char *args, size_t size, void *userdata,
                              kedge_error *error)
{
    const char *id = NULL;
    const char *value;
    size_t id_size = 0;
    size_t value_size;
    char text[32];
    int count = 0;
    kedge_status status;
    (void)args;
    (void)size;
    (void)userdata;
    while ((status = kedge_tx_next(tx, "notes", id, id_size, &id, &id_size, &value, &value_size,
                                   error)) == KEDGE_OK)
        count++;
    if (status != KEDGE_DONE) return status;
    int written = snprintf(text, sizeof text, "%d", count);
    return kedge_tx_put(tx, "counts", "all", 3, text, (size_t)written, error);
}

const kedge_mutator fixture_mutators[] = {
    {"set", 1, set, NULL},
    {"add", 1, add, NULL},
    {"remove", 1, remove_note, NULL},
    {"refuse-over", 1, refuse_over, NULL},
    {"refuse", 1, refuse, NULL},
    {"pair", 1, pair, NULL},
    {"count-all", 1, count_all, NULL},
};
const size_t fixture_mutator_count = sizeof fixture_mutators / sizeof fixture_mutators[0];

/* ---- folders ---- */

static int remove_entry(const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0) return 0;
    if (!S_ISDIR(facts.st_mode)) return unlink(path);
    fixture_remove_tree(path);
    return 0;
}

void fixture_remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[512];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        assert_int_equal(remove_entry(name), 0);
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}

void fixture_copy_file(const char *from, const char *to)
{
    char block[65536];
    size_t size;
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_true(in && out);
    while ((size = fread(block, 1, sizeof block, in)) > 0)
        assert_int_equal(fwrite(block, 1, size, out), size);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

void fixture_copy_tree(const char *from, const char *to)
{
    DIR *folder = opendir(from);
    assert_non_null(folder);
    assert_int_equal(mkdir(to, 0700), 0);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char a[512];
        char b[512];
        if (entry->d_name[0] == '.') continue;
        snprintf(a, sizeof a, "%s/%s", from, entry->d_name);
        snprintf(b, sizeof b, "%s/%s", to, entry->d_name);
        fixture_copy_file(a, b);
    }
    closedir(folder);
}

/* ---- the environment ---- */

static int64_t now_ms(void *context)
{
    return ((fixture *)context)->now_ms++;
}

/* splitmix64 */
static uint64_t next_random(fixture *f)
{
    uint64_t z = (f->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill_random(void *context, void *bytes, size_t size)
{
    unsigned char *out = bytes;
    for (size_t i = 0; i < size; i++)
        out[i] = (unsigned char)next_random(context);
}

void fixture_begin(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->seed = 1;
    f->now_ms = 1700000000000;
    f->environment = (kedge_environment){&kedge_allocator_default, now_ms, now_ms, fill_random, f};
    assert_true(temporary_folder(f->folder, sizeof f->folder, "store"));
    snprintf(f->path, sizeof f->path, "%s/db", f->folder);
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, fixture_mutators,
                                        fixture_mutator_count, &f->registry, &f->error),
                     KEDGE_OK);
    f->server = naive_server_new(&f->environment, f->registry);
    f->options = (kedge_store_options){.environment = &f->environment,
                                       .path = f->path,
                                       .organization = "org",
                                       .project = "project",
                                       .user = "",
                                       .role = "",
                                       .registry = f->registry};
    f->changes = kedge_change_set_make(&kedge_allocator_default);
}

void fixture_end(fixture *f)
{
    fixture_close(f);
    kedge_change_set_free(&f->changes);
    naive_server_free(f->server);
    kedge_registry_free(f->registry);
    kedge_registry_free(f->watched);
    fixture_remove_tree(f->folder);
}

int fixture_set_up(void **state)
{
    fixture *f = malloc(sizeof *f);
    fixture_begin(f);
    fixture_open(f);
    *state = f;
    return 0;
}

int fixture_tear_down(void **state)
{
    fixture_end(*state);
    free(*state);
    return 0;
}

static void expect_ok(const fixture *f, kedge_status status)
{
    if (status != KEDGE_OK)
        print_error("%s: %s: %s\n", kedge_status_name(status), f->error.code, f->error.message);
    assert_int_equal(status, KEDGE_OK);
}

kedge_status fixture_try_open(fixture *f, const char *path, kedge_store **store)
{
    kedge_store_options options = f->options;
    options.path = path;
    memset(&f->error, 0, sizeof f->error);
    return kedge_store_open(&options, store, &f->error);
}

void fixture_open(fixture *f)
{
    expect_ok(f, fixture_try_open(f, f->path, &f->store));
}

void fixture_close(fixture *f)
{
    kedge_store_close(f->store);
    f->store = NULL;
}

void fixture_reopen(fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static void flatten(const char *folder, const char *name)
{
    char path[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM meta", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void fixture_close_flat(fixture *f)
{
    fixture_close(f);
    flatten(f->path, "outbox.db");
    flatten(f->path, "cache.db");
}

/* ---- steps ---- */

int64_t fixture_mutate(fixture *f, const char *name, const char *args)
{
    int64_t sequence = 0;
    expect_ok(f, kedge_store_mutate(f->store, kedge_bytes_of(name), kedge_bytes_of(args), &sequence,
                                    &f->changes, &f->error));
    return sequence;
}

typedef kedge_status (*get_function)(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                                     kedge_buffer *value, kedge_error *error);

static void expect_note(fixture *f, get_function get, const char *id, const char *value)
{
    kedge_buffer found = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        get(f->store, KEDGE_BYTES("notes"), kedge_bytes_of(id), &found, &f->error);
    if (!value) {
        if (status == KEDGE_OK) print_error("notes/%s is %s\n", id, found.data);
        assert_int_equal(status, KEDGE_NOT_FOUND);
    } else {
        expect_ok(f, status);
        assert_string_equal(found.data, value);
    }
    kedge_buffer_free(&found);
}

void fixture_expect(fixture *f, const char *id, const char *value)
{
    expect_note(f, kedge_store_get, id, value);
}

void fixture_expect_canonical(fixture *f, const char *id, const char *value)
{
    expect_note(f, store_get_canonical, id, value);
}

kedge_store_position fixture_position(fixture *f)
{
    kedge_store_position position;
    expect_ok(f, kedge_store_position_get(f->store, &position, &f->error));
    return position;
}

kedge_outcome fixture_outcome(fixture *f, int64_t sequence)
{
    kedge_outcome outcome;
    expect_ok(f, kedge_store_outcome(f->store, sequence, &outcome, &f->error));
    return outcome;
}

char *fixture_dump(kedge_store *store, bool canonical)
{
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = store_dump(store, canonical, &out, &error);
    if (status != KEDGE_OK) print_error("dump: %s\n", error.message);
    assert_int_equal(status, KEDGE_OK);
    char *text = strdup(out.data);
    kedge_buffer_free(&out);
    return text;
}

naive_response fixture_push(fixture *f)
{
    uint32_t count = 0;
    int64_t last = 0;
    naive_response response = NAIVE_OK;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    expect_ok(f, fixture_push_body(f->store, 100, 100000, &body, &count, &last, &f->error));
    if (count > 0) response = naive_server_push(f->server, kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    return response;
}

kedge_status fixture_try_pull(fixture *f, kedge_apply_result *result)
{
    kedge_wire_pull_response response = {0};
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_pull_request request;
    kedge_status status = kedge_store_pull_request(f->store, &request, &f->error);
    if (status == KEDGE_OK) {
        kedge_wire_pull_request_write(&request, &body);
        naive_server_pull(f->server, kedge_buffer_bytes(&body), &text);
        expect_ok(f,
                  kedge_wire_pull_response_read(&kedge_allocator_default, kedge_buffer_bytes(&text),
                                                &response, &f->error));
        status = kedge_store_apply(f->store, &response, result, &f->changes, &f->error);
        kedge_wire_pull_response_free(&response);
    }
    kedge_buffer_free(&body);
    kedge_buffer_free(&text);
    return status;
}

kedge_status fixture_try_page(fixture *f, kedge_apply_result *result)
{
    kedge_wire_page_response page = {0};
    kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_store_position position = fixture_position(f);
    assert_true(kedge_store_staged_after(f->store, &after));
    naive_server_page(f->server, position.staged_version, kedge_buffer_bytes(&after), &text);
    expect_ok(f, kedge_wire_page_response_read(&kedge_allocator_default, kedge_buffer_bytes(&text),
                                               &page, &f->error));
    kedge_status status = kedge_store_stage(f->store, &page, result, &f->changes, &f->error);
    kedge_wire_page_response_free(&page);
    kedge_buffer_free(&after);
    kedge_buffer_free(&text);
    return status;
}

/* The lmids at the server of what a retire would ask them of. */
static void ask_earlier(fixture *f, kedge_wire_client_marks *earlier)
{
    expect_ok(f, kedge_store_earlier(f->store, earlier, &f->error));
    for (size_t i = 0; i < earlier->count; i++)
        earlier->marks[i].id =
            naive_server_lmid(f->server, earlier->marks[i].client_id, f->server->version);
}

kedge_status fixture_try_rotate(fixture *f)
{
    kedge_wire_retire_response response = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_store_position position = fixture_position(f);
    naive_server_retire(f->server, position.client, position.lowest_pending, &text);
    expect_ok(f, kedge_wire_retire_response_read(&kedge_allocator_default,
                                                 kedge_buffer_bytes(&text), &response, &f->error));
    kedge_status status = kedge_store_rotate(f->store, &response, &f->changes, &f->error);
    kedge_wire_retire_response_free(&response);
    kedge_buffer_free(&text);
    return status;
}

kedge_status fixture_try_rotate_lost(fixture *f)
{
    kedge_wire_retire_response response = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_store_position position = fixture_position(f);
    naive_server_retire(f->server, position.client, position.lowest_told, &text);
    expect_ok(f, kedge_wire_retire_response_read(&kedge_allocator_default,
                                                 kedge_buffer_bytes(&text), &response, &f->error));
    ask_earlier(f, &response.earlier);
    kedge_status status = kedge_store_rotate_lost(f->store, &response, &f->changes, &f->error);
    kedge_wire_retire_response_free(&response);
    kedge_buffer_free(&text);
    return status;
}

void fixture_pull(fixture *f)
{
    kedge_apply_result result = KEDGE_APPLY_STALE;
    expect_ok(f, fixture_try_pull(f, &result));
    while (result == KEDGE_APPLY_PAGES)
        expect_ok(f, fixture_try_page(f, &result));
    /* A log project's response may be a part of what there is. */
    if (result == KEDGE_APPLY_DONE &&
        (!f->server->log || fixture_position(f).version == f->server->version))
        return;
    if (result == KEDGE_APPLY_LOST)
        expect_ok(f, fixture_try_rotate_lost(f));
    else if (result == KEDGE_APPLY_ROTATE)
        expect_ok(f, fixture_try_rotate(f));
    fixture_pull(f);
}

void fixture_sync(fixture *f)
{
    for (int round = 0; round < 20; round++) {
        kedge_store_position position = fixture_position(f);
        if (position.pending == 0 && position.version == f->server->version) return;
        naive_response response = fixture_push(f);
        if (response != NAIVE_OK && response != NAIVE_GAP) expect_ok(f, fixture_try_rotate(f));
        fixture_pull(f);
    }
    fail_msg("no end of syncing");
}

/* ---- I7 ---- */

static void load(kedge_overlay *overlay, const char *state)
{
    kedge_bytes key;
    kedge_bytes value;
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(state));
    while (kedge_json_next_member(&each, &key, &value)) {
        kedge_bytes collection;
        kedge_bytes id;
        kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
        assert_true(kedge_json_to_text(key, &text));
        kedge_wire_key_split(kedge_buffer_bytes(&text), &collection, &id);
        assert_int_equal(kedge_overlay_put(overlay, collection, id, value, NULL), KEDGE_OK);
        kedge_buffer_free(&text);
    }
}

static char *save(const kedge_overlay *overlay)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer canonical = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_overlay_entry entry;
    kedge_overlay_entry at;
    kedge_json_begin_object(&writer);
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &at, &entry)) {
        at = entry;
        if (entry.deleted) continue;
        kedge_buffer key = kedge_buffer_make(&kedge_allocator_default);
        kedge_wire_key_join(entry.collection, entry.id, &key);
        kedge_json_key_bytes(&writer, kedge_buffer_bytes(&key));
        kedge_json_raw(&writer, entry.value);
        kedge_buffer_free(&key);
    }
    kedge_json_end_object(&writer);
    assert_int_equal(kedge_json_canonical(kedge_buffer_bytes(&text), &canonical, NULL), KEDGE_OK);
    char *out = strdup(canonical.data);
    kedge_buffer_free(&text);
    kedge_buffer_free(&canonical);
    return out;
}

static void replay_pending(fixture *f, kedge_overlay *state)
{
    kedge_tx *tx = NULL;
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation;
    kedge_store_position position = fixture_position(f);
    int64_t count = 0;
    assert_int_equal(kedge_tx_new(&kedge_allocator_default, f->registry, state,
                                  kedge_state_reader_empty, &tx, NULL),
                     KEDGE_OK);
    expect_ok(f, kedge_store_pending_open(f->store, &list, &f->error));
    while (kedge_store_list_next(list, &mutation, &f->error) == KEDGE_OK) {
        kedge_call call = {.name = kedge_bytes_of(mutation.name),
                           .args = {mutation.args, mutation.args_size},
                           .caller = {"", "", position.client, mutation.timestamp_ms}};
        count++;
        if (mutation.withheld) continue;
        kedge_status status = kedge_tx_run(tx, &call, NULL);
        assert_true(status == KEDGE_OK || status == KEDGE_REJECTED);
    }
    assert_int_equal(count, position.pending);
    kedge_store_list_close(list);
    kedge_tx_free(tx);
}

/* NULL when the server does not know the version: it was restored. */
static const char *server_state(const fixture *f, const kedge_store_position *position)
{
    if (position->lineage[0] == '\0') return "{}";
    if (position->version > f->server->version) return NULL;
    if (strcmp(position->lineage, f->server->lineages[position->version]) != 0) return NULL;
    return f->server->states[position->version];
}

void fixture_check(fixture *f)
{
    kedge_store_position position = fixture_position(f);
    assert_true(store_counts_are_right(f->store));
    const char *expected = server_state(f, &position);
    char *canonical = fixture_dump(f->store, true);
    if (expected) assert_string_equal(canonical, expected);
    kedge_overlay *state = kedge_overlay_new(&kedge_allocator_default);
    load(state, canonical);
    replay_pending(f, state);
    char *predicted = save(state);
    char *visible = fixture_dump(f->store, false);
    assert_string_equal(visible, predicted);
    free(canonical);
    free(predicted);
    free(visible);
    kedge_overlay_free(state);
}
