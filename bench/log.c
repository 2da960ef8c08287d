/* kedge-bench-log [--json]: event logs over memory and over SQLite, and what appends cost.
 *
 * The floor of an append is what it asks of its records at least, made without Kedge on the same
 * store: one query for the last record and one put after it. The floor of a load is a query of
 * the same records, page by page. Both alternate with what is measured. Dollars are those of the
 * meter; beside them stands the article's own table, at its prices of 2023. */
#include "bench/bench.h"
#include "bench/log_snapshot.h"
#include "bench/stage.h"

#include "backend/log/log.h"
#include "backend/memory/memory_ports.h"
#include "backend/ports/prices.h"
#include "backend/sqlite/sqlite_ports.h"

#include <pthread.h>
#include <string.h>

#define ROUNDS  4
#define APPENDS 200 /* a round */
#define WRITERS 16
#define EACH    25 /* appends of one of the writers, a round */
#define TAIL    10000
#define MILLION 1e6
#define BODY    "{\"cell\":\"A1\",\"value\":42}"
#define COSTS   20 /* appends of each size */

/* The article's table, "Implementing a Spreadsheet Event Log on DynamoDB": dollars for a million
 * requests, in DynamoDB up to 16 KB and in S3, beside a small item, above. An append is one write
 * and one eventually consistent read of the last entry. */
static const struct {
    size_t kb;
    double write, last, read;
} article[] = {{1, 1.25, 0.125, 0.125},  {2, 2.5, 0.125, 0.125},   {4, 5, 0.125, 0.125},
               {8, 10, 0.25, 0.25},      {12, 15, 0.375, 0.375},   {16, 20, 0.5, 0.5},
               {32, 6.25, 0.125, 0.525}, {400, 6.25, 0.125, 0.525}};

typedef struct bare {
    kedge_records records;
    uint64_t next;
} bare;

typedef struct stand {
    const char *store;
    bench_stage stage;
    kedge_project project;
    kedge_log log;
    bare floor;
    bool json;
} stand;

static const kedge_project_ref place = {{"bench", 5}, {"sheet", 5}};

static void append_body(const kedge_log *log, kedge_bytes body)
{
    kedge_error error = {0};
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                              .version = 1,
                                              .body = body,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    bench_check(kedge_log_append(log, &request, &result, &error), &error, "append");
}

static void append(const kedge_log *log)
{
    append_body(log, KEDGE_BYTES(BODY));
}

/* ---- floors ---- */

static void bare_append(bare *self)
{
    char sort[24];
    kedge_error error = {0};
    kedge_record_set set = {0};
    const kedge_records *records = &self->records;
    const kedge_records_query query = {
        .partition = KEDGE_BYTES("bare"), .descending = true, .limit = 1};
    bench_check(records->vtable->query(records->self, &query, &set, &error), &error, "floor");
    kedge_record_set_free(&set);
    snprintf(sort, sizeof sort, "%020llu", (unsigned long long)self->next++);
    const kedge_attribute attribute = {
        .name = "B", .type = KEDGE_ATTRIBUTE_BINARY, .bytes = KEDGE_BYTES(BODY)};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("bare"), kedge_bytes_of(sort)}, &attribute, 1},
        .condition = KEDGE_IF_ABSENT};
    bench_check(records->vtable->write(records->self, &write, &error), &error, "floor");
}

static size_t bare_load(const bare *self)
{
    char after[24] = "";
    size_t count = 0, got = 1;
    while (got > 0) {
        kedge_error error = {0};
        kedge_record_set set = {0};
        const kedge_records_query query = {
            .partition = KEDGE_BYTES("bare"), .after = kedge_bytes_of(after), .limit = 1000};
        bench_check(self->records.vtable->query(self->records.self, &query, &set, &error), &error,
                    "floor");
        got = set.count;
        count += got;
        if (got > 0) {
            kedge_bytes last = set.records[got - 1].key.sort;
            snprintf(after, sizeof after, "%.*s", (int)last.size, last.data);
        }
        kedge_record_set_free(&set);
    }
    return count;
}

/* ---- what is measured ---- */

static void print(const stand *self, const char *what, double rate, double floor)
{
    char name[64];
    snprintf(name, sizeof name, "%s (%s)", what, self->store);
    const bench_row row = {.name = name,
                           .value = rate,
                           .unit = "/s",
                           .floor = floor,
                           .ratio = floor > 0 ? rate / floor : 0};
    bench_print(&row, self->json);
}

