/* Queries on DynamoDB.
 *
 * In the table, a query goes on after `after` by an ExclusiveStartKey, which DynamoDB refuses when
 * it is outside the bounds: then the bounds alone decide. In the index the key of a place has the
 * record's sort key in it, which the port's caller does not know; there `after` becomes a bound,
 * and the record that stands on it is left out. */
#include "backend/aws/dynamodb_internal.h"
#include "common/error.h"

typedef struct query_cursor {
    kedge_dynamodb *self;
    const kedge_records_query *query;
    kedge_bytes from;  /* inclusive; empty: none */
    kedge_bytes to;    /* inclusive; empty: none */
    kedge_bytes start; /* exclusive, of the table; empty: none */
    kedge_bytes skip;  /* of the index: the record to leave out; empty: none */
    kedge_record_page page;
    bool more;
    kedge_buffer resume; /* DynamoDB's own place to go on from, of an empty page */
} query_cursor;

/* ---- the range ---- */

/* False: the range is empty, and nothing needs to be asked. */
static bool set_range(query_cursor *at)
{
    const kedge_records_query *query = at->query;
    kedge_bytes after = query->after;
    at->from = query->sort_from;
    at->to = query->sort_to;
    bool down = query->descending;
    kedge_bytes near = down ? at->to : at->from;
    kedge_bytes far = down ? at->from : at->to;
    int sign = down ? -1 : 1;
    bool inside = near.size == 0 || sign * kedge_bytes_compare(after, near) >= 0;
    if (after.size > 0 && inside) {
        if (far.size > 0 && sign * kedge_bytes_compare(after, far) >= 0) return false;
        if (query->inverted) {
            *(down ? &at->to : &at->from) = after;
            at->skip = after;
        } else {
            at->start = after;
        }
    }
    return at->from.size == 0 || at->to.size == 0 || kedge_bytes_compare(at->from, at->to) <= 0;
}

/* ---- the request ---- */

static void write_value(kedge_json_writer *writer, const char *name, kedge_bytes value)
{
    if (value.size == 0) return;
    kedge_json_key(writer, name);
    kedge_dynamodb_write_text(writer, value);
}

static void write_range(const query_cursor *at, kedge_json_writer *writer)
{
    static const char *const conditions[2][2] = {
        {"#p = :p", "#p = :p AND #s <= :t"},
        {"#p = :p AND #s >= :f", "#p = :p AND #s BETWEEN :f AND :t"}};
    bool inverted = at->query->inverted;
    bool bounded = at->from.size > 0 || at->to.size > 0;
    kedge_json_key(writer, "KeyConditionExpression");
    kedge_json_chars(writer, conditions[at->from.size > 0][at->to.size > 0]);
    kedge_json_key(writer, "ExpressionAttributeNames");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "#p");
    kedge_json_chars(writer, inverted ? KEDGE_RECORDS_INVERTED : KEDGE_RECORDS_PARTITION);
    if (bounded) {
        kedge_json_key(writer, "#s");
        kedge_json_chars(writer, inverted ? KEDGE_RECORDS_PARTITION : KEDGE_RECORDS_SORT);
    }
    kedge_json_end_object(writer);
    kedge_json_key(writer, "ExpressionAttributeValues");
    kedge_json_begin_object(writer);
    write_value(writer, ":p", at->query->partition);
    write_value(writer, ":f", at->from);
    write_value(writer, ":t", at->to);
    kedge_json_end_object(writer);
}

static void write_start(const query_cursor *at, kedge_json_writer *writer)
{
    kedge_record_key start = {at->query->partition, at->start};
    if (at->start.size == 0 && at->resume.size == 0) return;
    kedge_json_key(writer, "ExclusiveStartKey");
    if (at->resume.size > 0)
        kedge_json_raw(writer, kedge_buffer_bytes(&at->resume));
    else
        kedge_dynamodb_write_key(writer, &start);
}

static void write_query(const query_cursor *at, kedge_json_writer *writer)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "TableName");
    kedge_json_chars(writer, at->self->table);
    if (at->query->inverted) {
        kedge_json_key(writer, "IndexName");
        kedge_json_chars(writer, KEDGE_DYNAMODB_INDEX);
    }
    write_range(at, writer);
    write_start(at, writer);
    kedge_json_key(writer, "ScanIndexForward");
    kedge_json_boolean(writer, !at->query->descending);
    kedge_json_key(writer, "ConsistentRead");
    kedge_json_boolean(writer, at->query->consistent);
    kedge_json_key(writer, "Limit");
    kedge_json_integer(writer, (int64_t)at->query->limit + (at->skip.size > 0 ? 1 : 0));
}

