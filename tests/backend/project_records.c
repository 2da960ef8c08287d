/* The records of a project as they stand in the store, beside every backend. */
#include "tests/backend/project_records.h"

/* cmocka.h wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/versioned/model/layout.h"

#include <string.h>

void project_records_visit(const kedge_records *records, const kedge_project_ref *ref,
                           project_record_visit visit, void *context)
{
    kedge_key partition = kedge_key_partition(ref);
    kedge_key after = {.size = 0};
    bool more = true;
    kedge_error error = {0};
    while (more) {
        kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                     .after = kedge_key_bytes(&after),
                                     .limit = 1000,
                                     .consistent = true};
        kedge_record_set set = {0};
        assert_int_equal(records->vtable->query(records->self, &query, &set, &error), KEDGE_OK);
        for (size_t i = 0; i < set.count; i++) {
            kedge_bytes sort = set.records[i].key.sort;
            memcpy(after.text, sort.data, sort.size);
            after.size = sort.size;
            visit(records, &set.records[i], context);
        }
        more = set.more;
        kedge_record_set_free(&set);
    }
}

typedef struct counting {
    kedge_bytes prefix;
    size_t count;
} counting;

static void count_record(const kedge_records *records, const kedge_record *record, void *context)
{
    (void)records;
    counting *found = context;
    if (kedge_bytes_start_with(record->key.sort, found->prefix)) found->count++;
}

size_t project_records_count(const kedge_records *records, const kedge_project_ref *ref,
                             const char *prefix)
{
    counting found = {kedge_bytes_of(prefix), 0};
    project_records_visit(records, ref, count_record, &found);
    return found.count;
}

static void delete_if_derived(const kedge_records *records, const kedge_record *record,
                              void *context)
{
    (void)context;
    if (kedge_bytes_start_with(record->key.sort, KEDGE_BYTES("ProjectVersion#"))) return;
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = record->key}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

void project_records_delete_derived(const kedge_records *records, const kedge_project_ref *ref)
{
    project_records_visit(records, ref, delete_if_derived, NULL);
}
