/* Logs over a world of the backend's tests. */
#include "tests/log/log_world.h"

#include <stdio.h>
#include <string.h>

#define LOGS 64

void log_nothing_to_test(void **state)
{
    (void)state;
}

/* ---- logs ---- */

static const kedge_log *make(kedge_backend *backend, const char *name)
{
    static kedge_project projects[LOGS];
    static kedge_log logs[LOGS];
    static size_t next;
    size_t at = next++ % LOGS;
    projects[at] = kedge_project_of(backend, &notes);
    logs[at] = kedge_log_of(&projects[at], kedge_bytes_of(name));
    return &logs[at];
}

const kedge_log *journal(test_world *world)
{
    return make(world->backend, "journal");
}

const kedge_log *journal_of(kedge_backend *backend)
{
    return make(backend, "journal");
}

const kedge_log *log_named(test_world *world, const char *name)
{
    return make(world->backend, name);
}

const kedge_log *journal_new(test_world *world)
{
    const kedge_log *log = journal(world);
    bool created = false;
    assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
    assert_true(created);
    return log;
}

/* ---- writing ---- */

static void must(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) fail_msg("%s: %s", error->code, error->message);
}

kedge_status log_add_at(const kedge_log *log, int64_t expected, const char *body,
                        kedge_log_append_result *result, kedge_error *error)
{
    kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                        .version = 1,
                                        .body = kedge_bytes_of(body),
                                        .expected = expected,
                                        .since = -1};
    return kedge_log_append(log, &request, result, error);
}

int64_t log_add(const kedge_log *log, const char *body)
{
    kedge_log_append_result result;
    kedge_error error = {0};
    must(log_add_at(log, KEDGE_LOG_AT_END, body, &result, &error), &error);
    assert_false(result.conflict);
    return result.at.number;
}

void log_snap(const kedge_log *log, int64_t number, const char *snapshot)
{
    kedge_error error = {0};
    kedge_log_metadata metadata = {.snapshot = kedge_bytes_of(snapshot)};
    must(kedge_log_set_metadata(log, number, &metadata, &error), &error);
}

int64_t log_roll(const kedge_log *log)
{
    kedge_log_place first;
    kedge_error error = {0};
    must(kedge_log_new_segment(log, &first, &error), &error);
    return first.number;
}

/* ---- reading ---- */

static kedge_error last_error;

const char *log_error_message(void)
{
    return last_error.message;
}

static void show(const kedge_log_entry *entry, bool places, char *text, size_t size)
{
    size_t used = strlen(text);
    int shown = entry->body.size > 100 ? 100 : (int)entry->body.size;
    used += (size_t)snprintf(text + used, size - used, "%s%lld", used == 0 ? "" : "|",
                             (long long)entry->at.number);
    if (places) {
        used += (size_t)snprintf(text + used, size - used, "@%lld.%lld",
                                 (long long)entry->at.segment, (long long)entry->at.num);
    }
    snprintf(text + used, size - used, " %.*s", (int)entry->type.size, entry->type.data);
    used = strlen(text);
    if (entry->external.size > 0) snprintf(text + used, size - used, " (external)");
    if (!kedge_log_entry_is_system(entry) && entry->external.size == 0)
        snprintf(text + used, size - used, " %.*s", shown, entry->body.data);
}

const char *log_text(kedge_log_reader *reader, uint32_t limit, bool places)
{
    static char texts[16][65536];
    static size_t next;
    char *text = texts[next++ % 16];
    kedge_status status = KEDGE_OK;
    text[0] = '\0';
    while (status == KEDGE_OK && !reader->ended) {
        kedge_log_page page = kedge_log_page_make(reader->log->project->allocator);
        memset(&last_error, 0, sizeof last_error);
        status = kedge_log_read(reader, limit, &page, &last_error);
        assert_true(page.count <= limit);
        for (size_t i = 0; i < page.count; i++)
            show(&page.entries[i], places, text, sizeof texts[0]);
        kedge_log_page_free(&page);
    }
    size_t used = strlen(text);
    if (status != KEDGE_OK) {
        snprintf(text + used, sizeof texts[0] - used, "%s!%s", used == 0 ? "" : "|",
                 last_error.code);
    }
    return text;
}

const char *log_all(const kedge_log *log)
{
    kedge_log_reader reader;
    kedge_error error = {0};
    must(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, &error), &error);
    return log_text(&reader, 7, false);
}

const char *log_loaded(const kedge_log *log)
{
    kedge_log_reader reader = {.ended = true};
    if (kedge_log_load(log, &reader, &last_error) != KEDGE_OK) return last_error.code;
    return log_text(&reader, 7, false);
}

int log_count_id(const kedge_log *log, const uint8_t id[KEDGE_LOG_ID_SIZE])
{
    int count = 0;
    kedge_log_reader reader;
    kedge_error error = {0};
    must(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, &error), &error);
    while (!reader.ended) {
        kedge_log_page page = kedge_log_page_make(log->project->allocator);
        must(kedge_log_read(&reader, 100, &page, &error), &error);
        for (size_t i = 0; i < page.count; i++)
            if (memcmp(page.entries[i].id, id, KEDGE_LOG_ID_SIZE) == 0) count++;
        kedge_log_page_free(&page);
    }
    return count;
}

/* ---- behind the back of the backend ---- */

static void put(test_world *world, const kedge_record_write *write)
{
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, write, NULL), KEDGE_OK);
}

void log_put_entry(test_world *world, const kedge_log *log, const kedge_log_entry *entry)
{
    kedge_log_record record;
    kedge_arena arena = kedge_arena_make(world->environment.allocator);
    assert_int_equal(kedge_log_entry_encode(log, entry, &arena, &record, NULL), KEDGE_OK);
    kedge_record_write write = kedge_log_put(&record, KEDGE_IF_ANY);
    put(world, &write);
    kedge_arena_free(&arena);
}

void log_remove_entry(test_world *world, const kedge_log *log, int64_t segment, int64_t num)
{
    kedge_log_key partition = kedge_log_key_entries(log, segment);
    kedge_log_key sort = kedge_log_key_num(num);
    kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}}};
    put(world, &write);
}

kedge_log_segment log_segment(const kedge_log *log, int64_t num)
{
    kedge_log_segment segment;
    kedge_error error = {0};
    must(kedge_log_segment_get(log, num, &segment, &error), &error);
    return segment;
}

void log_put_segment(test_world *world, const kedge_log *log, const kedge_log_segment *segment)
{
    kedge_log_record record;
    kedge_log_segment_encode(log, segment, &record);
    kedge_record_write write = kedge_log_put(&record, KEDGE_IF_ANY);
    put(world, &write);
}
