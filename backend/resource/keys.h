/* The keys of resources:
 *
 *   entity           partition                                  sort
 *   latest version   Resource#{org}/{kind}                      {id}
 *   any version      ResourceHistory#{org}/{kind}/{id}          {12 digits}
 *
 * Organization and kind hold no '/', so that no two resources share a key. Numbers are padded with
 * zeros, so that byte order is their order. */
#ifndef KEDGE_BACKEND_RESOURCE_KEYS_H
#define KEDGE_BACKEND_RESOURCE_KEYS_H

#include "backend/resource/resource.h"

/* The prefix, two names, two slashes, an id and a NUL. */
#define KEDGE_RESOURCE_KEY_BYTES                                                                   \
    (16 + 2 * (KEDGE_LIMIT_NAME_BYTES + 1) + KEDGE_LIMIT_RESOURCE_ID_BYTES + 1)

typedef struct kedge_resource_key {
    char partition[KEDGE_RESOURCE_KEY_BYTES];
    char version[16]; /* of the history; unused for the latest */
    kedge_record_key key;
} kedge_resource_key;

/* The names and the id are what they may be. */
kedge_status kedge_resource_check_ref(const kedge_resource_ref *ref, kedge_error *error);

/* Fill `out`, which must stay where it is as long as out->key is used; `ref` was checked. The key
 * of the latest version borrows ref->id. */
void kedge_resource_key_latest(const kedge_resource_ref *ref, kedge_resource_key *out);
void kedge_resource_key_history(const kedge_resource_ref *ref, int64_t version,
                                kedge_resource_key *out);
/* Reads the sort key of a record of the history. */
bool kedge_resource_key_version(kedge_bytes sort, int64_t *version);

#endif
