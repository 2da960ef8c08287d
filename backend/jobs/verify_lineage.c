/* Verify: which versions are there, by number and lineage. */
#include "backend/jobs/verify_internal.h"

#include <string.h>

void verify_keep_lineage(verifying *work, const kedge_version *version)
{
    size_t at = (size_t)(version->number - work->oldest);
    uint8_t *token = work->tokens + at * VERIFY_TOKEN_SIZE;
    work->there[at] = kedge_hex_decode(kedge_bytes_of(version->lineage), token, VERIFY_TOKEN_SIZE);
}

kedge_status verify_knows(verifying *work, int64_t number, kedge_bytes lineage, bool *known,
                          kedge_error *error)
{
    uint8_t token[VERIFY_TOKEN_SIZE];
    *known = false;
    if (number < 1 || !kedge_hex_decode(lineage, token, sizeof token)) return KEDGE_OK;
    if (number >= work->oldest && number <= work->newest) {
        size_t at = (size_t)(number - work->oldest);
        *known = !work->there[at] ||
                 memcmp(work->tokens + at * VERIFY_TOKEN_SIZE, token, sizeof token) == 0;
        return KEDGE_OK;
    }
    char text[KEDGE_LINEAGE_HEX];
    kedge_hex_encode(token, sizeof token, text);
    return kedge_version_is_known(work->project, number, text, known, error);
}
