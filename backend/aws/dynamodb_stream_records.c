/* Records of a DynamoDB stream as changes, as GetRecords gives them and Lambda brings them. */
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream_internal.h"
#include "common/error.h"

#include <string.h>

static bool read_kind(kedge_bytes record, kedge_stream_change_kind *kind)
{
    kedge_bytes name;
    if (!kedge_json_member(record, "eventName", &name)) return false;
    if (kedge_json_text_equals(name, "INSERT"))
        *kind = KEDGE_STREAM_INSERT;
    else if (kedge_json_text_equals(name, "MODIFY"))
        *kind = KEDGE_STREAM_MODIFY;
    else if (kedge_json_text_equals(name, "REMOVE"))
        *kind = KEDGE_STREAM_REMOVE;
    else
        return false;
    return true;
}

static kedge_status fail_record(kedge_error *error)
{
    return kedge_dynamodb_fail_response("a record of the stream lacks what it must have", error);
}

bool kedge_dynamodb_change_may_have(const kedge_error *refusal)
{
    return strcmp(refusal->code, "json-nul") == 0 || strcmp(refusal->code, "json-too-deep") == 0;
}

/* KEDGE_CORRUPT: the records port cannot have written it. */
static kedge_status read_item(kedge_bytes item, kedge_stream_page *page, kedge_error *error)
{
    kedge_error refusal = {0};
    kedge_status status =
        kedge_json_check(item, KEDGE_LIMIT_JSON_DEPTH, page->records.allocator, &refusal);
    if (status == KEDGE_OK) return kedge_dynamodb_read_item(item, &page->records, error);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return kedge_dynamodb_change_may_have(&refusal)
               ? kedge_fail(error, KEDGE_CORRUPT, KEDGE_RECORD_CORRUPT, "%s", refusal.message)
               : kedge_dynamodb_fail_response(refusal.message, error);
}

/* The keys of a foreign item. When these are foreign, too, they are question marks, which are no
 * keys of Kedge. */
static kedge_status read_foreign(kedge_bytes change, kedge_stream_page *page, kedge_error *error)
{
    static const char unknown[] = "{\"" KEDGE_RECORDS_PARTITION "\":{\"S\":\"?\"},"
                                  "\"" KEDGE_RECORDS_SORT "\":{\"S\":\"?\"}}";
    kedge_bytes keys;
    kedge_error failure = {0};
    if (!kedge_json_member(change, "Keys", &keys)) return fail_record(error);
    kedge_status status = read_item(keys, page, &failure);
    if (status == KEDGE_CORRUPT) return read_item(KEDGE_BYTES(unknown), page, error);
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

/* The record of a change. Of an item that the records port cannot have written the key alone: who
 * reads the stream must get past it. */
static kedge_status read_changed(kedge_bytes change, kedge_stream_change_kind *kind,
                                 kedge_stream_page *page, kedge_error *error)
{
    kedge_bytes item;
    kedge_error failure = {0};
    bool removed = *kind == KEDGE_STREAM_REMOVE;
    if (!kedge_json_member(change, removed ? "Keys" : "NewImage", &item)) return fail_record(error);
    kedge_status status = read_item(item, page, &failure);
    if (status == KEDGE_CORRUPT) {
        *kind = KEDGE_STREAM_FOREIGN;
        return read_foreign(change, page, error);
    }
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

static kedge_status read_record(kedge_bytes record, const kedge_stream_query *query,
                                kedge_stream_page *page, kedge_error *error)
{
    kedge_bytes change, created;
    kedge_stream_change_kind kind;
    double created_s = 0;
    char sequence[KEDGE_STREAM_POSITION_BYTES_MAX + 1];
    if (!read_kind(record, &kind) || !kedge_json_member(record, "dynamodb", &change) ||
        !kedge_json_member_chars(change, "SequenceNumber", sequence, sizeof sequence) ||
        sequence[0] == '\0')
        return fail_record(error);
    if (kedge_json_member(change, "ApproximateCreationDateTime", &created))
        kedge_json_to_number(created, &created_s);
    if (!(created_s >= 0 && created_s < 1e12)) created_s = 0;
    kedge_status status = read_changed(change, &kind, page, error);
    return status == KEDGE_OK
               ? kedge_stream_page_add(page, query, kind, (int64_t)(created_s * 1000),
                                       kedge_bytes_of(sequence), error)
               : status;
}

kedge_status kedge_dynamodb_stream_records(kedge_bytes response, const kedge_stream_query *query,
                                           kedge_stream_page *page, kedge_error *error)
{
    kedge_bytes list, record;
    if (!kedge_json_member(response, "Records", &list))
        return kedge_dynamodb_fail_response("it has no Records", error);
    kedge_json_iterator each = kedge_json_iterate(list);
    while (kedge_json_next_element(&each, &record)) {
        kedge_status status = read_record(record, query, page, error);
        if (status != KEDGE_OK) return status;
    }
    return each.failed ? kedge_dynamodb_fail_response("it has no list of records", error)
                       : KEDGE_OK;
}

kedge_status kedge_dynamodb_change_read(const kedge_allocator *allocator, kedge_bytes record,
                                        kedge_stream_batch *batch, kedge_error *error)
{
    const kedge_stream_query every = {.limit = 1};
    kedge_stream_page page = {.records = {.allocator = allocator}};
    kedge_status status = read_record(record, &every, &page, error);
    if (status == KEDGE_OK) status = kedge_stream_page_finish(&page, &every, false, batch, error);
    kedge_stream_page_free(&page);
    return status;
}
