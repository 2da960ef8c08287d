/* How the things of a project are written on the wire. */
#include "backend/core/api_internal.h"
#include "wire/key.h"

void kedge_api_write_key(kedge_json_writer *writer, kedge_bytes collection, kedge_bytes id,
                         kedge_buffer *scratch)
{
    kedge_buffer_clear(scratch);
    kedge_wire_key_join(collection, id, scratch);
    kedge_json_key(writer, "key");
    kedge_json_text(writer, kedge_buffer_bytes(scratch));
}

/* ---- values ---- */

void kedge_api_write_hex(kedge_json_writer *writer, const char *name, const uint8_t *bytes,
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
        kedge_api_write_hex(writer, "hash", entry->hash, sizeof entry->hash);
        kedge_json_key(writer, "size");
        kedge_json_integer(writer, entry->size);
        return KEDGE_OK;
    }
    kedge_json_key(writer, "value");
    if (entry->body.data != NULL) {
        kedge_json_raw(writer, entry->body);
        return KEDGE_OK;
    }
    /* Straight into the answer: nothing is copied twice. */
    kedge_json_raw(writer, (kedge_bytes){NULL, 0});
    return kedge_state_body(state, collection, entry, writer->buffer, error);
}

void kedge_api_write_entry(kedge_json_writer *writer, const kedge_entry *entry)
{
    kedge_json_key(writer, "id");
    kedge_json_text(writer, entry->id);
    kedge_api_write_hex(writer, "hash", entry->hash, sizeof entry->hash);
    kedge_json_key(writer, "size");
    kedge_json_integer(writer, entry->size);
    kedge_json_key(writer, "meta");
    kedge_json_raw(writer, entry->meta.size == 0 ? KEDGE_BYTES("{}") : entry->meta);
}

/* ---- mutations ---- */

void kedge_api_write_verdict(kedge_json_writer *writer, const kedge_version_mutation *mutation)
{
    static const char *const names[] = {
        [KEDGE_VERDICT_APPLIED] = "applied",
        [KEDGE_VERDICT_REJECTED] = "rejected",
        [KEDGE_VERDICT_DUPLICATE] = "duplicate",
    };
    kedge_json_key(writer, "outcome");
    kedge_json_chars(writer, names[mutation->verdict]);
    if (!kedge_mutation_has_reason(mutation)) return;
    kedge_json_key(writer, "code");
    kedge_json_text(writer, mutation->code);
    kedge_json_key(writer, "message");
    kedge_json_text(writer, mutation->message);
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
    kedge_api_write_hex(writer, "digest", mutation->digest, sizeof mutation->digest);
    if (mutation->origin_client.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "client");
        kedge_json_text(writer, mutation->origin_client);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, mutation->origin_id);
        kedge_json_end_object(writer);
    }
    kedge_api_write_verdict(writer, mutation);
}

static kedge_status write_outcome(void *context, int64_t version,
                                  const kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_json_writer *writer = context;
    (void)error;
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, mutation->id);
    kedge_api_write_hex(writer, "digest", mutation->digest, sizeof mutation->digest);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, version);
    kedge_api_write_verdict(writer, mutation);
    kedge_json_end_object(writer);
    return KEDGE_OK;
}

kedge_status kedge_api_write_outcomes(kedge_json_writer *writer, kedge_backend *backend,
                                      const kedge_project_ref *ref, const kedge_version *at,
                                      kedge_bytes client, int64_t from, int64_t to,
                                      kedge_error *error)
{
    int64_t next = 0;
    kedge_status status = KEDGE_OK;
    kedge_json_key(writer, "outcomes");
    kedge_json_begin_array(writer);
    if (from <= to) {
        status = kedge_client_mutations(backend, ref, at, client, from, to,
                                        KEDGE_LIMIT_OUTCOMES_PER_PULL, write_outcome, writer, &next,
                                        error);
    }
    kedge_json_end_array(writer);
    kedge_api_write_next(writer, "outcomes_next", next);
    return status;
}
