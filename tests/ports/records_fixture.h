/* What the contract of the records port is tested with: short forms of its calls, and the tables of
 * implementations that every test runs against: records_embedded.c, or records_dynamodb.c in a
 * program of its own. */
#ifndef KEDGE_TESTS_PORTS_RECORDS_FIXTURE_H
#define KEDGE_TESTS_PORTS_RECORDS_FIXTURE_H

#include "tests/ports/world.h"

/* One row an implementation. `close` may be NULL: then the port's own. */
typedef struct implementation {
    const char *name;
    kedge_status (*open)(world *around, kedge_records *records, kedge_error *error);
    void (*close)(kedge_records *records);
} implementation;

/* The table that the program was linked with; ends with {0}. */
extern const implementation records_implementations[];
/* The environment variable that names the engine of the table; NULL: it needs none. */
extern const char *const records_engine;

typedef struct fixture {
    world around;
    kedge_records records;
    kedge_error error;
} fixture;

kedge_record_key key_of(const char *partition, const char *sort);
kedge_attribute text_of(const char *name, const char *value);
kedge_attribute number_of(const char *name, int64_t value);
/* The binary attribute "b" of `size` bytes; at most KEDGE_RECORD_BYTES_MAX and one. */
kedge_attribute filling(size_t size);
kedge_record_write put_of(const char *partition, const char *sort,
                          const kedge_attribute *attributes, size_t count);
kedge_record_write delete_of(const char *partition, const char *sort);

kedge_status write_one(fixture *f, const kedge_record_write *write);
kedge_status transact(fixture *f, const kedge_record_write *writes, size_t count);
kedge_status get(fixture *f, const char *partition, const char *sort, kedge_record_set *set);
kedge_status query(fixture *f, const kedge_records_query *wanted, kedge_record_set *set);

/* Puts a record with one number attribute "n". */
void put_number(fixture *f, const char *partition, const char *sort, int64_t number);
/* The number "n" of a record; -1 when there is no such record. */
int64_t number_at(fixture *f, const char *partition, const char *sort);
/* Walks all pages of a query and asserts the sort keys (with `inverted`, the partition keys),
 * joined by spaces. */
void assert_pages_in_order(fixture *f, kedge_records_query wanted, const char *expected);

/* Opens the port in a fresh world before each test, and ends both after it. */
int records_start(void **state);
int records_end(void **state);
#define contract(test) cmocka_unit_test_setup_teardown(test, records_start, records_end)
/* Runs the tests against every implementation; what main returns. */
int records_run(const struct CMUnitTest *tests, size_t count);

#endif