static void alone(stand *self)
{
    double ours_ms = 0, bare_ms = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = bench_now_ms();
        for (int i = 0; i < APPENDS; i++)
            append(&self->log);
        ours_ms += bench_now_ms() - start;
        start = bench_now_ms();
        for (int i = 0; i < APPENDS; i++)
            bare_append(&self->floor);
        bare_ms += bench_now_ms() - start;
    }
    print(self, "append, alone", ROUNDS * APPENDS / ours_ms * 1e3,
          ROUNDS * APPENDS / bare_ms * 1e3);
}

static void *write_each(void *argument)
{
    for (int i = 0; i < EACH; i++)
        append(argument);
    return NULL;
}

/* One log: its floor is one bare writer, since each entry stands after another. */
static void together(stand *self)
{
    double ours_ms = 0, bare_ms = 0;
    kedge_error error = {.code = "no-thread", .message = "a thread could not be started"};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[WRITERS];
        double start = bench_now_ms();
        for (int i = 0; i < WRITERS; i++) {
            int failed = pthread_create(&threads[i], NULL, write_each, &self->log);
            bench_check(failed ? KEDGE_INTERNAL : KEDGE_OK, &error, "threads");
        }
        for (int i = 0; i < WRITERS; i++)
            pthread_join(threads[i], NULL);
        ours_ms += bench_now_ms() - start;
        start = bench_now_ms();
        for (int i = 0; i < WRITERS * EACH; i++)
            bare_append(&self->floor);
        bare_ms += bench_now_ms() - start;
    }
    double count = (double)ROUNDS * WRITERS * EACH;
    print(self, "append, 16 writers on one log", count / ours_ms * 1e3, count / bare_ms * 1e3);
}

static void read_body(const kedge_log *log, const kedge_log_entry *entry)
{
    kedge_error error = {0};
    kedge_buffer body = kedge_buffer_make(log->project->allocator);
    bench_check(kedge_log_read_body(log, entry, &body, &error), &error, "body");
    kedge_buffer_free(&body);
}

static size_t read_all(kedge_log_reader *reader, bool bodies)
{
    size_t count = 0;
    while (!reader->ended) {
        kedge_error error = {0};
        kedge_log_page page = kedge_log_page_make(reader->log->project->allocator);
        bench_check(kedge_log_read(reader, KEDGE_LOG_PAGE_MAX, &page, &error), &error, "read");
        count += page.count;
        for (size_t i = 0; bodies && i < page.count; i++)
            read_body(reader->log, &page.entries[i]);
        kedge_log_page_free(&page);
    }
    return count;
}

/* A snapshot, and a tail of 10,000 entries after it. */
static void load(stand *self)
{
    kedge_error error = {0};
    kedge_log_summary summary = {.snapshot_entry = kedge_log_page_make(self->project.allocator)};
    bench_check(kedge_log_summarize(&self->log, true, &summary, &error), &error, "summary");
    kedge_log_page_free(&summary.snapshot_entry);
    const kedge_log_metadata metadata = {.snapshot = KEDGE_BYTES("s")};
    bench_check(kedge_log_set_metadata(&self->log, summary.next - 1, &metadata, &error), &error,
                "snapshot");
    for (int i = 0; i < TAIL; i++)
        append(&self->log);
    double ours_ms = 0, bare_ms = 0, update_ms = 0;
    size_t ours = 0, bares = 0;
    for (int round = 0; round < ROUNDS; round++) {
        bool reload;
        int64_t behind = summary.next + TAIL - 11;
        kedge_log_reader reader;
        double start = bench_now_ms();
        bench_check(kedge_log_load(&self->log, &reader, &error), &error, "load");
        ours += read_all(&reader, false);
        ours_ms += bench_now_ms() - start;
        start = bench_now_ms();
        bares += bare_load(&self->floor);
        bare_ms += bench_now_ms() - start;
        start = bench_now_ms();
        bench_check(kedge_log_update(&self->log, behind, &reader, &reload, &error), &error,
                    "update");
        read_all(&reader, false);
        update_ms += bench_now_ms() - start;
    }
    print(self, "load, entries of a tail of 10,000", (double)ours / ours_ms * 1e3,
          (double)bares / bare_ms * 1e3);
    print(self, "update by 10 entries", ROUNDS / update_ms * 1e3, 0);
}

static double dollars_since(const stand *self, const kedge_cost *before)
{
    kedge_cost after = kedge_meter_totals(self->stage.meter);
    kedge_cost spent = kedge_cost_minus(&after, before);
    return kedge_cost_dollars(&spent);
}

