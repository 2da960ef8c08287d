/* The messages of event logs: golden bytes, round trips, and what is refused. */
#include "wire/log.h"

#include "tests/support/failing_allocator.h"
#include "tests/wire/draw.h"
#include "wire/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID "000102030405060708090a0b0c0d0e0f"

static const uint8_t id_bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* ---- golden bytes ---- */

static void test_the_requests_have_these_bytes(void **state)
{
    kedge_wire_log_append append = {.type = KEDGE_BYTES("set"),
                                    .version = 2,
                                    .body = KEDGE_BYTES("{\"a\":1}"),
                                    .expected = 7,
                                    .since = 3,
                                    .has_id = true,
                                    .entries = true};
    kedge_wire_log_append plain = {
        .type = KEDGE_BYTES("set"), .version = 1, .expected = -1, .since = -1};
    kedge_wire_log_metadata metadata = {.snapshot = KEDGE_BYTES("s\"1"),
                                        .pending = KEDGE_BYTES("")};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    (void)state;
    memcpy(append.id, id_bytes, sizeof append.id);
    kedge_wire_log_append_write(&append, &out);
    assert_string_equal(out.data, "{\"type\":\"set\",\"version\":2,\"body\":{\"a\":1},"
                                  "\"expected\":7,\"since\":3,\"id\":\"" ID "\",\"entries\":true}");
    kedge_buffer_clear(&out);
    kedge_wire_log_append_write(&plain, &out);
    assert_string_equal(out.data, "{\"type\":\"set\",\"version\":1,\"body\":null}");
    kedge_buffer_clear(&out);
    kedge_wire_log_metadata_write(&metadata, &out);
    assert_string_equal(out.data, "{\"snapshot\":\"s\\\"1\",\"pending\":null}");
    kedge_buffer_clear(&out);
    kedge_wire_log_truncate_write(12, &out);
    assert_string_equal(out.data, "{\"before\":12}");
    kedge_buffer_clear(&out);
    kedge_wire_log_archive_write(&(kedge_wire_log_archive){.expires_s = 5}, &out);
    assert_string_equal(out.data, "{\"remove\":false,\"expires\":5}");
    kedge_buffer_free(&out);
}

static const kedge_wire_log_entry an_entry = {.number = 5,
                                              .created_s = 1700000000,
                                              .type = {"set", 3},
                                              .version = 1,
                                              .body = {"[1]", 3},
                                              .snapshot = {"s5", 2}};

static void test_the_responses_have_these_bytes(void **state)
{
    kedge_wire_log_appended appended = {.number = 8, .before = true};
    kedge_wire_log_page page = {.next = 6, .last_snapshot = -1, .reload = true};
    kedge_wire_log_info info = {.log = KEDGE_BYTES("journal"),
                                .created_s = 17,
                                .segment = 2,
                                .first = 3,
                                .next = 9,
                                .last_snapshot = 4,
                                .snapshot = KEDGE_BYTES("s4")};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    (void)state;
    kedge_wire_log_page_begin(&writer);
    kedge_wire_log_entry_write(&writer, &an_entry);
    kedge_wire_log_page_end(&writer, &page);
    assert_string_equal(out.data,
                        "{\"entries\":[{\"number\":5,\"created\":1700000000,\"type\":\"set\","
                        "\"version\":1,\"id\":\"00000000000000000000000000000000\",\"body\":[1],"
                        "\"snapshot\":\"s5\"}],\"next\":6,\"last_snapshot\":null,\"reload\":true}");
    kedge_buffer_clear(&out);
    kedge_wire_log_appended_write(&appended, &out);
    assert_string_equal(out.data, "{\"number\":8,\"before\":true}");
    kedge_buffer_clear(&out);
    kedge_wire_log_info_write(&info, &out);
    assert_string_equal(out.data, "{\"log\":\"journal\",\"created\":17,\"segment\":2,\"first\":3,"
                                  "\"next\":9,\"last_snapshot\":4,\"snapshot\":\"s4\"}");
    kedge_buffer_clear(&out);
    writer = kedge_json_write(&out);
    kedge_wire_log_conflict_begin(&writer, 9, "taken", true);
    kedge_wire_log_conflict_end(&writer, &page);
    assert_string_equal(out.data, "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,"
                                  "\"code\":\"log-conflict\",\"detail\":\"taken\",\"next\":9,"
                                  "\"page\":{\"entries\":[],\"next\":6,\"last_snapshot\":null,"
                                  "\"reload\":true}}");
    kedge_buffer_clear(&out);
    writer = kedge_json_write(&out);
    kedge_wire_log_conflict_begin(&writer, 9, "taken", false);
    kedge_wire_log_conflict_end(&writer, NULL);
    assert_string_equal(out.data, "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,"
                                  "\"code\":\"log-conflict\",\"detail\":\"taken\",\"next\":9}");
    kedge_buffer_free(&out);
}

