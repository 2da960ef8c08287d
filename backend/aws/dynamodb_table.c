/* The table: asking whether it is there and as it must be, and making it. */
#include "backend/aws/backoff.h"
#include "backend/aws/dynamodb_internal.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* ---- what must be ---- */

typedef struct key_part {
    bool of_index;
    const char *role; /* KeyType */
    const char *name; /* a string attribute */
} key_part;

static const key_part key_parts[] = {{false, "HASH", KEDGE_RECORDS_PARTITION},
                                     {false, "RANGE", KEDGE_RECORDS_SORT},
                                     {true, "HASH", KEDGE_RECORDS_INVERTED},
                                     {true, "RANGE", KEDGE_RECORDS_PARTITION}};

#define KEY_PARTS (sizeof key_parts / sizeof key_parts[0])

/* The element of a list of objects whose member `name` is `value`. */
static bool find(kedge_bytes object, const char *list, const char *name, const char *value,
                 kedge_bytes *element)
{
    kedge_bytes elements, candidate, member;
    if (!kedge_json_member(object, list, &elements)) return false;
    kedge_json_iterator each = kedge_json_iterate(elements);
    while (kedge_json_next_element(&each, &candidate)) {
        if (!kedge_json_member(candidate, name, &member)) continue;
        if (!kedge_json_text_equals(member, value)) continue;
        *element = candidate;
        return true;
    }
    return false;
}

/* One part of a key is what it must be; `found` gets "name (type)", or "none". */
static bool part_is_right(kedge_bytes table, kedge_bytes holder, const key_part *part,
                          char found[300])
{
    char name[256] = "", type[8] = "?";
    kedge_bytes key, definition;
    if (!find(holder, "KeySchema", "KeyType", part->role, &key) ||
        !kedge_json_member_chars(key, "AttributeName", name, sizeof name)) {
        snprintf(found, 300, "none");
        return false;
    }
    if (find(table, "AttributeDefinitions", "AttributeName", name, &definition))
        kedge_json_member_chars(definition, "AttributeType", type, sizeof type);
    snprintf(found, 300, "%s (%s)", name, type);
    return strcmp(name, part->name) == 0 && strcmp(type, "S") == 0;
}

static kedge_status check_schema(kedge_bytes table, const char *name, kedge_error *error)
{
    kedge_bytes index, projection, kind;
    char found[300];
    if (!find(table, "GlobalSecondaryIndexes", "IndexName", KEDGE_DYNAMODB_INDEX, &index))
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-table-schema",
                          "the table %s has no global index " KEDGE_DYNAMODB_INDEX
                          "; it must have one, with the keys " KEDGE_RECORDS_INVERTED
                          " and " KEDGE_RECORDS_PARTITION,
                          name);
    for (size_t i = 0; i < KEY_PARTS; i++) {
        const key_part *part = &key_parts[i];
        if (part_is_right(table, part->of_index ? index : table, part, found)) continue;
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-table-schema",
                          "the %s key of %sthe table %s is %s; it must be %s (S)",
                          strcmp(part->role, "HASH") == 0 ? "partition" : "sort",
                          part->of_index ? "the index " KEDGE_DYNAMODB_INDEX " of " : "", name,
                          found, part->name);
    }
    if (!kedge_json_member(index, "Projection", &projection) ||
        !kedge_json_member(projection, "ProjectionType", &kind) ||
        !kedge_json_text_equals(kind, "ALL"))
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-table-schema",
                          "the index " KEDGE_DYNAMODB_INDEX
                          " of the table %s does not project all attributes; it must",
                          name);
    return KEDGE_OK;
}

static kedge_status check_ready(kedge_bytes object, const char *member, const char *what,
                                const char *table, kedge_error *error)
{
    char state[64] = "";
    kedge_json_member_chars(object, member, state, sizeof state);
    if (strcmp(state, "ACTIVE") == 0 || strcmp(state, "UPDATING") == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-table-not-ready",
                      "the %s %s in DynamoDB is not ready: %s", what, table, state);
}

static kedge_status check_table(kedge_bytes response, const char *name, kedge_error *error)
{
    kedge_bytes table, index;
    if (!kedge_json_member(response, "Table", &table))
        return kedge_dynamodb_fail_response("it describes no table", error);
    kedge_status status = check_ready(table, "TableStatus", "table", name, error);
    if (status == KEDGE_OK) status = check_schema(table, name, error);
    if (status != KEDGE_OK) return status;
    find(table, "GlobalSecondaryIndexes", "IndexName", KEDGE_DYNAMODB_INDEX, &index);
    return check_ready(index, "IndexStatus", "index " KEDGE_DYNAMODB_INDEX " of the table", name,
                       error);
}

/* ---- requests ---- */

