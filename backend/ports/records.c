/* The records port: what its headers promise for every implementation. */
#include "backend/ports/records_support.h"
#include "common/error.h"
#include "common/utf8.h"

#include <string.h>

const kedge_attribute *kedge_record_attribute(const kedge_record *record, const char *name)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        if (strcmp(record->attributes[i].name, name) == 0) return &record->attributes[i];
    }
    return NULL;
}

void kedge_record_set_free(kedge_record_set *set)
{
    if (set->memory_free != NULL) set->memory_free(set->memory);
    *set = (kedge_record_set){0};
}

kedge_bytes kedge_record_inverted(const kedge_record *record)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, KEDGE_RECORDS_INVERTED);
    return attribute == NULL ? (kedge_bytes){0} : attribute->bytes;
}

static size_t attribute_bytes(const kedge_attribute *attribute)
{
    bool number = attribute->type == KEDGE_ATTRIBUTE_NUMBER;
    return strlen(attribute->name) + (number ? KEDGE_RECORD_NUMBER_BYTES : attribute->bytes.size);
}

size_t kedge_record_bytes(const kedge_record *record)
{
    size_t bytes = record->key.partition.size + record->key.sort.size;
    for (size_t i = 0; i < record->attribute_count; i++)
        bytes += attribute_bytes(&record->attributes[i]);
    return bytes;
}

/* ---- checks ---- */

/* UTF-8 without NUL, which the JSON of a store may not carry. */
static bool is_text(kedge_bytes bytes)
{
    if (bytes.size > 0 && memchr(bytes.data, '\0', bytes.size) != NULL) return false;
    return kedge_bytes_are_utf8(bytes);
}

static kedge_status check_key_part(const char *what, kedge_bytes part, size_t size_max,
                                   kedge_error *error)
{
    if (part.size == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-key", "the %s is empty", what);
    if (part.size > size_max)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "key-too-large",
                          "the %s is %zu bytes long; at most %zu are allowed", what, part.size,
                          size_max);
    if (!is_text(part))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-key",
                          "the %s is not UTF-8 without NUL", what);
    return KEDGE_OK;
}

kedge_status kedge_record_key_check(const kedge_record_key *key, kedge_error *error)
{
    kedge_status status =
        check_key_part("partition key", key->partition, KEDGE_RECORD_PARTITION_BYTES_MAX, error);
    if (status != KEDGE_OK) return status;
    return check_key_part("sort key", key->sort, KEDGE_RECORD_SORT_BYTES_MAX, error);
}

static kedge_status check_attribute_name(const char *name, kedge_error *error)
{
    kedge_bytes bytes = kedge_bytes_of(name);
    if (bytes.size == 0 || bytes.size > KEDGE_RECORD_NAME_BYTES_MAX)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                          "an attribute's name has %zu bytes; 1 to %d are allowed", bytes.size,
                          KEDGE_RECORD_NAME_BYTES_MAX);
    if (!kedge_bytes_are_utf8(bytes))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                          "an attribute's name is not UTF-8");
    if (strcmp(name, KEDGE_RECORDS_PARTITION) == 0 || strcmp(name, KEDGE_RECORDS_SORT) == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                          "an attribute is called %s, as only a key may be", name);
    return KEDGE_OK;
}

static kedge_status check_attribute(const kedge_attribute *attribute, kedge_error *error)
{
    kedge_status status = check_attribute_name(attribute->name, error);
    if (status != KEDGE_OK) return status;
    if (attribute->type == KEDGE_ATTRIBUTE_TEXT && !is_text(attribute->bytes))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                          "the text attribute %s is not UTF-8 without NUL", attribute->name);
    if (strcmp(attribute->name, KEDGE_RECORDS_INVERTED) != 0) return KEDGE_OK;
    if (attribute->type != KEDGE_ATTRIBUTE_TEXT)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                          "the attribute " KEDGE_RECORDS_INVERTED " is not a text");
    return check_key_part("value of the attribute " KEDGE_RECORDS_INVERTED, attribute->bytes,
                          KEDGE_RECORD_PARTITION_BYTES_MAX, error);
}

