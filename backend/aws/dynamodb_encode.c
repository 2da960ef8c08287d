/* Keys, records and conditions as DynamoDB's JSON. Names stand after '#', so that reserved words
 * do no harm; values are typed: {"S":…}, {"B":…} as base64, {"N":"…"}. */
#include "backend/aws/dynamodb_internal.h"
#include "common/base64.h"

#include <inttypes.h>
#include <stdio.h>

void kedge_dynamodb_write_text(kedge_json_writer *writer, kedge_bytes text)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "S");
    kedge_json_text(writer, text);
    kedge_json_end_object(writer);
}

static void write_binary(kedge_json_writer *writer, kedge_bytes bytes)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "B");
    kedge_json_raw(writer, KEDGE_BYTES("\""));
    kedge_base64_encode(bytes, writer->buffer);
    kedge_buffer_append_byte(writer->buffer, '"');
    kedge_json_end_object(writer);
}

static void write_number(kedge_json_writer *writer, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "N");
    kedge_json_chars(writer, text);
    kedge_json_end_object(writer);
}

static void write_value(kedge_json_writer *writer, const kedge_attribute *attribute)
{
    switch (attribute->type) {
    case KEDGE_ATTRIBUTE_TEXT:
        kedge_dynamodb_write_text(writer, attribute->bytes);
        return;
    case KEDGE_ATTRIBUTE_BINARY:
        write_binary(writer, attribute->bytes);
        return;
    case KEDGE_ATTRIBUTE_NUMBER:
        write_number(writer, attribute->number);
        return;
    }
}

static void write_key_members(kedge_json_writer *writer, const kedge_record_key *key)
{
    kedge_json_key(writer, KEDGE_RECORDS_PARTITION);
    kedge_dynamodb_write_text(writer, key->partition);
    kedge_json_key(writer, KEDGE_RECORDS_SORT);
    kedge_dynamodb_write_text(writer, key->sort);
}

void kedge_dynamodb_write_key(kedge_json_writer *writer, const kedge_record_key *key)
{
    kedge_json_begin_object(writer);
    write_key_members(writer, key);
    kedge_json_end_object(writer);
}

void kedge_dynamodb_write_item(kedge_json_writer *writer, const kedge_record *record)
{
    kedge_json_begin_object(writer);
    write_key_members(writer, &record->key);
    for (size_t i = 0; i < record->attribute_count; i++) {
        kedge_json_key(writer, record->attributes[i].name);
        write_value(writer, &record->attributes[i]);
    }
    kedge_json_end_object(writer);
}

static void write_condition(kedge_json_writer *writer, const kedge_record_write *write)
{
    if (write->condition == KEDGE_IF_ANY) return;
    bool equal = write->condition == KEDGE_IF_EQUAL;
    kedge_json_key(writer, "ConditionExpression");
    kedge_json_chars(writer, equal ? "#n = :v" : "attribute_not_exists(#n)");
    kedge_json_key(writer, "ExpressionAttributeNames");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "#n");
    kedge_json_chars(writer, equal ? write->expected.name : KEDGE_RECORDS_PARTITION);
    kedge_json_end_object(writer);
    if (!equal) return;
    kedge_json_key(writer, "ExpressionAttributeValues");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, ":v");
    write_value(writer, &write->expected);
    kedge_json_end_object(writer);
}

void kedge_dynamodb_write_members(kedge_json_writer *writer, const char *table,
                                  const kedge_record_write *write)
{
    bool put = write->kind == KEDGE_WRITE_PUT;
    kedge_json_key(writer, "TableName");
    kedge_json_chars(writer, table);
    kedge_json_key(writer, put ? "Item" : "Key");
    if (put)
        kedge_dynamodb_write_item(writer, &write->record);
    else
        kedge_dynamodb_write_key(writer, &write->record.key);
    write_condition(writer, write);
}