/* ---- the response ---- */

static kedge_bytes place_of(const query_cursor *at, const kedge_record *record)
{
    return at->query->inverted ? record->key.partition : record->key.sort;
}

/* The page's newest record is one that was asked for, and stands in order. */
static bool belongs(const query_cursor *at)
{
    const kedge_record *record = &at->page.records[at->page.count - 1];
    kedge_bytes group = at->query->inverted ? kedge_record_inverted(record) : record->key.partition;
    kedge_bytes place = place_of(at, record);
    if (!kedge_bytes_equal(group, at->query->partition)) return false;
    if (at->from.size > 0 && kedge_bytes_compare(place, at->from) < 0) return false;
    if (at->to.size > 0 && kedge_bytes_compare(place, at->to) > 0) return false;
    kedge_bytes before = at->page.count > 1 ? place_of(at, record - 1) : at->start;
    if (before.size == 0) return true;
    int order = kedge_bytes_compare(place, before) * (at->query->descending ? -1 : 1);
    return order > 0 || (order == 0 && at->query->inverted);
}

static void leave_out_skipped(query_cursor *at)
{
    const kedge_record *newest = &at->page.records[at->page.count - 1];
    if (at->skip.size == 0 || !kedge_bytes_equal(place_of(at, newest), at->skip)) return;
    at->page.bytes -= kedge_record_bytes(newest);
    at->page.count--;
}

static kedge_status read_page(query_cursor *at, kedge_bytes response, kedge_error *error)
{
    kedge_bytes items, item, last;
    if (!kedge_json_member(response, "Items", &items))
        return kedge_dynamodb_fail_response("it has no Items", error);
    kedge_json_iterator list = kedge_json_iterate(items);
    while (kedge_json_next_element(&list, &item)) {
        if (at->page.count == at->query->limit || at->page.bytes >= KEDGE_RECORDS_PAGE_BYTES) {
            at->more = true;
            return KEDGE_OK;
        }
        kedge_status status = kedge_dynamodb_read_item(item, &at->page, error);
        if (status != KEDGE_OK) return status;
        if (!belongs(at)) return kedge_dynamodb_fail_response("it holds another record", error);
        leave_out_skipped(at);
    }
    if (list.failed) return kedge_dynamodb_fail_response("it has no list of items", error);
    at->more = kedge_json_member(response, "LastEvaluatedKey", &last);
    if (!at->more || at->page.count > 0) return KEDGE_OK;
    kedge_buffer_clear(&at->resume);
    kedge_buffer_append_bytes(&at->resume, last);
    return kedge_buffer_status(&at->resume, error);
}

static kedge_status ask(query_cursor *at, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(at->self->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    write_query(at, &writer);
    kedge_dynamodb_request request = {.operation = "Query",
                                      .action = "dynamodb:Query",
                                      .response_bytes_max = kedge_dynamodb_response_max(
                                          KEDGE_DYNAMODB_PAGE_BYTES_MAX, at->query->limit)};
    kedge_status status = kedge_dynamodb_run(at->self, request, &writer, &response, error);
    if (status == KEDGE_OK) status = read_page(at, kedge_buffer_bytes(&response.body), error);
    kedge_aws_response_free(&response);
    return status;
}

/* An empty page of which there is more gives the caller no place to go on from. */
static kedge_status ask_until_some(query_cursor *at, kedge_error *error)
{
    for (uint32_t tries = 0; tries < KEDGE_DYNAMODB_TRIES_MAX; tries++) {
        kedge_status status = ask(at, error);
        if (status != KEDGE_OK || !at->more || at->page.count > 0) return status;
    }
    return kedge_dynamodb_fail_response("page after page is empty", error);
}

kedge_status kedge_dynamodb_query(void *context, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error)
{
    kedge_dynamodb *self = context;
    kedge_status status = kedge_records_query_check(query, error);
    if (status != KEDGE_OK) return status;
    query_cursor at = {.self = self,
                       .query = query,
                       .page = {.allocator = self->allocator},
                       .resume = kedge_buffer_make(self->allocator)};
    if (set_range(&at)) status = ask_until_some(&at, error);
    if (status == KEDGE_OK) kedge_record_page_finish(&at.page, at.more, set);
    kedge_record_page_free(&at.page);
    kedge_buffer_free(&at.resume);
    return status;
}