static kedge_status check_attributes(const kedge_record *record, kedge_error *error)
{
    if (record->attribute_count > KEDGE_RECORD_ATTRIBUTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-attributes",
                          "the record has %zu attributes; at most %d are allowed",
                          record->attribute_count, KEDGE_RECORD_ATTRIBUTES_MAX);
    for (size_t i = 0; i < record->attribute_count; i++) {
        const kedge_attribute *attribute = &record->attributes[i];
        kedge_status status = check_attribute(attribute, error);
        if (status != KEDGE_OK) return status;
        if (kedge_record_attribute(record, attribute->name) != attribute)
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-attribute",
                              "the record has two attributes %s", attribute->name);
    }
    size_t bytes = kedge_record_bytes(record);
    if (bytes > KEDGE_RECORD_BYTES_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "record-too-large",
                          "the record has %zu bytes; at most %d are allowed", bytes,
                          KEDGE_RECORD_BYTES_MAX);
    return KEDGE_OK;
}

static kedge_status check_write(const kedge_record_write *write, kedge_error *error)
{
    kedge_status status = kedge_record_key_check(&write->record.key, error);
    if (status == KEDGE_OK && write->condition == KEDGE_IF_EQUAL)
        status = check_attribute(&write->expected, error);
    if (status != KEDGE_OK) return status;
    if (write->kind == KEDGE_WRITE_PUT) return check_attributes(&write->record, error);
    if (write->kind == KEDGE_WRITE_CHECK && write->condition == KEDGE_IF_ANY)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-write",
                          "a check needs a condition");
    return KEDGE_OK;
}

kedge_status kedge_record_write_check(const kedge_record_write *write, kedge_error *error)
{
    if (write->kind == KEDGE_WRITE_CHECK)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-write",
                          "a check is only for a transaction");
    return check_write(write, error);
}

static bool same_key(const kedge_record_key *a, const kedge_record_key *b)
{
    return kedge_bytes_equal(a->sort, b->sort) && kedge_bytes_equal(a->partition, b->partition);
}

static kedge_status fail_same_key(const kedge_record_key *key, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "same-key-twice",
                      "the sort key %.*s is twice in one call", (int)key->sort.size,
                      key->sort.data);
}

static kedge_status check_count(const char *what, size_t count, size_t count_max,
                                kedge_error *error)
{
    if (count <= count_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-records",
                      "%s has %zu records; at most %zu are allowed", what, count, count_max);
}

/* Each write, and that no key stands twice. */
static kedge_status check_writes(const kedge_record_write *writes, size_t count, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        const kedge_record *record = &writes[i].record;
        status = check_write(&writes[i], error);
        for (size_t j = 0; j < i && status == KEDGE_OK; j++) {
            if (same_key(&record->key, &writes[j].record.key))
                status = fail_same_key(&record->key, error);
        }
    }
    return status;
}

static size_t write_bytes(const kedge_record_write *write)
{
    const kedge_record_key *key = &write->record.key;
    return write->kind == KEDGE_WRITE_PUT ? kedge_record_bytes(&write->record)
                                          : key->partition.size + key->sort.size;
}

kedge_status kedge_records_transact_check(const kedge_record_write *writes, size_t count,
                                          kedge_error *error)
{
    kedge_status status = check_count("the transaction", count, KEDGE_TRANSACT_WRITES_MAX, error);
    size_t bytes = 0;
    if (status == KEDGE_OK) status = check_writes(writes, count, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        bytes += write_bytes(&writes[i]);
    if (status == KEDGE_OK && bytes > KEDGE_TRANSACT_BYTES_MAX)
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "transaction-too-large",
                            "the transaction has %zu bytes; at most %d are allowed", bytes,
                            KEDGE_TRANSACT_BYTES_MAX);
    return status;
}

kedge_status kedge_records_put_many_check(const kedge_record_write *writes, size_t count,
                                          kedge_error *error)
{
    kedge_status status = check_count("the batch", count, KEDGE_PUT_MANY_MAX, error);
    if (status == KEDGE_OK) status = check_writes(writes, count, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        if (writes[i].kind == KEDGE_WRITE_PUT && writes[i].condition == KEDGE_IF_ANY) continue;
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-write",
                            "a batch has only puts without conditions");
    }
    return status;
}