kedge_status kedge_dynamodb_table_run(kedge_aws_client *client, const char *table,
                                      const char *operation, const char *action, kedge_buffer *body,
                                      kedge_aws_response *response, kedge_error *error)
{
    kedge_dynamodb_request request = {.operation = operation,
                                      .action = action,
                                      .body = kedge_buffer_bytes(body),
                                      .response_bytes_max = kedge_dynamodb_response_max(0, 0)};
    kedge_status status = kedge_buffer_status(body, error);
    if (status == KEDGE_OK) status = kedge_dynamodb_send(client, table, &request, response, error);
    kedge_buffer_free(body);
    return status;
}

kedge_status kedge_dynamodb_describe(kedge_aws_client *client, const char *table,
                                     kedge_aws_response *response, kedge_error *error)
{
    kedge_buffer body = kedge_buffer_make(kedge_aws_client_environment(client)->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "TableName");
    kedge_json_chars(&writer, table);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_dynamodb_table_run(
        client, table, "DescribeTable", "dynamodb:DescribeTable", &body, response, error);
    if (status == KEDGE_OK || strcmp(response->code, "ResourceNotFoundException") != 0)
        return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "aws-table-missing",
                      "there is no DynamoDB table %s in the region %s; deploy the stack "
                      "there, or name another table or region",
                      table, kedge_aws_client_region(client));
}

kedge_status kedge_dynamodb_check(kedge_aws_client *client, const char *table, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_status status = kedge_dynamodb_describe(client, table, &response, error);
    if (status == KEDGE_OK) status = check_table(kedge_buffer_bytes(&response.body), table, error);
    kedge_aws_response_free(&response);
    return status;
}

static void write_key_schema(kedge_json_writer *writer, bool of_index)
{
    kedge_json_key(writer, "KeySchema");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < KEY_PARTS; i++) {
        if (key_parts[i].of_index != of_index) continue;
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "AttributeName");
        kedge_json_chars(writer, key_parts[i].name);
        kedge_json_key(writer, "KeyType");
        kedge_json_chars(writer, key_parts[i].role);
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
}

static void write_definitions(kedge_json_writer *writer)
{
    static const char *const names[] = {KEDGE_RECORDS_PARTITION, KEDGE_RECORDS_SORT,
                                        KEDGE_RECORDS_INVERTED};
    kedge_json_key(writer, "AttributeDefinitions");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "AttributeName");
        kedge_json_chars(writer, names[i]);
        kedge_json_key(writer, "AttributeType");
        kedge_json_chars(writer, "S");
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
}

static void write_index(kedge_json_writer *writer)
{
    kedge_json_key(writer, "GlobalSecondaryIndexes");
    kedge_json_begin_array(writer);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "IndexName");
    kedge_json_chars(writer, KEDGE_DYNAMODB_INDEX);
    write_key_schema(writer, true);
    kedge_json_key(writer, "Projection");
    kedge_json_raw(writer, KEDGE_BYTES("{\"ProjectionType\":\"ALL\"}"));
    kedge_json_end_object(writer);
    kedge_json_end_array(writer);
}

/* KEDGE_OK also when there is a table of that name already. */
static kedge_status ask_for_table(kedge_aws_client *client, const char *table, kedge_error *error)
{
    kedge_aws_response response = {0};
    kedge_buffer body = kedge_buffer_make(kedge_aws_client_environment(client)->allocator);
    kedge_json_writer writer = kedge_json_write(&body);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "TableName");
    kedge_json_chars(&writer, table);
    kedge_json_key(&writer, "BillingMode");
    kedge_json_chars(&writer, "PAY_PER_REQUEST");
    write_definitions(&writer);
    write_key_schema(&writer, false);
    write_index(&writer);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_dynamodb_table_run(client, table, "CreateTable",
                                                   "dynamodb:CreateTable", &body, &response, error);
    if (strcmp(response.code, "ResourceInUseException") == 0) status = KEDGE_OK;
    kedge_aws_response_free(&response);
    return status;
}

kedge_status kedge_dynamodb_create(kedge_aws_client *client, const char *table, kedge_error *error)
{
    const kedge_environment *environment = kedge_aws_client_environment(client);
    int64_t end_ms = environment->monotonic_ms(environment->context) + KEDGE_DYNAMODB_CREATE_MS;
    kedge_status status = ask_for_table(client, table, error);
    if (status != KEDGE_OK) return status;
    kedge_error cause = {0};
    for (uint32_t tries = 1;; tries++) {
        status = kedge_dynamodb_check(client, table, &cause);
        /* A table that was just made may not be found for a moment. */
        bool wait = status == KEDGE_UNAVAILABLE || status == KEDGE_NOT_FOUND;
        if (!wait || environment->monotonic_ms(environment->context) > end_ms) break;
        kedge_aws_pause(environment, tries);
    }
    if (status != KEDGE_OK && error != NULL) *error = cause;
    return status;
}
