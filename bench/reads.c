/* Reads of a project of 100,000 items: through the API, which checks each row, against raw SQLite
 * statements that read the same file and check nothing; and the price of the check alone, as the
 * same raw walk with and without it. The file is in memory and nothing waits, so that what is
 * measured is the thread's time on the processor. */
#include "bench/bench.h"
#include "bench/project.h"

#include "sdk/store/cache_row.h"
#include <kedge/kedge.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS   100000
#define GETS    20000
#define ROUNDS  15
#define LOOKUPS 50

typedef struct reads {
    char folder[256];
    kedge_db *db;
    sqlite3 *raw;
    sqlite3_stmt *get;
    sqlite3_stmt *scan;
    sqlite3_stmt *scan_checksums;
    sqlite3_stmt *filter;
    int lookups;
    size_t bytes; /* so that nothing is left out as useless */
} reads;

static void must(bool good, const char *what)
{
    if (good) return;
    (void)fprintf(stderr, "bench: reads: %s\n", what);
    exit(2);
}

static void fill(const char *folder)
{
    kedge_registry *registry = NULL;
    kedge_store *store = bench_open_store(folder, &registry);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    bench_write_response(&body, 1, 0, ITEMS, 1);
    bench_apply(store, kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    kedge_store_close(store);
    kedge_registry_free(registry);
}

static sqlite3_stmt *prepare(sqlite3 *raw, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    must(sqlite3_prepare_v3(raw, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK,
         sqlite3_errmsg(raw));
    return statement;
}

static void open_both(reads *r)
{
    char path[300];
    kedge_error error = {0};
    kedge_options options = KEDGE_OPTIONS_INIT;
    bench_make_folder(r->folder, sizeof r->folder);
    fill(r->folder);
    options.path = r->folder;
    options.organization = "bench";
    options.project = "pulls";
    bench_check(kedge_open(&options, &r->db, &error), &error, "kedge_open");
    (void)snprintf(path, sizeof path, "%s/cache.db", r->folder);
    must(sqlite3_open_v2(path, &r->raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
             SQLITE_OK,
         "the file cannot be opened");
    r->get = prepare(r->raw, "SELECT value FROM item WHERE collection = ?1 AND id = ?2");
    r->scan = prepare(r->raw, "SELECT id, value FROM item WHERE collection = 'notes' ORDER BY id");
    r->scan_checksums = prepare(
        r->raw, "SELECT id, value, checksum FROM item WHERE collection = 'notes' ORDER BY id");
    r->filter = prepare(r->raw, "SELECT count(*) FROM item WHERE collection = 'notes'"
                                " AND json_extract(value, '$.rank') % 2 = 0");
}

static void close_both(reads *r)
{
    sqlite3_finalize(r->get);
    sqlite3_finalize(r->scan);
    sqlite3_finalize(r->scan_checksums);
    sqlite3_finalize(r->filter);
    sqlite3_close(r->raw);
    kedge_close(r->db);
    bench_remove_folder(r->folder);
}

/* All over the collection, the same ids in each round. */
static int write_id(char id[16], int i)
{
    return snprintf(id, 16, "%06d", (int)((long long)i * 48271 % ITEMS));
}

/* ---- one block of each; how many a second ---- */

typedef double (*block)(reads *r);

static double get_ours(reads *r)
{
    double start = bench_cpu_ms();
    for (int i = 0; i < GETS; i++) {
        char id[16];
        kedge_error error = {0};
        kedge_document *document = NULL;
        size_t size = (size_t)write_id(id, i);
        bench_check(kedge_get(r->db, "notes", id, size, &document, &error), &error, "kedge_get");
        (void)kedge_document_json(document, &size);
        r->bytes += size;
        kedge_document_free(document);
    }
    return GETS / (bench_cpu_ms() - start) * 1e3;
}

static double get_raw(reads *r)
{
    double start = bench_cpu_ms();
    for (int i = 0; i < GETS; i++) {
        char id[16];
        char value[512];
        int size = write_id(id, i);
        sqlite3_bind_text(r->get, 1, "notes", 5, SQLITE_STATIC);
        sqlite3_bind_text(r->get, 2, id, size, SQLITE_STATIC);
        must(sqlite3_step(r->get) == SQLITE_ROW, "an item is missing");
        size = sqlite3_column_bytes(r->get, 0);
        memcpy(value, sqlite3_column_text(r->get, 0), (size_t)size);
        r->bytes += (size_t)size + (size_t)(value[0] == '{');
        sqlite3_reset(r->get);
    }
    return GETS / (bench_cpu_ms() - start) * 1e3;
}

static double scan_ours(reads *r)
{
    kedge_error error = {0};
    kedge_scan *scan = NULL;
    const char *id;
    const char *value;
    size_t id_size;
    size_t value_size;
    int rows = 0;
    double start = bench_cpu_ms();
    bench_check(kedge_scan_open(r->db, "notes", NULL, &scan, &error), &error, "kedge_scan_open");
    for (; kedge_scan_next(scan, &id, &id_size, &value, &value_size, &error) == KEDGE_OK; rows++)
        r->bytes += id_size + value_size;
    kedge_scan_close(scan);
    must(rows == ITEMS, "a scan did not give every item");
    return rows / (bench_cpu_ms() - start) * 1e3;
}

static double scan_raw(reads *r)
{
    int rows = 0;
    double start = bench_cpu_ms();
    for (; sqlite3_step(r->scan) == SQLITE_ROW; rows++) {
        kedge_bytes id = kedge_store_column(r->scan, 0);
        kedge_bytes value = kedge_store_column(r->scan, 1);
        r->bytes += id.size + value.size;
    }
    sqlite3_reset(r->scan);
    must(rows == ITEMS, "a raw scan did not give every item");
    return rows / (bench_cpu_ms() - start) * 1e3;
}

/* The raw scan, with the check of each row and nothing else. */
static double scan_raw_checked(reads *r)
{
    int rows = 0;
    kedge_cache_row row;
    double start = bench_cpu_ms();
    kedge_checksum begun = kedge_row_begin(KEDGE_ROW_ITEM, KEDGE_BYTES("notes"));
    for (; sqlite3_step(r->scan_checksums) == SQLITE_ROW; rows++) {
        must(kedge_row_read(begun, r->scan_checksums, 0, &row), "a row is damaged");
        r->bytes += row.id.size + row.value.size;
    }
    sqlite3_reset(r->scan_checksums);
    must(rows == ITEMS, "a raw scan did not give every item");
    return rows / (bench_cpu_ms() - start) * 1e3;
}

static double filter_ours(reads *r)
{
    static const char sql[] =
        "SELECT count(*) FROM notes WHERE json_extract(value, '$.rank') % 2 = 0";
    kedge_error error = {0};
    kedge_query *query = NULL;
    double start = bench_cpu_ms();
    bench_check(kedge_query_open(r->db, sql, sizeof sql - 1, NULL, 0, &query, &error), &error,
                "kedge_query_open");
    bench_check(kedge_query_next(query, &error), &error, "kedge_query_next");
    must(kedge_query_integer(query, 0) == ITEMS / 2, "a query counted wrong");
    kedge_query_close(query);
    return ITEMS / (bench_cpu_ms() - start) * 1e3;
}

static double filter_raw(reads *r)
{
    double start = bench_cpu_ms();
    must(sqlite3_step(r->filter) == SQLITE_ROW && sqlite3_column_int(r->filter, 0) == ITEMS / 2,
         "raw SQLite counted wrong");
    sqlite3_reset(r->filter);
    return ITEMS / (bench_cpu_ms() - start) * 1e3;
}

/* Items that have one of 100,000 titles, with a declared index: a query that is opened, stepped and
 * closed. In ms a query. */
static const char LOOKUP[] = "SELECT id FROM notes WHERE value ->> 'title' = ?1";

static void write_title(reads *r, const char *format, char title[32])
{
    (void)snprintf(title, 32, format, (int)((long long)r->lookups++ * 48271 % ITEMS));
}

static double lookup_ours(reads *r)
{
    double start = bench_cpu_ms();
    for (int i = 0; i < LOOKUPS; i++) {
        char title[32];
        kedge_error error = {0};
        kedge_query *query = NULL;
        write_title(r, "[\"item %06d\"]", title);
        bench_check(kedge_query_open(r->db, LOOKUP, sizeof LOOKUP - 1, title, strlen(title), &query,
                                     &error),
                    &error, "kedge_query_open");
        bench_check(kedge_query_next(query, &error), &error, "kedge_query_next");
        must(kedge_query_next(query, &error) == KEDGE_DONE, "a title was found twice");
        kedge_query_close(query);
    }
    return (bench_cpu_ms() - start) / LOOKUPS;
}

/* The same index in the same file: prepared, stepped and finalized. */
static double lookup_raw(reads *r)
{
    static const char sql[] = "SELECT id FROM item INDEXED BY \"kedge index by_title\""
                              " WHERE collection = 'notes' AND value ->> 'title' = ?1";
    double start = bench_cpu_ms();
    for (int i = 0; i < LOOKUPS; i++) {
        char title[32];
        sqlite3_stmt *find = NULL;
        write_title(r, "item %06d", title);
        must(sqlite3_prepare_v2(r->raw, sql, -1, &find, NULL) == SQLITE_OK, sqlite3_errmsg(r->raw));
        sqlite3_bind_text(find, 1, title, -1, SQLITE_STATIC);
        must(sqlite3_step(find) == SQLITE_ROW && sqlite3_step(find) == SQLITE_DONE,
             "raw SQLite did not find a title");
        sqlite3_finalize(find);
    }
    return (bench_cpu_ms() - start) / LOOKUPS;
}

static bench_row look_up(reads *r)
{
    double values[ROUNDS];
    double floors[ROUNDS];
    kedge_error error = {0};
    const char *paths[] = {"title"};
    bench_check(kedge_index(r->db, "by_title", "notes", paths, 1, &error), &error, "kedge_index");
    for (int round = 0; round < ROUNDS; round++) {
        values[round] = lookup_ours(r);
        floors[round] = lookup_raw(r);
    }
    double value = bench_median(values, ROUNDS);
    double floor = bench_median(floors, ROUNDS);
    return (bench_row){.name = "filter of 100,000 by a declared index (floor: raw)",
                       .value = value,
                       .unit = "ms",
                       .floor = floor,
                       .ratio = value / floor,
                       .target = 1,
                       .target_is_ceiling = true};
}

static bench_row compare(reads *r, const char *name, block ours, block floor, double target)
{
    double values[ROUNDS];
    double floors[ROUNDS];
    double ratios[ROUNDS];
    (void)ours(r);
    (void)floor(r);
    for (int round = 0; round < ROUNDS; round++) {
        values[round] = ours(r);
        floors[round] = floor(r);
        ratios[round] = values[round] / floors[round];
    }
    return (bench_row){.name = name,
                       .value = bench_median(values, ROUNDS),
                       .unit = "1/s",
                       .floor = bench_median(floors, ROUNDS),
                       .ratio = bench_median(ratios, ROUNDS),
                       .target = target,
                       .target_is_ratio = true,
                       .see = BENCH_SEE_SPEED};
}

size_t bench_reads(bench_row *rows)
{
    reads r = {0};
    open_both(&r);
    rows[0] = compare(&r, "get by id (floor: raw SQLite, unchecked)", get_ours, get_raw, 0.8);
    rows[1] =
        compare(&r, "scan of 100,000 (floor: raw SQLite, unchecked)", scan_ours, scan_raw, 0.95);
    rows[2] = compare(&r, "query, a filter on JSON (floor: raw, unchecked)", filter_ours,
                      filter_raw, 0.7);
    rows[3] = compare(&r, "check of rows in a scan (floor: a scan without)", scan_raw_checked,
                      scan_raw, 0.65);
    rows[4] = look_up(&r);
    close_both(&r);
    return 5;
}