static void test_the_event_has_these_bytes(void **state)
{
    char event[KEDGE_WIRE_EVENT_BYTES_MAX];
    int64_t number = 0;
    (void)state;
    event[kedge_wire_log_event_write(42, event)] = '\0';
    assert_string_equal(event, "event: appended\ndata: {\"number\":42}\n\n");
    assert_true(kedge_wire_log_event_read(KEDGE_BYTES("appended"), KEDGE_BYTES("{\"number\":42}"),
                                          &number));
    assert_int_equal(number, 42);
    assert_false(
        kedge_wire_log_event_read(KEDGE_BYTES("poke"), KEDGE_BYTES("{\"number\":1}"), &number));
    assert_false(kedge_wire_log_event_read(KEDGE_BYTES("appended"), KEDGE_BYTES("{\"number\":-1}"),
                                           &number));
    assert_false(kedge_wire_log_event_read(KEDGE_BYTES("appended"), KEDGE_BYTES("{"), &number));
    assert_false(kedge_wire_log_event_read(KEDGE_BYTES("appended"), KEDGE_BYTES("{}"), &number));
}

/* ---- round trips ---- */

static void check_append(draw *from)
{
    kedge_wire_log_append read;
    kedge_wire_log_append append = {.type = draw_name(from),
                                    .version = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID),
                                    .body = draw_value(from),
                                    .expected = draw_integer(from, -1, KEDGE_LIMIT_MUTATION_ID),
                                    .since = draw_integer(from, -1, KEDGE_LIMIT_MUTATION_ID),
                                    .has_id = draw_boolean(from),
                                    .entries = draw_boolean(from)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    if (append.has_id) {
        draw_bytes(from, append.id, sizeof append.id);
        append.id[0] |= 1;
    }
    kedge_wire_log_append_write(&append, &out);
    kedge_wire_request request = {.body = kedge_buffer_bytes(&out)};
    assert_int_equal(kedge_wire_log_append_read(&request, &read, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(read.type, append.type));
    assert_true(kedge_bytes_equal(read.body, append.body));
    assert_int_equal(read.version, append.version);
    assert_int_equal(read.expected, append.expected);
    assert_int_equal(read.since, append.since);
    assert_int_equal(read.has_id, append.has_id);
    assert_int_equal(read.entries, append.entries);
    assert_memory_equal(read.id, append.id, sizeof read.id);
    kedge_buffer_free(&out);
}

static kedge_bytes draw_metadata(draw *from)
{
    if (draw_boolean(from)) return (kedge_bytes){NULL, 0};
    return draw_boolean(from) ? KEDGE_BYTES("") : draw_name(from);
}

static bool same(kedge_bytes a, kedge_bytes b)
{
    return (a.data == NULL) == (b.data == NULL) && kedge_bytes_equal(a, b);
}

static void check_metadata(draw *from)
{
    kedge_wire_log_metadata read;
    kedge_wire_log_metadata metadata = {.snapshot = draw_metadata(from),
                                        .history = draw_metadata(from),
                                        .pending = draw_name(from)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_log_metadata_write(&metadata, &out);
    kedge_wire_request request = {.body = kedge_buffer_bytes(&out)};
    assert_int_equal(kedge_wire_log_metadata_read(&request, &read, NULL), KEDGE_OK);
    assert_true(same(read.snapshot, metadata.snapshot));
    assert_true(same(read.history, metadata.history));
    assert_true(same(read.pending, metadata.pending));
    kedge_buffer_free(&out);
}

static kedge_wire_log_entry draw_entry(draw *from)
{
    kedge_wire_log_entry entry = {.number = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                  .created_s = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                  .type = draw_name(from),
                                  .version = draw_integer(from, 1, KEDGE_LIMIT_MUTATION_ID),
                                  .body = draw_value(from)};
    draw_bytes(from, entry.id, sizeof entry.id);
    if (draw_boolean(from)) entry.snapshot = draw_name(from);
    if (draw_boolean(from)) entry.history = draw_name(from);
    if (draw_boolean(from)) entry.pending = draw_name(from);
    return entry;
}

static void assert_entries_equal(const kedge_wire_log_entry *a, const kedge_wire_log_entry *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->created_s, b->created_s);
    assert_int_equal(a->version, b->version);
    assert_memory_equal(a->id, b->id, sizeof a->id);
    assert_true(kedge_bytes_equal(a->type, b->type));
    assert_true(kedge_bytes_equal(a->body, b->body));
    assert_true(kedge_bytes_equal(a->snapshot, b->snapshot));
    assert_true(kedge_bytes_equal(a->history, b->history));
    assert_true(kedge_bytes_equal(a->pending, b->pending));
}

static void check_page(draw *from)
{
    kedge_wire_log_entry entries[4];
    kedge_wire_log_entries read = {.count = 0};
    kedge_wire_log_page page = {.next = draw_integer(from, -1, KEDGE_LIMIT_MUTATION_ID),
                                .last_snapshot = draw_integer(from, -1, KEDGE_LIMIT_MUTATION_ID),
                                .reload = draw_boolean(from)};
    size_t count = draw_count(from, 4);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_wire_log_page_begin(&writer);
    for (size_t i = 0; i < count; i++) {
        entries[i] = draw_entry(from);
        kedge_wire_log_entry_write(&writer, &entries[i]);
    }
    kedge_wire_log_page_end(&writer, &page);
    assert_int_equal(kedge_wire_log_entries_read(&kedge_allocator_default, kedge_buffer_bytes(&out),
                                                 &read, NULL),
                     KEDGE_OK);
    assert_int_equal(read.count, count);
    assert_int_equal(read.page.next, page.next);
    assert_int_equal(read.page.last_snapshot, page.last_snapshot);
    assert_int_equal(read.page.reload, page.reload);
    for (size_t i = 0; i < count; i++)
        assert_entries_equal(&read.entries[i], &entries[i]);
    kedge_wire_log_entries_free(&read);
    kedge_buffer_free(&out);
}

static void check_archive(draw *from)
{
    kedge_wire_log_archive read;
    kedge_wire_log_archive archive = {.remove = draw_boolean(from)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    if (!archive.remove) archive.expires_s = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID);
    kedge_wire_log_archive_write(&archive, &out);
    kedge_wire_request request = {.body = kedge_buffer_bytes(&out)};
    assert_int_equal(kedge_wire_log_archive_read(&request, &read, NULL), KEDGE_OK);
    assert_int_equal(read.remove, archive.remove);
    assert_int_equal(read.expires_s, archive.expires_s);
    kedge_buffer_free(&out);
}

static void check_info(draw *from)
{
    kedge_wire_log_info read;
    kedge_wire_log_info info = {.log = draw_name(from),
                                .created_s = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                .segment = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                .first = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                .next = draw_integer(from, 0, KEDGE_LIMIT_MUTATION_ID),
                                .last_snapshot = draw_integer(from, -1, KEDGE_LIMIT_MUTATION_ID)};
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    if (draw_boolean(from)) info.snapshot = draw_name(from);
    kedge_wire_log_info_write(&info, &out);
    assert_int_equal(kedge_wire_log_info_read(kedge_buffer_bytes(&out), &read, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal(read.log, info.log));
    assert_true(kedge_bytes_equal(read.snapshot, info.snapshot));
    assert_int_equal(read.created_s, info.created_s);
    assert_int_equal(read.segment, info.segment);
    assert_int_equal(read.first, info.first);
    assert_int_equal(read.next, info.next);
    assert_int_equal(read.last_snapshot, info.last_snapshot);
    kedge_buffer_free(&out);
}

static void test_what_was_written_is_read_as_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < DRAW_MESSAGES; seed++) {
        draw from = draw_begin(seed);
        check_append(&from);
        check_metadata(&from);
        check_page(&from);
        check_archive(&from);
        check_info(&from);
        draw_end(&from);
    }
}

