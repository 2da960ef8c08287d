/* Short forms of the calls of the records port, and the run over all implementations. */
#include "tests/ports/records_fixture.h"

#include "tests/support/engines.h"

#include <stdio.h>
#include <string.h>

static const implementation *current;

/* ---- short forms ---- */

kedge_record_key key_of(const char *partition, const char *sort)
{
    return (kedge_record_key){kedge_bytes_of(partition), kedge_bytes_of(sort)};
}

kedge_attribute text_of(const char *name, const char *value)
{
    return (kedge_attribute){name, KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(value), 0};
}

kedge_attribute number_of(const char *name, int64_t value)
{
    return (kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = value};
}

kedge_record_write put_of(const char *partition, const char *sort,
                          const kedge_attribute *attributes, size_t count)
{
    return (kedge_record_write){.kind = KEDGE_WRITE_PUT,
                                .record = {key_of(partition, sort), attributes, count}};
}

kedge_record_write delete_of(const char *partition, const char *sort)
{
    return (kedge_record_write){.kind = KEDGE_WRITE_DELETE,
                                .record = {.key = key_of(partition, sort)}};
}

kedge_status write_one(fixture *f, const kedge_record_write *write)
{
    return f->records.vtable->write(f->records.self, write, &f->error);
}

kedge_status transact(fixture *f, const kedge_record_write *writes, size_t count)
{
    return f->records.vtable->transact(f->records.self, writes, count, &f->error);
}

void put_number(fixture *f, const char *partition, const char *sort, int64_t number)
{
    kedge_attribute attribute = number_of("n", number);
    kedge_record_write write = put_of(partition, sort, &attribute, 1);
    assert_ok(write_one(f, &write));
}

kedge_status get(fixture *f, const char *partition, const char *sort, kedge_record_set *set)
{
    kedge_record_key key = key_of(partition, sort);
    return f->records.vtable->get(f->records.self, &key, true, set, &f->error);
}

int64_t number_at(fixture *f, const char *partition, const char *sort)
{
    kedge_record_set set = {0};
    kedge_status status = get(f, partition, sort, &set);
    if (status == KEDGE_NOT_FOUND) return -1;
    assert_ok(status);
    int64_t number = kedge_record_attribute(&set.records[0], "n")->number;
    kedge_record_set_free(&set);
    return number;
}

kedge_status query(fixture *f, const kedge_records_query *wanted, kedge_record_set *set)
{
    return f->records.vtable->query(f->records.self, wanted, set, &f->error);
}

void assert_pages_in_order(fixture *f, kedge_records_query wanted, const char *expected)
{
    char seen[2048] = "";
    size_t size = 0;
    char after[64];
    for (int page = 0; page < 1000; page++) {
        kedge_record_set set = {0};
        assert_ok(query(f, &wanted, &set));
        assert_true(set.count <= wanted.limit);
        for (size_t i = 0; i < set.count; i++) {
            kedge_record_key key = set.records[i].key;
            kedge_bytes shown = wanted.inverted ? key.partition : key.sort;
            size += (size_t)snprintf(seen + size, sizeof seen - size, "%s%.*s",
                                     size == 0 ? "" : " ", (int)shown.size, shown.data);
            snprintf(after, sizeof after, "%.*s", (int)shown.size, shown.data);
            wanted.after = kedge_bytes_of(after);
        }
        bool more = set.more;
        kedge_record_set_free(&set);
        if (!more) break;
    }
    assert_string_equal(seen, expected);
}

static char large[KEDGE_RECORD_BYTES_MAX + 1];

kedge_attribute filling(size_t size)
{
    memset(large, 'x', sizeof large);
    return (kedge_attribute){"b", KEDGE_ATTRIBUTE_BINARY, {large, size}, 0};
}

/* ---- running ---- */

int records_start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    *state = &f;
    kedge_status status = current->open(&f.around, &f.records, &f.error);
    if (status != KEDGE_OK) print_error("%s: %s\n", current->name, f.error.message);
    return status == KEDGE_OK ? 0 : -1;
}

int records_end(void **state)
{
    fixture *f = *state;
    if (current->close != NULL)
        current->close(&f->records);
    else
        f->records.vtable->close(f->records.self);
    world_end(&f->around);
    return 0;
}

int records_run(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    int missing = records_engine == NULL ? 0 : engines_missing(records_engine);
    if (missing != 0) return missing;
    for (const implementation *row = records_implementations; row->name != NULL; row++) {
        current = row;
        failed += _cmocka_run_group_tests(current->name, tests, count, NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
