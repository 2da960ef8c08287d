/* What calls of a log cost, by the meter: worked out by hand from the article and AWS's rules. */
#include "tests/log/log_world.h"

#include "backend/ports/meter.h"

#include <string.h>

typedef struct metered {
    test_world *world;
    kedge_meter *meter;
    kedge_backend *backend;
    const kedge_log *log;
    kedge_cost before;
} metered;

/* Makes a log in a backend behind a meter. */
static metered metered_new(test_world *world)
{
    metered self = {.world = world};
    bool created = false;
    kedge_error error = {0};
    assert_int_equal(kedge_meter_new(world->environment.allocator, world->store_records,
                                     world->store_blobs, (kedge_queue){0}, (kedge_stream){0},
                                     &self.meter, &error),
                     KEDGE_OK);
    world->records = kedge_meter_records(self.meter);
    world->blobs = kedge_meter_blobs(self.meter);
    self.backend = world_new_backend(world);
    self.log = journal_of(self.backend);
    self.before = kedge_meter_totals(self.meter);
    assert_int_equal(kedge_log_create(self.log, &created, &error), KEDGE_OK);
    assert_true(created);
    return self;
}

static void metered_end(metered *self)
{
    kedge_backend_free(self->backend);
    kedge_meter_free(self->meter);
}

/* Of all that was done since the last look. */
static void assert_spent(metered *self, uint64_t write_units, uint64_t read_halves,
                         uint64_t blob_puts, uint64_t blob_gets)
{
    kedge_cost now = kedge_meter_totals(self->meter);
    kedge_cost spent = kedge_cost_minus(&now, &self->before);
    self->before = now;
    assert_int_equal(spent.of[KEDGE_COST_WRITE_UNITS], write_units);
    assert_int_equal(spent.of[KEDGE_COST_READ_HALVES], read_halves);
    assert_int_equal(spent.of[KEDGE_COST_BLOB_PUTS], blob_puts);
    assert_int_equal(spent.of[KEDGE_COST_BLOB_GETS], blob_gets);
}

/* A JSON string of so many bytes, of 64 characters at random: it packs to a bit over three
 * quarters. */
static const char *text_of(size_t size)
{
    static const char characters[] =
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    static char text[40000];
    uint64_t dice = 88172645463325252;
    for (size_t i = 0; i < size; i++) {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        text[i] = characters[(dice >> 20) % 64];
    }
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    return text;
}

static void test_an_append_is_one_stale_read_and_one_write_unit(void **state)
{
    metered self = metered_new(*state);
    log_add(self.log, "1");
    self.before = kedge_meter_totals(self.meter);
    for (int i = 0; i < 10; i++)
        log_add(self.log, "{\"cell\":\"A1\",\"value\":42}");
    assert_spent(&self, 10, 10, 0, 0);
    metered_end(&self);
}

static void test_an_append_costs_a_write_unit_for_each_kilobyte(void **state)
{
    metered self = metered_new(*state);
    log_add(self.log, "1");
    self.before = kedge_meter_totals(self.meter);
    log_add(self.log, text_of(4800)); /* some 3.6 KB as it packs */
    assert_spent(&self, 4, 1, 0, 0);
    metered_end(&self);
}

static void test_a_large_body_is_a_blob_and_one_write_unit(void **state)
{
    metered self = metered_new(*state);
    log_add(self.log, "1");
    self.before = kedge_meter_totals(self.meter);
    log_add(self.log, text_of(KEDGE_LOG_INLINE_BYTES + 1000));
    /* The blob with its tag, which goes; before that all tags are read. */
    assert_spent(&self, 1, 1, 1 + 1, 1);
    metered_end(&self);
}

static void test_a_new_segment_is_a_transaction_of_three_writes(void **state)
{
    metered self = metered_new(*state);
    /* So is a new log. Before, it is looked for, and once more by a consistent read. */
    assert_spent(&self, 6, 1 + 2, 0, 0);
    log_snap(self.log, log_add(self.log, "1"), "s");
    self.before = kedge_meter_totals(self.meter);
    log_roll(self.log);
    assert_spent(&self, 6, 2, 0, 0);
    metered_end(&self);
}

static void test_a_load_reads_segments_once_and_entries_by_4_kilobytes(void **state)
{
    metered self = metered_new(*state);
    for (int i = 0; i < 20; i++)
        log_add(self.log, text_of(600));
    self.before = kedge_meter_totals(self.meter);
    kedge_log_reader reader;
    kedge_error error = {0};
    kedge_log_page page = kedge_log_page_make(self.log->project->allocator);
    assert_int_equal(kedge_log_load(self.log, &reader, &error), KEDGE_OK);
    assert_spent(&self, 0, 1, 0, 0);
    assert_int_equal(kedge_log_read(&reader, KEDGE_LOG_PAGE_MAX, &page, &error), KEDGE_OK);
    assert_int_equal(page.count, 20);
    kedge_log_page_free(&page);
    assert_spent(&self, 0, 3, 0, 0); /* some 10 KB as they pack */
    metered_end(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_an_append_is_one_stale_read_and_one_write_unit),
        OVER_MEMORY(test_an_append_costs_a_write_unit_for_each_kilobyte),
        OVER_MEMORY(test_a_large_body_is_a_blob_and_one_write_unit),
        OVER_MEMORY(test_a_new_segment_is_a_transaction_of_three_writes),
        OVER_MEMORY(test_a_load_reads_segments_once_and_entries_by_4_kilobytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
