/* Messages between the port's form and SQS's.
 *
 * SQS takes ids of 1 to 128 letters, digits and ASCII punctuation, and bodies of Unicode's
 * characters without most controls; the port takes any bytes. A group or a deduplication name that
 * SQS would not take goes as "kedge.sha256." with its hash, and so does one that begins with
 * "kedge.", so that two names never become one. A group that was hashed travels in the attribute
 * "kedge.group". A body that SQS would not take goes as base64, and the attribute "kedge.encoding"
 * says so. */
#include "backend/aws/sqs_internal.h"
#include "common/base64.h"
#include "common/hash.h"
#include "common/utf8.h"

#include <stdio.h>
#include <string.h>

#define RESERVED           "kedge."
#define HASHED             RESERVED "sha256."
#define GROUP_ATTRIBUTE    RESERVED "group"
#define ENCODING_ATTRIBUTE RESERVED "encoding"
#define BASE64             "base64"
#define ID_SIZE            (KEDGE_QUEUE_GROUP_BYTES_MAX + 1)

_Static_assert(KEDGE_QUEUE_DEDUPLICATION_BYTES_MAX == KEDGE_QUEUE_GROUP_BYTES_MAX,
               "both are ids of SQS");

/* ---- what SQS takes ---- */

static bool is_id(kedge_bytes bytes)
{
    if (kedge_bytes_start_with(bytes, KEDGE_BYTES(RESERVED))) return false;
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] <= ' ' || bytes.data[i] > '~') return false;
    }
    return true;
}

/* One character that is there: x9, xA, xD, x20 to xD7FF, xE000 to xFFFD, x10000 to x10FFFF. */
static bool is_text_character(const char *at, size_t size)
{
    unsigned char first = (unsigned char)at[0];
    if (size == 1) return first >= ' ' || first == '\t' || first == '\n' || first == '\r';
    return size != 3 || first != 0xef || memcmp(at, "\xef\xbf\xbe", 3) < 0;
}

static bool is_text(kedge_bytes bytes)
{
    for (size_t i = 0; i < bytes.size;) {
        size_t size = kedge_utf8_sequence(bytes.data + i, bytes.size - i);
        if (size == 0 || !is_text_character(bytes.data + i, size)) return false;
        i += size;
    }
    return true;
}

/* ---- writing ---- */

static void write_id(kedge_bytes name, char id[ID_SIZE])
{
    if (is_id(name)) {
        memcpy(id, name.data, name.size);
        id[name.size] = '\0';
        return;
    }
    memcpy(id, HASHED, sizeof HASHED);
    kedge_sha256_hex(name, id + sizeof HASHED - 1);
}

/* `size` gets what SQS counts: name, type and value. */
static void write_attribute(kedge_json_writer *writer, const char *name, const char *type,
                            kedge_bytes value, size_t *size)
{
    bool binary = strcmp(type, "Binary") == 0;
    kedge_json_key(writer, name);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "DataType");
    kedge_json_chars(writer, type);
    kedge_json_key(writer, binary ? "BinaryValue" : "StringValue");
    kedge_json_text(writer, value);
    kedge_json_end_object(writer);
    *size += strlen(name) + strlen(type) + (binary ? value.size / 4 * 3 : value.size);
}

static void write_body(kedge_sqs_call *call, kedge_bytes body, bool encode, size_t *stored_size,
                       char md5[KEDGE_MD5_HEX])
{
    kedge_buffer text = kedge_buffer_make(call->parameters.allocator);
    if (encode) kedge_base64_encode(body, &text);
    if (text.no_memory) call->parameters.no_memory = true;
    kedge_bytes stored = encode ? kedge_buffer_bytes(&text) : body;
    kedge_json_key(&call->writer, "MessageBody");
    kedge_json_text(&call->writer, stored);
    kedge_md5_hex(stored, md5);
    *stored_size = stored.size;
    kedge_buffer_free(&text);
}

