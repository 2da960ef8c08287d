/* Blobs as the backend puts and reads them: gzip, named by the hash of what is inside. */
#ifndef KEDGE_BACKEND_VERSIONS_BLOB_H
#define KEDGE_BACKEND_VERSIONS_BLOB_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"

/* Makes `compressed` durable under a key that is the hash of its content; an existing blob has the
 * same content and is kept. Returns KEDGE_UNAVAILABLE also when the blob is being removed as
 * garbage: try again. */
kedge_status kedge_blob_put(const kedge_project *project, const kedge_key *key,
                            kedge_bytes compressed, kedge_error *error);

/* The same of plain bytes, which are stored as gzip. */
kedge_status kedge_blob_put_plain(const kedge_project *project, const kedge_key *key,
                                  kedge_bytes plain, kedge_error *error);

/* Appends the body of an item, its hash checked, to `plain`, and what is stored to `stored` (NULL:
 * not wanted). Returns KEDGE_CORRUPT, "item-body-missing" or "item-body-damaged", when the body is
 * lost or has another hash. */
kedge_status kedge_blob_body(const kedge_project *project, kedge_bytes collection,
                             const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *stored,
                             kedge_buffer *plain, kedge_error *error);

#endif
