/* See resource_world.h. */
#include "tests/backend/resource_world.h"

#include "backend/resource/row.h"

#include <stdio.h>
#include <string.h>

const kedge_resource_ref plan = {{"acme", 4}, {"plan", 4}, {"p 1/\xC3\xBC", 6}};

static kedge_error failure;

static void write_in_order(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->resources_in_order = true;
}

static int turn_in_order(void **state)
{
    test_world *world = *state;
    world->tune = write_in_order;
    world_restart(world);
    return 0;
}

int resource_setup_memory_in_order(void **state)
{
    return world_setup_memory(state) != 0 || turn_in_order(state);
}

int resource_setup_sqlite_in_order(void **state)
{
    return world_setup_sqlite(state) != 0 || turn_in_order(state);
}

/* ---- writing ---- */

static kedge_resource_edit edit_of(char uid, int64_t expected)
{
    static char text[KEDGE_RESOURCE_UID_HEX];
    memset(text, uid, sizeof text - 1);
    return (kedge_resource_edit){
        .expected = expected, .user = "ann", .uid = uid == 0 ? NULL : text};
}

int64_t resource_put(test_world *world, char uid, int64_t expected, const char *value)
{
    int64_t version = 0;
    kedge_resource_edit edit = edit_of(uid, expected);
    failure = (kedge_error){0};
    kedge_status status =
        kedge_resource_put(world->backend, &plan, &edit, kedge_bytes_of(value), &version, &failure);
    return status == KEDGE_OK ? version : -(int64_t)status;
}

int64_t resource_rollback(test_world *world, char uid, int64_t expected, int64_t to)
{
    int64_t version = 0;
    kedge_resource_edit edit = edit_of(uid, expected);
    failure = (kedge_error){0};
    kedge_status status =
        kedge_resource_rollback(world->backend, &plan, &edit, to, &version, &failure);
    return status == KEDGE_OK ? version : -(int64_t)status;
}

kedge_status resource_delete(test_world *world, int64_t expected)
{
    failure = (kedge_error){0};
    return kedge_resource_delete(world->backend, &plan, expected, &failure);
}

const char *resource_code(void)
{
    return failure.code;
}

const char *resource_message(void)
{
    return failure.message;
}

/* ---- reading ---- */

const char *resource_text(test_world *world, int64_t version)
{
    static char text[300000];
    kedge_resource read = {0};
    failure = (kedge_error){0};
    if (kedge_resource_read(world->backend, &plan, version, &read, &failure) != KEDGE_OK)
        return failure.code;
    snprintf(text, sizeof text, "%lld:%.*s", (long long)read.version, (int)read.value.size,
             read.value.data);
    kedge_resource_free(&read);
    return text;
}

typedef struct version_text {
    char text[8192];
    size_t size;
} version_text;

static kedge_status add_version(void *context, kedge_bytes id, const kedge_resource *version,
                                kedge_error *error)
{
    version_text *list = context;
    (void)error;
    assert_true(kedge_bytes_equal(id, plan.id));
    list->size +=
        (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, "%s%lld:%.*s",
                         list->size == 0 ? "" : " ", (long long)version->version,
                         (int)version->value.size, version->value.data);
    assert_true(list->size < sizeof list->text);
    return KEDGE_OK;
}

const char *resource_versions(test_world *world, uint32_t limit)
{
    static char text[9000];
    version_text list = {.size = 0};
    kedge_resource_page page = {add_version, &list, limit};
    int64_t before = 0;
    int64_t latest = 0;
    failure = (kedge_error){0};
    do {
        int64_t next = 0;
        if (kedge_resource_versions(world->backend, &plan, before, &page, &latest, &next,
                                    &failure) != KEDGE_OK)
            return failure.code;
        assert_true(next == 0 || before == 0 || next < before);
        before = next;
    } while (before > 0);
    snprintf(text, sizeof text, "latest %lld: %s", (long long)latest, list.text);
    return text;
}

/* ---- what must hold ---- */

typedef struct uids {
    char uid[64][KEDGE_RESOURCE_UID_HEX];
    size_t count;
    int64_t newest;
    test_world *world;
} uids;

static kedge_status check_version(void *context, kedge_bytes id, const kedge_resource *version,
                                  kedge_error *error)
{
    uids *seen = context;
    kedge_resource read = {0};
    (void)id;
    if (seen->newest == 0) seen->newest = version->version;
    assert_int_equal(version->version, seen->newest - (int64_t)seen->count);
    for (size_t i = 0; i < seen->count; i++)
        assert_string_not_equal(seen->uid[i], version->uid);
    memcpy(seen->uid[seen->count++], version->uid, sizeof version->uid);
    assert_int_equal(
        kedge_resource_read(seen->world->backend, &plan, version->version, &read, error), KEDGE_OK);
    assert_string_equal(read.uid, version->uid);
    assert_true(kedge_bytes_equal(read.value, version->value));
    kedge_resource_free(&read);
    return KEDGE_OK;
}

void resource_check(test_world *world)
{
    uids seen = {.world = world};
    kedge_resource_page page = {check_version, &seen, 64};
    int64_t latest = 0;
    int64_t next = 0;
    kedge_error error = {0};
    kedge_status status =
        kedge_resource_versions(world->backend, &plan, 0, &page, &latest, &next, &error);
    if (status == KEDGE_NOT_FOUND) return;
    if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
    assert_int_equal(next, 0);
    assert_int_equal(seen.count, seen.newest);
    assert_true(latest == 0 || latest == seen.newest);
}

const char *resource_history(test_world *world)
{
    static char text[8192];
    kedge_resource_key key;
    kedge_record_set set = {0};
    size_t size = 0;
    kedge_resource_key_history(&plan, 0, &key);
    kedge_records_query query = {.partition = key.key.partition, .limit = 1000, .consistent = true};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    text[0] = '\0';
    for (size_t i = 0; i < set.count; i++) {
        kedge_resource row = {0};
        kedge_resource_mark mark;
        assert_int_equal(kedge_resource_row_read(&kedge_allocator_default, &plan, &set.records[i],
                                                 &row, &mark, NULL),
                         KEDGE_OK);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%lld:%.*s%s",
                                 i == 0 ? "" : " ", (long long)row.version, (int)row.value.size,
                                 row.value.data, mark == KEDGE_RESOURCE_MARK_OPEN ? "?" : "");
        assert_true(size < sizeof text);
    }
    kedge_record_set_free(&set);
    return text;
}