void kedge_sqs_message_write(kedge_sqs_call *call, kedge_bytes group, kedge_bytes deduplication,
                             kedge_bytes body, size_t *stored_size, char md5[KEDGE_MD5_HEX])
{
    char id[ID_SIZE];
    bool encode = !is_text(body), hash = !is_id(group);
    write_body(call, body, encode, stored_size, md5);
    write_id(group, id);
    kedge_sqs_text(call, "MessageGroupId", id);
    write_id(deduplication, id);
    kedge_sqs_text(call, "MessageDeduplicationId", id);
    if (!encode && !hash) return;
    kedge_json_key(&call->writer, "MessageAttributes");
    kedge_json_begin_object(&call->writer);
    if (hash) {
        kedge_buffer value = kedge_buffer_make(call->parameters.allocator);
        kedge_base64_encode(group, &value);
        if (value.no_memory) call->parameters.no_memory = true;
        write_attribute(&call->writer, GROUP_ATTRIBUTE, "Binary", kedge_buffer_bytes(&value),
                        stored_size);
        kedge_buffer_free(&value);
    }
    if (encode)
        write_attribute(&call->writer, ENCODING_ATTRIBUTE, "String", KEDGE_BYTES(BASE64),
                        stored_size);
    kedge_json_end_object(&call->writer);
}

static void write_attribute_again(kedge_json_writer *writer, const char *name, const char *type,
                                  const char *member, kedge_bytes value)
{
    if (value.size == 0) return;
    kedge_json_key(writer, name);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "DataType");
    kedge_json_chars(writer, type);
    kedge_json_key(writer, member);
    kedge_json_raw(writer, value);
    kedge_json_end_object(writer);
}

void kedge_sqs_message_write_again(kedge_sqs_call *call, const kedge_sqs_message *message,
                                   const char *deduplication)
{
    kedge_json_writer *writer = &call->writer;
    kedge_json_key(writer, "MessageBody");
    kedge_json_raw(writer, message->body);
    kedge_json_key(writer, "MessageGroupId");
    kedge_json_raw(writer, message->group_id);
    kedge_sqs_text(call, "MessageDeduplicationId", deduplication);
    if (message->group.size == 0 && message->encoding.size == 0) return;
    kedge_json_key(writer, "MessageAttributes");
    kedge_json_begin_object(writer);
    write_attribute_again(writer, GROUP_ATTRIBUTE, "Binary", "BinaryValue", message->group);
    write_attribute_again(writer, ENCODING_ATTRIBUTE, "String", "StringValue", message->encoding);
    kedge_json_end_object(writer);
}

/* ---- reading ---- */

static bool read_string(kedge_bytes object, const char *name, kedge_bytes *value)
{
    return kedge_json_member(object, name, value) &&
           kedge_json_type_of(*value) == KEDGE_JSON_STRING && value->size > 2;
}

/* A number that SQS writes as a string. */
static bool read_decimal(kedge_bytes attributes, const char *name, int64_t limit, int64_t *number)
{
    char text[24];
    if (!kedge_json_member_chars(attributes, name, text, sizeof text)) return false;
    return kedge_json_to_integer(kedge_bytes_of(text), number) && *number >= 0 && *number <= limit;
}

static void read_attribute(kedge_bytes attributes, const char *name, const char *member,
                           kedge_bytes *value)
{
    kedge_bytes attribute;
    if (attributes.size > 0 && kedge_json_member(attributes, name, &attribute) &&
        !read_string(attribute, member, value))
        *value = (kedge_bytes){0};
}

bool kedge_sqs_message_read(kedge_bytes value, kedge_sqs_message *message)
{
    kedge_bytes system, attributes = {0};
    int64_t count;
    *message = (kedge_sqs_message){0};
    if (!read_string(value, "MessageId", &message->id) ||
        !read_string(value, "ReceiptHandle", &message->handle) ||
        !read_string(value, "Body", &message->body) ||
        !read_string(value, "MD5OfBody", &message->body_md5) ||
        !kedge_json_member(value, "Attributes", &system) ||
        !read_string(system, "MessageGroupId", &message->group_id) ||
        !read_decimal(system, "SentTimestamp", INT64_MAX, &message->sent_ms) ||
        !read_decimal(system, "ApproximateReceiveCount", UINT32_MAX, &count))
        return false;
    message->receive_count = (uint32_t)count;
    (void)kedge_json_member_chars(system, "SequenceNumber", message->sequence,
                                  sizeof message->sequence);
    (void)kedge_json_member(value, "MessageAttributes", &attributes);
    read_attribute(attributes, GROUP_ATTRIBUTE, "BinaryValue", &message->group);
    read_attribute(attributes, ENCODING_ATTRIBUTE, "StringValue", &message->encoding);
    return true;
}

