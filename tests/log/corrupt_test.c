/* Logs that were tampered with: each fault has an error that names log, segment and entry, and what
 * can be read is still read. */
#include "tests/log/log_world.h"

#include "backend/log/body.h"

#include <stdio.h>
#include <string.h>

/* 0 to 4; entry 3 is the last snapshot. */
static const kedge_log *five_entries(test_world *world)
{
    const kedge_log *log = journal_new(world);
    for (int i = 1; i <= 4; i++)
        log_add(log, "1");
    log_snap(log, 3, "s3");
    return log;
}

static kedge_log_entry read_one(test_world *world, const kedge_log *log, int64_t num,
                                kedge_log_page *page)
{
    kedge_log_segment segment = log_segment(log, 0);
    *page = kedge_log_page_make(world->environment.allocator);
    assert_int_equal(kedge_log_entry_get(log, &segment, num, page, NULL), KEDGE_OK);
    return page->entries[0];
}

static const char *from(const kedge_log *log, int64_t number, bool down)
{
    kedge_log_reader reader;
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, number, down, &reader, NULL),
                     KEDGE_OK);
    return log_text(&reader, 10, false);
}

static void test_a_gap_is_told_and_what_is_around_it_is_read(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    log_remove_entry(world, log, 0, 2);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|!log-corrupt");
    assert_string_equal(log_error_message(),
                        "the log journal is corrupt at segment 0, entry 2: the entry is missing");
    assert_string_equal(from(log, 3, false), "3 set 1|4 set 1");
    assert_string_equal(from(log, 4, true), "4 set 1|3 set 1|!log-corrupt");
    assert_string_equal(log_loaded(log), "3 set 1|4 set 1");
    assert_int_equal(log_add(log, "5"), 5);
}

static void test_an_entry_that_stands_twice_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    kedge_log_page page;
    kedge_log_entry entry = read_one(world, log, 2, &page);
    entry.at.num = 3;
    log_put_entry(world, log, &entry);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|2 set 1|!log-corrupt");
    assert_string_equal(
        log_error_message(),
        "the log journal is corrupt at segment 0, entry 3: the entry is there twice in a row");
    assert_string_equal(from(log, 4, false), "4 set 1");
    kedge_log_page_free(&page);
}

static void test_an_entry_behind_the_end_of_its_segment_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    log_roll(log);
    kedge_log_entry entry = {.at = {.num = 6},
                             .type = KEDGE_BYTES("set"),
                             .version = 1,
                             .id = {1},
                             .body = KEDGE_BYTES("1")};
    log_put_entry(world, log, &entry);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|2 set 1|3 set 1|4 set 1|!log-corrupt");
    assert_non_null(
        strstr(log_error_message(), "segment 0, entry 5: there is an entry after the End Segment"));
}

static void test_a_segment_without_its_end_or_its_start_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    log_roll(log);
    log_add(log, "7");
    log_remove_entry(world, log, 0, 5);
    assert_string_equal(log_loaded(log), "3 set 1|4 set 1|!log-corrupt");
    assert_non_null(strstr(log_error_message(), "segment 0, entry 5: the entry is missing"));
    assert_string_equal(from(log, 7, true), "7 set 7|6 Snapshot|!log-corrupt");
    assert_non_null(strstr(log_error_message(), "the End Segment entry is missing"));
    log_remove_entry(world, log, 1, 0);
    assert_string_equal(from(log, 6, false), "!log-corrupt");
    assert_string_equal(from(log, 7, false), "7 set 7");
}

static void test_a_segment_record_that_is_missing_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = journal_new(world);
    for (int i = 0; i < 4; i++) {
        log_snap(log, log_segment(log, i).first, "s");
        log_roll(log);
    }
    kedge_log_key partition = kedge_log_key_segments(log);
    kedge_log_key sort = kedge_log_key_num(2);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}}};
    assert_int_equal(world->store_records.vtable->write(world->store_records.self, &write, NULL),
                     KEDGE_OK);
    kedge_log_reader reader;
    kedge_error error = {0};
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, 3, false, &reader, &error),
                     KEDGE_CORRUPT);
    assert_string_equal(error.message,
                        "the log journal is corrupt at segment 2: the segment is missing");
    assert_null(strchr(log_all(log), '!')); /* the entries are all there */
}

static void test_an_unknown_type_or_version_of_the_log_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    kedge_log_page page;
    kedge_log_entry entry = read_one(world, log, 2, &page);
    entry.type = KEDGE_BYTES("No Such Type");
    log_put_entry(world, log, &entry);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|!log-type-unknown");
    assert_non_null(strstr(log_error_message(), "the log journal has at segment 0, entry 2, the "
                                                "type \"No Such Type\""));
    entry.type = KEDGE_BYTES("Snapshot");
    entry.version = 2;
    log_put_entry(world, log, &entry);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|!log-version-unknown");
    assert_non_null(strstr(log_error_message(), "segment 0, entry 2, version 2 of the type "
                                                "Snapshot"));
    kedge_log_page_free(&page);
}

