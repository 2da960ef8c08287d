/* The keys of the versioned layout: partition and sort keys of records, and blob keys.
 *
 *   entity               partition                  sort
 *   organization         Organizations#{2 digits}   {org}
 *   project of an org    Org#{org}                  Project#{project}
 *   what an org stored   Usage#{org}                Stored
 *   project version      Project#{org}/{project}    ProjectVersion#pv_{12 digits}
 *   collection version   same                       Collection#{name}#cv_{12 digits}#{4 digits}
 *   mutation run         same                       Mutation#{client}#{16 digits, first id}
 *   origin               same                       Origin#{client}#{16 digits, id}#{digest}
 *   client of a group    same                       Group#{group}#{client}
 *   fork                 same                       Fork#pv_{12 digits}
 *   retention            same                       Retention
 *   garbage              same                       Garbage#{folder}/{sha256}
 *   repaired body        same                       Repaired#{collection}#{sha256}
 *   import under way     same                       ProjectVersion#pv_999999999998
 *   import discarded     same                       Discarded
 *
 *   item body            {org}/projects/{project}/{collection}/{sha256}.json.gz
 *   part of a version    {org}/projects/{project}/versions/{sha256}.json.gz
 *   chunk                {org}/projects/{project}/chunks/{sha256}.json.gz
 *   queued push          {org}/projects/{project}/pushes/{sha256}.json.gz
 *   uploaded push        {org}/projects/{project}/uploads/{sha256 of the gzip}.json.gz
 *
 * Numbers are padded with zeros, so that byte order is their order. Names, clients and groups
 * hold no '#' and no '/' (common/names.h). A collection may be called "versions" or "chunks":
 * a blob is named by the hash of what it holds, so two blobs with one key are the same. */
#ifndef KEDGE_BACKEND_MODEL_LAYOUT_H
#define KEDGE_BACKEND_MODEL_LAYOUT_H

#include "backend/versioned/model/version.h"

#define KEDGE_KEY_BYTES_MAX      400
#define KEDGE_RETIRED_FIRST      9999999999999999 /* the first id of a retired client's row */
#define KEDGE_VERSION_NUMBER_MAX 999999999999
#define KEDGE_VERSION_IMPORTING  999999999998 /* an import, not a version: version_codec.h */
#define KEDGE_PART_MAX           9999
/* The shard of an organization is the first byte of the SHA-256 of its name, modulo this. So this
 * number never changes. The shards spread the creations of projects over partitions; a list of all
 * organizations reads every shard. */
#define KEDGE_ORGANIZATION_SHARDS 16

typedef struct kedge_key {
    char text[KEDGE_KEY_BYTES_MAX]; /* NUL-terminated */
    size_t size;
} kedge_key;

kedge_bytes kedge_key_bytes(const kedge_key *key);

kedge_key kedge_key_organizations(uint32_t shard);
kedge_key kedge_key_organization(kedge_bytes organization);
kedge_key kedge_key_project(kedge_bytes project);
kedge_key kedge_key_usage(kedge_bytes organization);
kedge_key kedge_key_stored(void);
kedge_key kedge_key_partition(const kedge_project_ref *ref);
kedge_key kedge_key_version(int64_t number);
kedge_key kedge_key_collection(kedge_bytes collection, int64_t number, uint32_t part);
kedge_key kedge_key_run(kedge_bytes client, int64_t first);
kedge_key kedge_key_origin(kedge_bytes client, int64_t id, const uint8_t digest[KEDGE_DIGEST_SIZE]);
kedge_key kedge_key_group(kedge_bytes group, kedge_bytes client);
kedge_key kedge_key_fork(int64_t number);
kedge_key kedge_key_retention(void);
kedge_key kedge_key_discarded(void);
/* Of a body that was lost and is back, while clients are owed its items (jobs/repair_deliver.c). */
#define KEDGE_KEY_REPAIRED "Repaired#"
kedge_key kedge_key_repaired(kedge_bytes collection, const uint8_t hash[KEDGE_SHA256_SIZE]);

/* The common prefix of all blob keys of an organization; of a project. */
kedge_key kedge_key_blobs_of_organization(kedge_bytes organization);
kedge_key kedge_key_blobs(const kedge_project_ref *ref);
kedge_key kedge_key_body(const kedge_project_ref *ref, kedge_bytes collection,
                         const uint8_t hash[KEDGE_SHA256_SIZE]);
kedge_key kedge_key_version_part(const kedge_project_ref *ref,
                                 const uint8_t hash[KEDGE_SHA256_SIZE]);
kedge_key kedge_key_chunk(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE]);
kedge_key kedge_key_push(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE]);
kedge_key kedge_key_upload(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE]);

/* Parse a sort key. Return false when the key is of another kind. The parts are borrowed from
 * `sort`. */
bool kedge_key_read_project(kedge_bytes sort, kedge_bytes *project);
bool kedge_key_read_organization(kedge_bytes partition, kedge_bytes *organization);
bool kedge_key_read_version(kedge_bytes sort, int64_t *number);
bool kedge_key_read_collection(kedge_bytes sort, kedge_bytes *collection, int64_t *number,
                               uint32_t *part);
bool kedge_key_read_run(kedge_bytes sort, kedge_bytes *client, int64_t *first);
bool kedge_key_read_repaired(kedge_bytes sort, kedge_bytes *collection,
                             uint8_t hash[KEDGE_SHA256_SIZE]);
bool kedge_key_read_group(kedge_bytes sort, kedge_bytes *group, kedge_bytes *client);

/* The names of a reference are what names may be: KEDGE_INVALID_ARGUMENT otherwise. */
kedge_status kedge_project_ref_check(const kedge_project_ref *ref, kedge_error *error);

#endif
