/* The hashes of what an edit has read: see apply.h. */
#include "mutate/apply.h"

#include "common/assert.h"

void kedge_apply_hash(kedge_bytes value, char hex[KEDGE_DIGEST_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(value, hash);
    kedge_hex_encode(hash, KEDGE_DIGEST_SIZE, hex);
}

static void add_text(kedge_sha256_stream *piece, kedge_bytes text)
{
    KEDGE_ASSERT(text.size <= UINT32_MAX);
    char size[4] = {(char)(text.size & 0xff), (char)(text.size >> 8 & 0xff),
                    (char)(text.size >> 16 & 0xff), (char)(text.size >> 24 & 0xff)};
    kedge_sha256_add(piece, (kedge_bytes){size, sizeof size});
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
