/* Writes versions, items and mutations as docs/reference/wire.md describes them. */
#include "backend/api/wire.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/model/version.h"
#include "common/error.h"
#include "wire/patch.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

static void write_hex(kedge_json_writer *writer, const char *name, const uint8_t *bytes,
                      size_t size)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(bytes, size, hex);
    kedge_json_key(writer, name);
    kedge_json_chars(writer, hex);
}

void kedge_api_write_next(kedge_json_writer *writer, const char *name, int64_t next)
{
    kedge_json_key(writer, name);
    if (next == 0) {
        kedge_json_null(writer);
    } else {
        kedge_json_integer(writer, next);
    }
}

kedge_status kedge_api_write_value(kedge_json_writer *writer, kedge_state *state,
                                   kedge_bytes collection, const kedge_entry *entry, bool by_hash,
                                   kedge_error *error)
{
    if (by_hash && entry->size > KEDGE_API_BODY_BY_HASH_BYTES) {
        kedge_wire_value_write_hash(writer, entry->hash, entry->size);
        return KEDGE_OK;
    }
    kedge_wire_value_write(writer, entry->body);
    if (entry->body.data != NULL) return KEDGE_OK;
    /* Reads the body directly into the response, without a copy. */
    return kedge_state_body(state, collection, entry, writer->buffer, error);
}

void kedge_api_write_entry(kedge_json_writer *writer, const kedge_entry *entry)
{
    kedge_json_key(writer, "id");
    kedge_json_text(writer, entry->id);
    write_hex(writer, "hash", entry->hash, sizeof entry->hash);
    kedge_json_key(writer, "size");
    kedge_json_integer(writer, entry->size);
    kedge_json_key(writer, "meta");
    kedge_json_raw(writer, entry->meta.size == 0 ? KEDGE_BYTES("{}") : entry->meta);
}

/* ---- mutations ---- */

static kedge_wire_decision decision_of(const kedge_version_mutation *mutation)
{
    switch (mutation->outcome) {
    case KEDGE_MUTATION_APPLIED:
        return KEDGE_WIRE_APPLIED;
    case KEDGE_MUTATION_REJECTED:
        return KEDGE_WIRE_REJECTED;
    default:
        return kedge_mutation_has_reason(mutation) ? KEDGE_WIRE_DUPLICATE_REJECTED
                                                   : KEDGE_WIRE_DUPLICATE;
    }
}

void kedge_api_write_outcome(kedge_json_writer *writer, const kedge_version_mutation *mutation)
{
    kedge_wire_decision_write(writer, decision_of(mutation), mutation->code, mutation->message);
}

void kedge_api_write_mutation(kedge_json_writer *writer, const kedge_version_mutation *mutation)
{
    kedge_json_key(writer, "client");
    kedge_json_text(writer, mutation->client);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, mutation->id);
    kedge_json_key(writer, "name");
    kedge_json_text(writer, mutation->name);
    kedge_json_key(writer, "args");
    kedge_json_raw(writer, mutation->args.size == 0 ? KEDGE_BYTES("null") : mutation->args);
    kedge_json_key(writer, "timestamp");
    kedge_json_integer(writer, mutation->timestamp_ms);
    kedge_json_key(writer, "user");
    kedge_json_text(writer, mutation->user);
    if (mutation->uid.size > 0) {
        kedge_json_key(writer, "uid");
        kedge_json_text(writer, mutation->uid);
    }
    write_hex(writer, "digest", mutation->digest, sizeof mutation->digest);
    if (mutation->origin_client.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "client");
        kedge_json_text(writer, mutation->origin_client);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, mutation->origin_id);
        kedge_json_end_object(writer);
    }
    kedge_api_write_outcome(writer, mutation);
}

/* ---- outcomes ---- */

static kedge_status add_outcome(void *context, int64_t version,
                                const kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_error reason = {.code = ""};
    kedge_wire_outcome outcome = {
        .id = mutation->id, .version = version, .decision = decision_of(mutation)};
    memcpy(outcome.digest, mutation->digest, sizeof outcome.digest);
    if (kedge_wire_is_rejection(outcome.decision)) {
        char code[sizeof outcome.code];
        snprintf(code, sizeof code, "%.*s", (int)mutation->code.size, mutation->code.data);
        kedge_fail(&reason, KEDGE_REJECTED, code, "%.*s", (int)mutation->message.size,
                   mutation->message.data);
        memcpy(outcome.code, reason.code, sizeof outcome.code);
        memcpy(outcome.message, reason.message, sizeof outcome.message);
    }
    return kedge_wire_outcomes_add(context, &outcome, error);
}

kedge_status kedge_api_load_outcomes(kedge_api_call *call, const kedge_version *at,
                                     kedge_bytes client, int64_t from, int64_t to,
                                     kedge_wire_outcomes *outcomes)
{
    if (from > to) return KEDGE_OK;
    return kedge_client_mutations(&call->project, at, client, from, to,
                                  KEDGE_LIMIT_OUTCOMES_PER_PULL, add_outcome, outcomes,
                                  &outcomes->next, &call->error);
}