kedge_status kedge_records_batch_check(const kedge_record_key *keys, size_t count,
                                       kedge_error *error)
{
    kedge_status status = check_count("the batch", count, KEDGE_BATCH_GET_KEYS_MAX, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = kedge_record_key_check(&keys[i], error);
        for (size_t j = 0; j < i && status == KEDGE_OK; j++) {
            if (same_key(&keys[i], &keys[j])) status = fail_same_key(&keys[i], error);
        }
    }
    return status;
}

static kedge_status check_bound(const char *what, kedge_bytes bound, kedge_error *error)
{
    if (bound.size == 0) return KEDGE_OK;
    return check_key_part(what, bound, KEDGE_RECORD_SORT_BYTES_MAX, error);
}

kedge_status kedge_records_query_check(const kedge_records_query *query, kedge_error *error)
{
    kedge_status status = check_key_part(query->inverted ? "inverted key" : "partition key",
                                         query->partition, KEDGE_RECORD_PARTITION_BYTES_MAX, error);
    if (status == KEDGE_OK) status = check_bound("first sort key", query->sort_from, error);
    if (status == KEDGE_OK) status = check_bound("last sort key", query->sort_to, error);
    if (status == KEDGE_OK) status = check_bound("sort key to start after", query->after, error);
    if (status != KEDGE_OK) return status;
    if (query->limit == 0 || query->limit > KEDGE_RECORDS_QUERY_MAX)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-limit",
                          "a query's limit is %u; 1 to %d are allowed", query->limit,
                          KEDGE_RECORDS_QUERY_MAX);
    if (query->inverted && query->consistent)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-query",
                          "a query of the inverted index cannot be consistent");
    return KEDGE_OK;
}

/* ---- ranges ---- */

/* The smallest key above `key` is `key` and a NUL. */
static kedge_bytes just_above(kedge_bytes key, char *storage)
{
    memcpy(storage, key.data, key.size);
    storage[key.size] = '\0';
    return (kedge_bytes){storage, key.size + 1};
}

void kedge_records_range_make(const kedge_records_query *query, kedge_records_range *range)
{
    bool has_after = query->after.size > 0;
    range->lower = query->sort_from;
    /* 0xff stands above every UTF-8 key. */
    range->upper = query->sort_to.size == 0 ? KEDGE_BYTES("\xff")
                                            : just_above(query->sort_to, range->upper_storage);
    if (has_after && query->descending) {
        if (kedge_bytes_compare(query->after, range->upper) < 0) range->upper = query->after;
    } else if (has_after && kedge_bytes_compare(query->after, range->lower) >= 0) {
        range->lower = just_above(query->after, range->lower_storage);
    }
}

/* ---- many puts ---- */

/* How many of the writes, from the first on, one transaction takes. */
static size_t transaction_part(const kedge_record_write *writes, size_t count)
{
    size_t taken = 0;
    size_t bytes = 0;
    while (taken < count && taken < KEDGE_TRANSACT_WRITES_MAX) {
        bytes += write_bytes(&writes[taken]);
        if (taken > 0 && bytes > KEDGE_TRANSACT_BYTES_MAX) break;
        taken++;
    }
    return taken;
}

kedge_status kedge_records_put_in_order(const kedge_records *records,
                                        const kedge_record_write *writes, size_t count,
                                        kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t at = 0; at < count && status == KEDGE_OK;) {
        size_t part = transaction_part(writes + at, count - at);
        status = records->vtable->transact(records->self, writes + at, part, error);
        at += part;
    }
    return status;
}

kedge_status kedge_records_put_all(const kedge_records *records, const kedge_record_write *writes,
                                   size_t count, kedge_error *error)
{
    if (records->vtable->put_many == NULL)
        return kedge_records_put_in_order(records, writes, count, error);
    kedge_status status = KEDGE_OK;
    for (size_t at = 0; at < count && status == KEDGE_OK;) {
        size_t part = count - at < KEDGE_PUT_MANY_MAX ? count - at : KEDGE_PUT_MANY_MAX;
        status = records->vtable->put_many(records->self, writes + at, part, error);
        at += part;
    }
    return status;
}
