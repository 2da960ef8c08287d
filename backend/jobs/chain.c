/* The hash of a series of lines. */
#include "backend/jobs/chain.h"

#include "common/error.h"

kedge_status kedge_chain_add(kedge_chain *chain, kedge_bytes line, kedge_error *error)
{
    kedge_buffer both = kedge_buffer_make(chain->allocator);
    kedge_buffer_append(&both, chain->hash, sizeof chain->hash);
    kedge_buffer_append_bytes(&both, line);
    kedge_status status = kedge_buffer_status(&both, error);
    if (status == KEDGE_OK) {
        kedge_sha256(kedge_buffer_bytes(&both), chain->hash);
        chain->lines++;
    }
    kedge_buffer_free(&both);
    return status;
}
