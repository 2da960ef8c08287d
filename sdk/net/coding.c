/* The content coding of what is sent. */
#include "sdk/net/coding.h"

#include "common/assert.h"
#include "common/gzip.h"

kedge_status kedge_coding_pack(kedge_bytes body, kedge_buffer *packed, kedge_error *error)
{
    KEDGE_ASSERT(packed->size == 0);
    return kedge_gzip(body, packed, error);
}

kedge_status kedge_coding_encode(kedge_bytes *body, kedge_buffer *packed, const char **coding,
                                 kedge_error *error)
{
    KEDGE_ASSERT(body->size >= KEDGE_CODING_BYTES_MIN);
    *coding = NULL;
    kedge_status status = kedge_coding_pack(*body, packed, error);
    if (status != KEDGE_OK) return status;
    *body = kedge_buffer_bytes(packed);
    *coding = "gzip";
    return KEDGE_OK;
}