/* ---- refusals ---- */

static void assert_append_refused(const char *body, const char *message)
{
    kedge_wire_log_append read;
    kedge_error error = {0};
    kedge_wire_request request = {.body = kedge_bytes_of(body)};
    assert_int_equal(kedge_wire_log_append_read(&request, &read, &error), KEDGE_INVALID_ARGUMENT);
    if (strstr(error.message, message) == NULL) fail_msg("%s: %s", body, error.message);
}

static void test_a_wrong_member_of_a_request_is_named(void **state)
{
    kedge_wire_log_metadata metadata;
    kedge_error error = {0};
    int64_t before;
    (void)state;
    assert_append_refused("[", "");
    assert_append_refused("[]", "object");
    assert_append_refused("{\"version\":1}", "type must be");
    assert_append_refused("{\"type\":\"End Segment\",\"version\":1}", "type must be");
    assert_append_refused("{\"type\":\"a\"}", "version is missing");
    assert_append_refused("{\"type\":\"a\",\"version\":0}", "version must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"expected\":-1}", "expected must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"since\":\"1\"}", "since must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"id\":\"ab\"}", "id must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"id\":7}", "id must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"id\":\""
                          "00000000000000000000000000000000\"}",
                          "id must be");
    assert_append_refused("{\"type\":\"a\",\"version\":1,\"entries\":1}", "entries must be");
    static const char *const no_metadata[] = {"7", "{}", "{\"snapshot\":\"\"}",
                                              "{\"history\":\"\"}", "{\"history\":7}"};
    kedge_wire_request request;
    for (size_t i = 0; i < sizeof no_metadata / sizeof no_metadata[0]; i++) {
        request = (kedge_wire_request){.body = kedge_bytes_of(no_metadata[i])};
        assert_int_equal(kedge_wire_log_metadata_read(&request, &metadata, &error),
                         KEDGE_INVALID_ARGUMENT);
    }
    kedge_wire_log_archive archive;
    static const char *const no_archives[] = {"7", "{\"remove\":1}", "{\"expires\":\"1\"}",
                                              "{\"remove\":true,\"expires\":1}"};
    for (size_t i = 0; i < sizeof no_archives / sizeof no_archives[0]; i++) {
        request.body = kedge_bytes_of(no_archives[i]);
        assert_int_equal(kedge_wire_log_archive_read(&request, &archive, &error),
                         KEDGE_INVALID_ARGUMENT);
    }
    request.body = KEDGE_BYTES("7");
    assert_int_equal(kedge_wire_log_truncate_read(&request, &before, &error),
                     KEDGE_INVALID_ARGUMENT);
    request.body = KEDGE_BYTES("{\"before\":-1}");
    assert_int_equal(kedge_wire_log_truncate_read(&request, &before, &error),
                     KEDGE_INVALID_ARGUMENT);
}

