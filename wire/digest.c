/* See digest.h. */
#include "wire/digest.h"

#include <string.h>

/* The first half of the SHA-256 of {"args":…,"name":…,"uid":…}, whose members are in order. */
void kedge_wire_digest(kedge_bytes args, kedge_bytes name, kedge_bytes uid,
                       uint8_t digest[KEDGE_DIGEST_SIZE])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes before_uid = KEDGE_BYTES(",\"uid\":\"");
    kedge_bytes behind_uid = KEDGE_BYTES("\"}");
    if (uid.size == 0) {
        before_uid.size = 0;
        behind_uid = KEDGE_BYTES("}");
    }
    const kedge_bytes pieces[] = {KEDGE_BYTES("{\"args\":"),
                                  args,
                                  KEDGE_BYTES(",\"name\":\""),
                                  name,
                                  KEDGE_BYTES("\""),
                                  before_uid,
                                  uid,
                                  behind_uid};
    kedge_sha256_of(pieces, sizeof pieces / sizeof pieces[0], hash);
    memcpy(digest, hash, KEDGE_DIGEST_SIZE);
}
