/* What is stored by work for which no request waits is counted for the organization, too. */
#include "tests/backend/queue_world.h"
#include "tests/log/log_world.h"
#include "tests/logged/logged_world.h"

#include "backend/effects/make.h"
#include "backend/ports/meter.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/usage/usage.h"
#include "tests/support/project.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLENTY (INT64_C(1) << 40)

static kedge_meter *meter;

static struct {
    void (*run)(void *argument);
    void *argument;
} later;

static bool take_later(void *context, void (*run)(void *argument), void *argument)
{
    (void)context;
    if (later.run != NULL) return false;
    later.run = run;
    later.argument = argument;
    return true;
}

static void tune(test_world *world, kedge_backend_options *options)
{
    (void)world;
    options->records = kedge_meter_records(meter);
    options->blobs = kedge_meter_blobs(meter);
    options->organization_stored_bytes = PLENTY;
    options->later = take_later;
}

static void measure(test_world *world)
{
    assert_int_equal(kedge_meter_new(world->environment.allocator, world->records, world->blobs,
                                     (kedge_queue){0}, (kedge_stream){0}, &meter, NULL),
                     KEDGE_OK);
    memset(&later, 0, sizeof later);
    world->tune = tune;
    world_restart(world);
}

static int64_t put_so_far(void)
{
    return (int64_t)kedge_meter_totals(meter).of[KEDGE_COST_BYTES_STORED];
}

/* What the organization's record says once the backend has ended; its own bytes are not in it. */
static int64_t recorded_at_the_end(test_world *world)
{
    int64_t bytes = -1;
    world_restart(world);
    assert_int_equal(kedge_usage_read(HANDLE(world->backend, &notes), &bytes, NULL), KEDGE_OK);
    return bytes;
}

static void end(test_world *world)
{
    kedge_backend_free(world->backend);
    kedge_meter_free(meter);
    world->tune = NULL;
    world->backend = world_new_backend(world);
}

/* The processor alone counts nothing: whoever calls it does. */
static void test_checkpoints_that_are_written_later_are_counted(void **state)
{
    test_world *world = *state;
    measure(world);
    for (int i = 1; later.run == NULL; i++)
        world_put(world, "c1", i, "item-00000001", i);
    int64_t before = put_so_far();
    later.run(later.argument);
    int64_t written = put_so_far() - before;
    assert_true(written > 0);
    assert_in_range(recorded_at_the_end(world), written > 200 ? written - 200 : 1, written);
    end(world);
}

/* What is due is looked at every so many entries, and mostly nothing is. */
static void test_snapshots_of_log_projects_that_are_made_later_are_counted(void **state)
{
    test_world *world = *state;
    int64_t written = 0;
    measure(world);
    sheet_new(world);
    for (int i = 1; written == 0; i++) {
        sheet_put(world, "c1", i, "item-00000001", i);
        if (later.run == NULL) continue;
        int64_t before = put_so_far();
        later.run(later.argument);
        later.run = NULL;
        written = put_so_far() - before;
    }
    assert_int_equal(sheet_check(world), 1);
    assert_in_range(recorded_at_the_end(world), written > 200 ? written - 200 : 1, written);
    end(world);
}

static void test_a_push_that_a_consumer_decides_is_counted(void **state)
{
    queue_world *world = queue_world_new();
    (void)state;
    measure(world->base);
    queue_world_restart(world);
    queue_put_large(world, "a", 1, "n1", 100000);
    int64_t before = put_so_far();
    assert_int_equal(queue_drain(world), 1);
    int64_t written = put_so_far() - before;
    assert_true(written > 0);
    assert_in_range(recorded_at_the_end(world->base), written / 2, written);
    end(world->base);
    queue_world_free(world);
}

static void test_a_snapshot_of_a_log_is_counted(void **state)
{
    test_world *world = *state;
    measure(world);
    const kedge_log *log = journal_new(world);
    kedge_log_append_result asked;
    const kedge_log_append_request put = {
        .type = KEDGE_BYTES("kedge.put"),
        .version = 1,
        .body = KEDGE_BYTES("{\"collection\":\"items\",\"id\":\"k\",\"value\":1}"),
        .expected = KEDGE_LOG_AT_END,
        .since = -1};
    assert_int_equal(kedge_log_append(log, &put, &asked, NULL), KEDGE_OK);
    const kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOG_SNAPSHOT),
                                              .version = KEDGE_LOG_SYSTEM_VERSION,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &asked, NULL), KEDGE_OK);
    int64_t before = put_so_far();
    kedge_buffer progress = kedge_buffer_make(&kedge_allocator_default);
    kedge_error error = {0};
    bool complete = false;
    for (int i = 0; i < 10 && !complete; i++) {
        if (kedge_effects_make(NULL, log, &asked.at, &progress, &complete, &error) != KEDGE_OK)
            fail_msg("%s: %s", error.code, error.message);
    }
    kedge_buffer_free(&progress);
    int64_t written = put_so_far() - before;
    assert_true(complete && written > 0);
    assert_in_range(recorded_at_the_end(world), written > 200 ? written - 200 : 1, written);
    end(world);
}

/* ---- threads ---- */

#define THREADS 4
#define PUTS    300
#define FILLER  2000

