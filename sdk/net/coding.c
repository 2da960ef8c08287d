/* The content coding of what is sent. */
#include "sdk/net/coding.h"

#include "common/assert.h"
#include "common/gzip.h"

/* A body of this size or more leaves compressed. */
#define PACK_BYTES_MIN 4096

kedge_status kedge_coding_pack(kedge_bytes body, kedge_buffer *packed, kedge_error *error)
{
    KEDGE_ASSERT(packed->size == 0);
    return kedge_gzip(body, packed, error);
}

kedge_status kedge_coding_encode(kedge_bytes *body, kedge_buffer *packed, const char **coding,
                                 kedge_error *error)
{
    *coding = NULL;
    if (body->size < PACK_BYTES_MIN) return KEDGE_OK;
    kedge_status status = kedge_coding_pack(*body, packed, error);
    if (status != KEDGE_OK) return status;
    *body = kedge_buffer_bytes(packed);
    *coding = "gzip";
    return KEDGE_OK;
}
