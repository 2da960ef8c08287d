/* The messages of the queue: writing, and reading what may be anything. */
#include "backend/queued/message.h"

#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "common/utf8.h"

#include <string.h>

#define ID_BYTES 16

kedge_project_ref kedge_message_ref(const kedge_message *message)
{
    return (kedge_project_ref){kedge_bytes_of(message->organization),
                               kedge_bytes_of(message->project)};
}

kedge_key kedge_message_group(const kedge_project_ref *ref)
{
    kedge_key key = kedge_key_partition(ref);
    if (key.size <= KEDGE_QUEUE_GROUP_BYTES_MAX) return key;
    kedge_key hashed = {.size = KEDGE_SHA256_HEX - 1};
    kedge_sha256_hex(kedge_key_bytes(&key), hashed.text);
    return hashed;
}

bool kedge_message_is_plain(kedge_bytes text)
{
    if (!kedge_bytes_are_utf8(text)) return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r') return false;
        bool noncharacter = byte == 0xEF && (unsigned char)text.data[i + 1] == 0xBF &&
                            (unsigned char)text.data[i + 2] >= 0xBE;
        if (noncharacter) return false;
    }
    return true;
}

/* ---- writing ---- */

static void write_member(kedge_json_writer *writer, const char *name, const char *text)
{
    kedge_json_key(writer, name);
    kedge_json_chars(writer, text);
}

void kedge_message_write(const kedge_environment *environment, const kedge_message *message,
                         kedge_buffer *out)
{
    char id[2 * ID_BYTES + 1];
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "format");
    kedge_json_integer(&writer, KEDGE_MESSAGE_FORMAT);
    write_member(&writer, "organization", message->organization);
    write_member(&writer, "project", message->project);
    if (message->claim[0] != '\0') {
        write_member(&writer, "claim", message->claim);
    } else {
        kedge_random_hex(environment, ID_BYTES, id);
        write_member(&writer, "id", id);
        write_member(&writer, "user", message->user);
        write_member(&writer, "role", message->role);
        kedge_json_key(&writer, "push");
        kedge_json_raw(&writer, message->push);
    }
    kedge_json_end_object(&writer);
}

/* ---- reading ---- */

static bool read_name(kedge_bytes object, const char *name, char out[KEDGE_MESSAGE_NAME_SIZE])
{
    return kedge_json_member_chars(object, name, out, KEDGE_MESSAGE_NAME_SIZE) &&
           kedge_check_name(name, kedge_bytes_of(out), NULL) == KEDGE_OK;
}

static bool read_claim(kedge_bytes value, char out[KEDGE_SHA256_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    return kedge_json_to_chars(value, out, KEDGE_SHA256_HEX) &&
           kedge_hex_decode(kedge_bytes_of(out), hash, sizeof hash);
}

static bool read_members(kedge_bytes object, kedge_message *message)
{
    int64_t format;
    kedge_bytes claim;
    if (!kedge_json_member_integer(object, "format", &format) || format != KEDGE_MESSAGE_FORMAT ||
        !read_name(object, "organization", message->organization) ||
        !read_name(object, "project", message->project)) {
        return false;
    }
    if (kedge_json_member(object, "claim", &claim)) return read_claim(claim, message->claim);
    return kedge_json_member_chars(object, "user", message->user, sizeof message->user) &&
           kedge_json_member_chars(object, "role", message->role, sizeof message->role) &&
           kedge_json_member(object, "push", &message->push) &&
           kedge_json_type_of(message->push) == KEDGE_JSON_OBJECT;
}

kedge_status kedge_message_read(kedge_bytes text, kedge_message *message, kedge_error *error)
{
    kedge_bytes object;
    kedge_bytes rest;
    kedge_message read = {.push = {NULL, 0}};
    bool whole = kedge_json_skip(text, &object, &rest) &&
                 kedge_json_type_of(object) == KEDGE_JSON_OBJECT && rest.size == 0;
    if (!whole || !read_members(object, &read)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "message-unreadable",
                          "the message is not one that this backend makes");
    }
    *message = read;
    return KEDGE_OK;
}