/* Puts a record of so many bytes, and its key. */
static void put_filler(int one, int other)
{
    const kedge_records records = kedge_meter_records(meter);
    static char filler[FILLER];
    char sort[32];
    snprintf(sort, sizeof sort, "%d.%d", one, other);
    const kedge_attribute bytes = {"b", KEDGE_ATTRIBUTE_BINARY, {filler, sizeof filler}, 0};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("Elsewhere"), kedge_bytes_of(sort)}, &bytes, 1}};
    if (records.vtable->write(records.self, &write, NULL) != KEDGE_OK) abort();
}

typedef struct putter {
    test_world *world;
    int number;
} putter;

/* Puts records of its own, and counts each. */
static void *put_and_count(void *argument)
{
    const putter *self = argument;
    for (int i = 0; i < PUTS; i++) {
        kedge_usage_begin();
        put_filler(self->number, i);
        kedge_usage_end(HANDLE(self->world->backend, &notes));
    }
    return NULL;
}

/* Each byte is counted once, however many add at once. */
static void test_what_several_threads_store_is_counted_once(void **state)
{
    test_world *world = *state;
    pthread_t threads[THREADS];
    putter putters[THREADS];
    measure(world);
    int64_t before = put_so_far();
    for (int i = 0; i < THREADS; i++) {
        putters[i] = (putter){world, i};
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_count, &putters[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int64_t written = put_so_far() - before; /* with the record of the count itself */
    int64_t wanted = (int64_t)THREADS * PUTS * FILLER;
    int64_t recorded = recorded_at_the_end(world);
    assert_in_range(recorded, wanted, wanted + THREADS * PUTS * 30);
    assert_true(recorded <= written);
    end(world);
}

/* ---- more organizations than the table remembers ---- */

#define SHARING (KEDGE_USAGE_WAYS + 3)

/* The next name from `*number` on that has the same place in the table as the first. */
static void name_sharing(int *number, char *name, size_t name_size)
{
    const kedge_project_ref first = {.organization = KEDGE_BYTES("o0")};
    kedge_project_ref ref;
    do {
        snprintf(name, name_size, "o%d", (*number)++);
        ref = (kedge_project_ref){.organization = kedge_bytes_of(name)};
    } while (kedge_project_ref_hash(&ref) % KEDGE_USAGE_SETS !=
             kedge_project_ref_hash(&first) % KEDGE_USAGE_SETS);
}

/* The record of what the organization has stored, without its number. */
static void damage(test_world *world, const char *organization)
{
    kedge_key partition = kedge_key_usage(kedge_bytes_of(organization));
    kedge_key sort = kedge_key_stored();
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}}};
    assert_int_equal(world->records.vtable->write(world->records.self, &write, NULL), KEDGE_OK);
}

/* None of the first ones writes again, so all of them still have something to add when another one
 * comes. The first of all cannot be added. */
static void test_organizations_that_share_a_place_are_all_counted_and_bounded(void **state)
{
    test_world *world = *state;
    char names[SHARING][32];
    int number = 0;
    measure(world);
    for (int i = 0; i < SHARING; i++) {
        name_sharing(&number, names[i], sizeof names[i]);
        const kedge_project_ref ref = {.organization = kedge_bytes_of(names[i])};
        if (i < KEDGE_USAGE_WAYS) /* else what is put is added at once */
            assert_int_equal(kedge_usage_check_stored(HANDLE(world->backend, &ref), 0, NULL),
                             KEDGE_OK);
        kedge_usage_begin();
        put_filler(i, 0);
        kedge_usage_end(HANDLE(world->backend, &ref));
        if (i == 0) damage(world, names[0]);
    }
    const kedge_project_ref last = {.organization = kedge_bytes_of(names[SHARING - 1])};
    int64_t most;
    assert_int_equal(kedge_usage_add(HANDLE(world->backend, &last), PLENTY, &most, NULL), KEDGE_OK);
    world_restart(world);
    for (int i = 1; i < SHARING; i++) {
        const kedge_project_ref ref = {.organization = kedge_bytes_of(names[i])};
        bool full = i == SHARING - 1;
        int64_t bytes = 0;
        assert_int_equal(kedge_usage_read(HANDLE(world->backend, &ref), &bytes, NULL), KEDGE_OK);
        assert_in_range(bytes - (full ? PLENTY : 0), FILLER, FILLER + 30);
        kedge_error error = {0};
        assert_int_equal(kedge_usage_check_stored(HANDLE(world->backend, &ref), 0, &error),
                         full ? KEDGE_UNAVAILABLE : KEDGE_OK);
        kedge_usage_begin();
        put_filler(i, 1);
        kedge_usage_end(HANDLE(world->backend, &ref));
    }
    end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_checkpoints_that_are_written_later_are_counted),
        OVER_MEMORY(test_snapshots_of_log_projects_that_are_made_later_are_counted),
        cmocka_unit_test(test_a_push_that_a_consumer_decides_is_counted),
        OVER_MEMORY(test_a_snapshot_of_a_log_is_counted),
        OVER_MEMORY(test_what_several_threads_store_is_counted_once),
        OVER_MEMORY(test_organizations_that_share_a_place_are_all_counted_and_bounded),
    };
    return cmocka_run_group_tests_name("what is stored by work behind", tests, NULL, NULL);
}