static void assert_page_refused(const char *body)
{
    kedge_wire_log_entries read = {.count = 0};
    kedge_error error = {0};
    assert_int_equal(
        kedge_wire_log_entries_read(&kedge_allocator_default, kedge_bytes_of(body), &read, &error),
        KEDGE_PROTOCOL);
    kedge_wire_log_entries_free(&read);
}

#define END "],\"next\":null,\"last_snapshot\":null,\"reload\":false}"
#define ENTRY(type, rest)                                                                          \
    "{\"number\":1,\"created\":1," type "\"version\":1,\"id\":\"" ID "\"" rest "}"
#define WHOLE(rest) ENTRY("\"type\":\"a\",", ",\"body\":{\"a\":1}" rest)

static void test_what_is_no_response_is_refused(void **state)
{
    kedge_wire_log_appended appended;
    kedge_wire_log_info info;
    int64_t next;
    static const char *const pages[] = {
        "7",
        "{\"entries\":{},\"next\":null,\"last_snapshot\":null,\"reload\":false}",
        "{\"entries\":[]}",
        "{\"entries\":[1" END,
        "{\"entries\":[" WHOLE("") " 2" END,
        "{\"entries\":[" ENTRY("\"type\":\"a\",", "") END,
        "{\"entries\":[" ENTRY("\"type\":\"a\",", ",\"body\":{\"a\":1,\"a\":2}") END,
        "{\"entries\":[" ENTRY("\"type\":\"\",", ",\"body\":1") END,
        "{\"entries\":[" ENTRY("\"type\":\"\\ud800\",", ",\"body\":1") END,
        "{\"entries\":[" ENTRY("\"type\":7,", ",\"body\":1") END,
        "{\"entries\":[" ENTRY("", ",\"body\":1") END,
        "{\"entries\":[{\"number\":-1,\"created\":1,\"type\":\"a\",\"version\":1,\"id\":\"" ID
        "\",\"body\":1}" END,
        "{\"entries\":[" WHOLE(",\"history\":\"\"") END,
    };
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        assert_page_refused(pages[i]);
    assert_int_equal(kedge_wire_log_appended_read(KEDGE_BYTES("7"), &appended, NULL),
                     KEDGE_PROTOCOL);
    assert_int_equal(
        kedge_wire_log_appended_read(KEDGE_BYTES("{\"before\":true}"), &appended, NULL),
        KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_appended_read(KEDGE_BYTES("{\"number\":1}"), &appended, NULL),
                     KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_info_read(KEDGE_BYTES("7"), &info, NULL), KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_info_read(KEDGE_BYTES("{\"log\":\"a\"}"), &info, NULL),
                     KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_conflict_read(KEDGE_BYTES("7"), &next, NULL), KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_conflict_read(KEDGE_BYTES("{}"), &next, NULL), KEDGE_PROTOCOL);
    assert_int_equal(kedge_wire_log_conflict_read(KEDGE_BYTES("{\"next\":3}"), &next, NULL),
                     KEDGE_OK);
    assert_int_equal(next, 3);
}

