/* The hashes of what an edit has read, and the member `made` of its args: see apply.h. */
#include "mutate/apply.h"

#include "common/json.h"
#include "common/names.h"

void kedge_apply_hash(kedge_bytes value, char hex[KEDGE_DIGEST_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(value, hash);
    kedge_hex_encode(hash, KEDGE_DIGEST_SIZE, hex);
}

static void add_text(kedge_sha256_stream *piece, kedge_bytes text)
{
    kedge_sha256_add_size(piece, text.size);
    kedge_sha256_add(piece, text);
}

void kedge_apply_hash_begin(kedge_sha256_stream *piece)
{
    kedge_sha256_begin(piece);
}

void kedge_apply_hash_add(kedge_sha256_stream *piece, kedge_bytes id, kedge_bytes value)
{
    add_text(piece, id);
    add_text(piece, value);
}

void kedge_apply_hash_end(kedge_sha256_stream *piece, char hex[KEDGE_DIGEST_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256_end(piece, hash);
    kedge_hex_encode(hash, KEDGE_DIGEST_SIZE, hex);
}

/* Reads an optional integer from 1 on; `absent` is its value when it is left out. */
static bool read_number(kedge_bytes object, const char *name, int64_t absent, int64_t *out)
{
    kedge_bytes value;
    *out = absent;
    if (!kedge_json_member(object, name, &value)) return true;
    return kedge_json_to_integer(value, out) && *out >= 1;
}

bool kedge_apply_read_made(kedge_bytes args, kedge_apply_made *made, bool *valid)
{
    kedge_bytes object;
    *valid = true;
    if (!kedge_json_member(args, "made", &object)) return false;
    *valid = kedge_json_type_of(object) == KEDGE_JSON_OBJECT &&
             kedge_json_member_chars(object, "name", made->name, sizeof made->name) &&
             kedge_check_name("mutator", kedge_bytes_of(made->name), NULL) == KEDGE_OK &&
             kedge_json_member(object, "args", &made->args) &&
             read_number(object, "attempt", 1, &made->attempt) &&
             read_number(object, "sequence", 0, &made->sequence);
    return *valid;
}
