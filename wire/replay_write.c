/* Writing the entries of a log project; see replay.h. */
#include "wire/replay.h"

#include "common/assert.h"

#include <kedge/limits.h>

static void write_text(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    kedge_json_key(writer, name);
    kedge_json_text(writer, text);
}

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

static void write_decision(kedge_json_writer *writer, const kedge_wire_replay_mutation *mutation)
{
    static const char names[][10] = {[KEDGE_WIRE_REPLAY_REJECTED] = "rejected",
                                     [KEDGE_WIRE_REPLAY_DUPLICATE] = "duplicate",
                                     [KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED] = "duplicate"};
    if (mutation->decision == KEDGE_WIRE_REPLAY_OPEN) return;
    KEDGE_ASSERT((size_t)mutation->decision < sizeof names / sizeof names[0]);
    kedge_json_key(writer, "outcome");
    kedge_json_chars(writer, names[mutation->decision]);
    if (mutation->decision == KEDGE_WIRE_REPLAY_DUPLICATE) return;
    write_text(writer, "code", mutation->code);
    write_text(writer, "message", mutation->message);
}

/* The entry's body, its array of mutations and the mutation stand around the args. */
#define STORED_DEPTH (KEDGE_LIMIT_JSON_DEPTH - 3)

static void write_args(kedge_json_writer *writer, kedge_bytes args, bool stored)
{
    if (stored &&
        kedge_json_check(args, STORED_DEPTH, writer->buffer->allocator, NULL) != KEDGE_OK) {
        write_text(writer, "args_text", args);
        return;
    }
    kedge_json_key(writer, "args");
    kedge_json_raw(writer, args);
}

void kedge_wire_replay_mutation_write(kedge_json_writer *writer,
                                      const kedge_wire_replay_mutation *mutation, bool stored)
{
    char digest[KEDGE_DIGEST_HEX];
    KEDGE_ASSERT(mutation->id >= 1 && mutation->mutator >= 1);
    kedge_hex_encode(mutation->digest, sizeof mutation->digest, digest);
    kedge_json_begin_object(writer);
    write_text(writer, "client", mutation->client);
    write_integer(writer, "id", mutation->id);
    write_text(writer, "name", mutation->name);
    write_integer(writer, "mutator", mutation->mutator);
    write_args(writer, mutation->args, stored);
    write_integer(writer, "timestamp", mutation->timestamp_ms);
    write_text(writer, "user", mutation->user);
    write_text(writer, "role", mutation->role);
    kedge_json_key(writer, "digest");
    kedge_json_chars(writer, digest);
    if (stored && mutation->uid.size > 0) write_text(writer, "uid", mutation->uid);
    if (mutation->origin_client.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        write_text(writer, "client", mutation->origin_client);
        write_integer(writer, "id", mutation->origin_id);
        kedge_json_end_object(writer);
    }
    write_decision(writer, mutation);
    kedge_json_end_object(writer);
}

static void write_entry(kedge_json_writer *writer, const kedge_wire_replay_entry *entry)
{
    kedge_json_begin_object(writer);
    write_integer(writer, "version", entry->version);
    kedge_json_key(writer, "mutations");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < entry->count; i++)
        kedge_wire_replay_mutation_write(writer, &entry->mutations[i], false);
    kedge_json_end_array(writer);
    kedge_json_end_object(writer);
}

void kedge_wire_replay_write(kedge_json_writer *writer, const kedge_wire_replay *log)
{
    if (!log->present) return;
    kedge_json_key(writer, "log");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "entries");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < log->count; i++)
        write_entry(writer, &log->entries[i]);
    kedge_json_end_array(writer);
    kedge_json_key(writer, "more");
    kedge_json_boolean(writer, log->more);
    if (log->hashed) {
        char hash[KEDGE_SHA256_HEX];
        kedge_hex_encode(log->hash, sizeof log->hash, hash);
        kedge_json_key(writer, "hash");
        kedge_json_chars(writer, hash);
    }
    kedge_json_end_object(writer);
}