/* ---- memory ---- */

/* A body with so many members that the check of it takes memory. */
static char *page_with_a_large_body(void)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&text, "{\"entries\":[" WHOLE(",\"history\":\"h\"") ",");
    kedge_buffer_append_text(&text, "{\"number\":2,\"created\":1,\"type\":\"a\",\"version\":1,"
                                    "\"id\":\"" ID "\",\"body\":{");
    for (int i = 0; i < 500; i++)
        kedge_buffer_append_format(&text, "%s\"%d\":0", i == 0 ? "" : ",", i);
    kedge_buffer_append_text(&text, "}}" END);
    assert_int_equal(kedge_buffer_status(&text, NULL), KEDGE_OK);
    return text.data;
}

static bool read_page_with(const kedge_allocator *allocator, void *text)
{
    kedge_wire_log_entries read = {.count = 0};
    kedge_status status = kedge_wire_log_entries_read(allocator, kedge_bytes_of(text), &read, NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    kedge_wire_log_entries_free(&read);
    return status == KEDGE_OK;
}

static bool write_conflict_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_wire_log_conflict_begin(&writer, 9, "taken", false);
    kedge_wire_log_conflict_end(&writer, NULL);
    kedge_status status = kedge_buffer_status(&out, NULL);
    kedge_buffer_free(&out);
    return status == KEDGE_OK;
}

static void test_an_allocation_that_fails_is_no_fault_of_the_response(void **state)
{
    (void)state;
    char *text = page_with_a_large_body();
    assert_true(failing_allocator_try_every_call(read_page_with, text, 100) > 4);
    assert_true(failing_allocator_try_every_call(write_conflict_with, NULL, 100) > 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_requests_have_these_bytes),
        cmocka_unit_test(test_the_responses_have_these_bytes),
        cmocka_unit_test(test_the_event_has_these_bytes),
        cmocka_unit_test(test_what_was_written_is_read_as_the_same),
        cmocka_unit_test(test_a_wrong_member_of_a_request_is_named),
        cmocka_unit_test(test_what_is_no_response_is_refused),
        cmocka_unit_test(test_an_allocation_that_fails_is_no_fault_of_the_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
