/* kedge-bench-log [--json]: event logs over memory and over SQLite, and what appends cost.
 *
 * The floor of an append is what it asks of its records at least, made without Kedge on the same
 * store: one query for the last record and one put behind it. The floor of a load is a query of
 * the same records, page by page. Both alternate with what is measured. Dollars are those of the
 * meter; their floor is what the article says, at its prices of 2023. */
#include "bench/bench.h"
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
/* The article: $1.25 for a million write units, $0.25 for a million read units; an append is one
 * write and one eventually consistent read. */
#define ARTICLE_DOLLARS 1.375

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

static void append(const kedge_log *log)
{
    kedge_error error = {0};
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                              .version = 1,
                                              .body = KEDGE_BYTES(BODY),
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    bench_check(kedge_log_append(log, &request, &result, &error), &error, "append");
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

/* One log: its floor is one bare writer, since each entry stands behind another. */
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

static size_t read_all(kedge_log_reader *reader)
{
    size_t count = 0;
    while (!reader->ended) {
        kedge_error error = {0};
        kedge_log_page page = kedge_log_page_make(reader->log->project->allocator);
        bench_check(kedge_log_read(reader, KEDGE_LOG_PAGE_MAX, &page, &error), &error, "read");
        count += page.count;
        kedge_log_page_free(&page);
    }
    return count;
}

/* A snapshot, and a tail of 10,000 entries behind it. */
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
        ours += read_all(&reader);
        ours_ms += bench_now_ms() - start;
        start = bench_now_ms();
        bares += bare_load(&self->floor);
        bare_ms += bench_now_ms() - start;
        start = bench_now_ms();
        bench_check(kedge_log_update(&self->log, behind, &reader, &reload, &error), &error,
                    "update");
        read_all(&reader);
        update_ms += bench_now_ms() - start;
    }
    print(self, "load, entries of a tail of 10,000", (double)ours / ours_ms * 1e3,
          (double)bares / bare_ms * 1e3);
    print(self, "update by 10 entries", ROUNDS / update_ms * 1e3, 0);
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
        {.name = "a million appends, article's floor at 2023 prices",
         .value = kedge_cost_dollars(&spent) / APPENDS * MILLION,
         .unit = "$",
         .floor = ARTICLE_DOLLARS},
        {.name = "write units of an append", .value = units, .unit = "units", .floor = 1},
        {.name = "read units of an append", .value = reads, .unit = "units", .floor = 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i], self->json);
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
    if (strcmp(store, "memory") == 0) cost(&self);
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