/* Of a log whose entries have bodies of one size: what a million appends cost, and what it costs to
 * read a million entries, one page of them after the other, with their bodies. */
static void cost_of_size(stand *self, size_t at)
{
    char name[32];
    bool created;
    kedge_error error = {0};
    kedge_log_reader reader;
    kedge_buffer text = kedge_buffer_make(self->project.allocator);
    /* Letters without a pattern, of which packing takes off a quarter. */
    size_t size = article[at].kb * 1024;
    uint64_t random = 1;
    kedge_buffer_append_byte(&text, '"');
    while (text.size < size - 1) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        char letter = (char)('0' + (random >> 33) % 64);
        kedge_buffer_append_byte(&text, letter == '\\' ? '~' : letter);
    }
    kedge_buffer_append_byte(&text, '"');
    snprintf(name, sizeof name, "size-%zu", article[at].kb);
    kedge_log log = kedge_log_of(&self->project, kedge_bytes_of(name));
    bench_check(kedge_log_create(&log, &created, &error), &error, "create");
    append_body(&log, kedge_buffer_bytes(&text));
    kedge_cost before = kedge_meter_totals(self->stage.meter);
    for (int i = 0; i < COSTS; i++)
        append_body(&log, kedge_buffer_bytes(&text));
    double appended = dollars_since(self, &before) / COSTS * MILLION;
    before = kedge_meter_totals(self->stage.meter);
    bench_check(kedge_log_query(&log, KEDGE_LOG_FROM_START, 0, false, &reader, &error), &error,
                "query");
    size_t count = read_all(&reader, true);
    double read = dollars_since(self, &before) / (double)count * MILLION;
    char what[2][96];
    snprintf(what[0], sizeof what[0], "a million appends of %zu KB, article", article[at].kb);
    snprintf(what[1], sizeof what[1], "a million entries of %zu KB read, article", article[at].kb);
    const bench_row rows[] = {
        {.name = what[0],
         .value = appended,
         .unit = "$",
         .floor = article[at].write + article[at].last},
        {.name = what[1], .value = read, .unit = "$", .floor = article[at].read}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i], self->json);
    kedge_buffer_free(&text);
}

static void cost(stand *self)
{
    kedge_cost before = kedge_meter_totals(self->stage.meter);
    for (int i = 0; i < APPENDS; i++)
        append(&self->log);
    kedge_cost after = kedge_meter_totals(self->stage.meter);
    kedge_cost spent = kedge_cost_minus(&after, &before);
    double units = (double)spent.of[KEDGE_COST_WRITE_UNITS] / APPENDS;
    double reads = kedge_cost_read_units(&spent) / APPENDS;
    const bench_row rows[] = {
        {.name = "write units of an append", .value = units, .unit = "units", .floor = 1},
        {.name = "read units of an append", .value = reads, .unit = "units", .floor = 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i], self->json);
    for (size_t at = 0; at < sizeof article / sizeof *article; at++)
        cost_of_size(self, at);
}

static void run(const char *store, kedge_records records, kedge_blobs blobs,
                const kedge_environment *environment, bool json)
{
    stand self = {.store = store, .floor = {.records = records}, .json = json};
    bool created;
    kedge_error error = {0};
    bench_stage_open(&self.stage, environment, records, blobs, (kedge_queue){0},
                     KEDGE_CADENCE_COMPACT);
    self.project = kedge_project_of(self.stage.backend, &place);
    self.log = kedge_log_of(&self.project, KEDGE_BYTES("cells"));
    bench_check(kedge_log_create(&self.log, &created, &error), &error, "create");
    append(&self.log);
    alone(&self);
    together(&self);
    load(&self);
    if (strcmp(store, "memory") == 0) {
        bench_log_snapshots(&self.stage, blobs, json);
        cost(&self);
    }
    bench_stage_close(&self.stage);
    records.vtable->close(records.self);
}

int main(int argc, char **argv)
{
    char folder[256], path[300];
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    kedge_error error = {0};
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_records memory, sqlite;
    kedge_blobs blobs;
    bench_check(kedge_memory_records_open(&environment, &memory, &error), &error, "memory");
    bench_check(kedge_memory_blobs_open(&environment, &blobs, &error), &error, "memory");
    run("memory", memory, blobs, &environment, json);
    bench_make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/records.db", folder);
    bench_check(kedge_sqlite_records_open(&environment, path, &sqlite, &error), &error, "SQLite");
    run("SQLite", sqlite, blobs, &environment, json);
    blobs.vtable->close(blobs.self);
    bench_remove_folder(folder);
    return 0;
}