static void test_a_body_whose_object_is_missing_or_damaged_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    kedge_log_page page;
    kedge_log_entry entry = read_one(world, log, 2, &page);
    kedge_buffer body = kedge_buffer_make(world->environment.allocator);
    kedge_error error = {0};
    entry.external = KEDGE_BYTES("00000000000000000000000000000000");
    assert_int_equal(kedge_log_read_body(log, &entry, &body, &error), KEDGE_CORRUPT);
    assert_string_equal(error.message, "the log journal is corrupt at segment 0, entry 2: the "
                                       "object of its body is missing");
    kedge_log_key key = kedge_log_key_body(log, entry.external);
    const kedge_blobs *blobs = &world->store_blobs;
    assert_int_equal(blobs->vtable->put_if_absent(blobs->self, kedge_log_key_bytes(&key),
                                                  KEDGE_BYTES("no gzip"), NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read_body(log, &entry, &body, &error), KEDGE_CORRUPT);
    assert_non_null(strstr(error.message, "the object of its body is damaged"));
    assert_int_equal(body.size, 0);
    kedge_buffer_free(&body);
    kedge_log_page_free(&page);
}

static void put_record(test_world *world, const kedge_record *record)
{
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = *record};
    assert_int_equal(world->store_records.vtable->write(world->store_records.self, &write, NULL),
                     KEDGE_OK);
}

static void test_records_that_nobody_of_ours_wrote_are_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    kedge_log_key partition = kedge_log_key_entries(log, 0);
    kedge_log_key sort = kedge_log_key_num(2);
    kedge_attribute attribute = {.name = "T", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    kedge_record record = {
        {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, &attribute, 1};
    put_record(world, &record);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|!log-corrupt");
    assert_non_null(strstr(log_error_message(), "segment 0, entry 2: an attribute is missing"));
    record.key.sort = KEDGE_BYTES("zz");
    put_record(world, &record);
    assert_string_equal(from(log, 3, false), "3 set 1|4 set 1|!log-corrupt");
    partition = kedge_log_key_segments(log);
    sort = kedge_log_key_num(0);
    record.key = (kedge_record_key){kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)};
    put_record(world, &record);
    assert_string_equal(log_loaded(log), "log-corrupt");
    assert_non_null(strstr(log_error_message(), "an attribute of the segment is missing"));
}

/* The name would not fit a key, so neither a reader nor a truncation asks for the blob. */
static void test_a_body_with_an_impossible_name_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    char name[600];
    kedge_log_page page;
    kedge_log_entry entry = read_one(world, log, 2, &page);
    memset(name, 'a', sizeof name);
    entry.external = (kedge_bytes){name, sizeof name};
    entry.body = (kedge_bytes){NULL, 0};
    log_put_entry(world, log, &entry);
    assert_string_equal(log_all(log), "0 Snapshot|1 set 1|!log-corrupt");
    assert_non_null(strstr(log_error_message(), "segment 0, entry 2: an attribute"));
    log_snap(log, 4, "s");
    assert_int_equal(kedge_log_truncate(log, 4, NULL), KEDGE_OK);
    assert_string_equal(from(log, 4, false), "4 set 1");
    kedge_log_page_free(&page);
}

/* A number that no log has, in each attribute of a segment that counts entries. */
static void test_a_segment_with_numbers_beyond_the_largest_is_told(void **state)
{
    test_world *world = *state;
    const kedge_log *log = five_entries(world);
    kedge_log_key partition = kedge_log_key_segments(log);
    kedge_log_key sort = kedge_log_key_num(0);
    for (int which = 0; which < 3; which++) {
        kedge_attribute attributes[] = {{.name = "C", .type = KEDGE_ATTRIBUTE_NUMBER},
                                        {.name = "R", .type = KEDGE_ATTRIBUTE_NUMBER},
                                        {.name = "F", .type = KEDGE_ATTRIBUTE_NUMBER},
                                        {.name = "L", .type = KEDGE_ATTRIBUTE_NUMBER},
                                        {.name = "D", .type = KEDGE_ATTRIBUTE_NUMBER}};
        kedge_record record = {
            {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, attributes, 5};
        kedge_log_reader reader;
        attributes[2 + which].number = KEDGE_LOG_NUMBER_MAX + 1;
        put_record(world, &record);
        assert_string_equal(log_loaded(log), "log-corrupt");
        assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL),
                         KEDGE_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_gap_is_told_and_what_is_around_it_is_read),
        OVER_BOTH(test_an_entry_that_stands_twice_is_told),
        OVER_MEMORY(test_an_entry_behind_the_end_of_its_segment_is_told),
        OVER_BOTH(test_a_segment_without_its_end_or_its_start_is_told),
        OVER_MEMORY(test_a_segment_record_that_is_missing_is_told),
        OVER_BOTH(test_an_unknown_type_or_version_of_the_log_is_told),
        OVER_BOTH(test_a_body_whose_object_is_missing_or_damaged_is_told),
        OVER_MEMORY(test_records_that_nobody_of_ours_wrote_are_told),
        OVER_BOTH(test_a_body_with_an_impossible_name_is_told),
        OVER_BOTH(test_a_segment_with_numbers_beyond_the_largest_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