/* Puts the decoded text of a base64 string in its place; `start` is where the text begins. */
static bool undo_base64(kedge_buffer *memory, size_t start)
{
    kedge_bytes text = {memory->data + start, memory->size - start};
    size_t size = 0;
    char *room = kedge_buffer_reserve(memory, KEDGE_BASE64_DECODED_MAX(text.size) + 1);
    if (room == NULL) return false;
    text.data = memory->data + start;
    if (!kedge_base64_decode(text, room, &size)) return false;
    memmove(memory->data + start, room, size);
    memory->size = start + size;
    return size > 0;
}

/* The group's bytes to begin with; a raw one that cannot be read is what SQS calls it. */
static bool decode_group(const kedge_sqs_message *message, bool raw, kedge_buffer *memory)
{
    if (message->group.size > 0) {
        if (kedge_json_to_text(message->group, memory) && undo_base64(memory, 0)) return true;
        if (!raw) return false;
        kedge_buffer_truncate(memory, 0); /* and not forget a lack of memory */
    }
    return kedge_json_to_text(message->group_id, memory);
}

static bool has_md5(const kedge_sqs_message *message, kedge_bytes body)
{
    char md5[KEDGE_MD5_HEX];
    kedge_md5_hex(body, md5);
    return kedge_json_text_equals(message->body_md5, md5);
}

static bool decode_body(const kedge_sqs_message *message, bool raw, kedge_buffer *memory)
{
    size_t start = memory->size;
    if (!kedge_json_to_text(message->body, memory)) return false;
    if (raw) return true;
    if (!has_md5(message, (kedge_bytes){memory->data + start, memory->size - start})) return false;
    if (message->encoding.size == 0) return true;
    return kedge_json_text_equals(message->encoding, BASE64) && undo_base64(memory, start);
}

bool kedge_sqs_message_is_whole(const kedge_sqs_message *message, kedge_buffer *memory)
{
    kedge_buffer_clear(memory);
    return kedge_json_to_text(message->body, memory) &&
           has_md5(message, kedge_buffer_bytes(memory));
}

bool kedge_sqs_message_decode(const kedge_sqs_message *message, bool raw, kedge_buffer *memory,
                              kedge_queue_message *decoded)
{
    kedge_buffer_clear(memory);
    if (!decode_group(message, raw, memory)) return false;
    size_t group_size = memory->size;
    if (group_size > KEDGE_QUEUE_GROUP_BYTES_MAX || !decode_body(message, raw, memory))
        return false;
    *decoded = (kedge_queue_message){.group = {memory->data, group_size},
                                     .body = {memory->data + group_size, memory->size - group_size},
                                     .sent_ms = message->sent_ms,
                                     .receive_count = message->receive_count};
    return true;
}

/* ---- sending ---- */

kedge_status kedge_sqs_send(kedge_sqs_call *call, kedge_bytes md5, kedge_error *error)
{
    kedge_bytes stored;
    kedge_status status = kedge_sqs_run(call, &kedge_sqs_send_message, error);
    if (status == KEDGE_CONFLICT) {
        /* Ids and characters are right, so that these can only mean the size. */
        if (!call->response.earlier_unknown &&
            (kedge_sqs_parameter_is_invalid(call->response.code) ||
             kedge_sqs_code_is(call, "InvalidAttributeValue")))
            return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "message-too-large",
                              "SQS refused the message: %s", call->response.message);
        return kedge_sqs_refused(call, &kedge_sqs_send_message, error);
    }
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member(kedge_buffer_bytes(&call->response.body), "MD5OfMessageBody", &stored))
        return kedge_sqs_response_invalid(&kedge_sqs_send_message, error);
    char received[KEDGE_MD5_HEX];
    if (!kedge_json_to_chars(stored, received, sizeof received) ||
        !kedge_bytes_equal_text(md5, received))
        return kedge_fail(error, KEDGE_CORRUPT, "aws-message-damaged",
                          "SQS holds another body than the one that was sent");
    return KEDGE_OK;
}
