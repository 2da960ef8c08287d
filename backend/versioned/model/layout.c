/* The keys of the versioned layout, built and read back. */
#include "backend/versioned/model/layout.h"

#include "common/names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names are at most 64 bytes and ids 128, so that no key comes near KEDGE_KEY_BYTES_MAX. */
static kedge_key format_key(const char *format, ...) KEDGE_PRINTF(1, 2);

static kedge_key format_key(const char *format, ...)
{
    kedge_key key;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(key.text, sizeof key.text, format, arguments);
    va_end(arguments);
    key.size = size < 0 ? 0 : (size_t)size;
    if (key.size >= sizeof key.text) key.size = sizeof key.text - 1;
    return key;
}

kedge_bytes kedge_key_bytes(const kedge_key *key)
{
    return (kedge_bytes){key->text, key->size};
}

#define SHOW(bytes) (int)(bytes).size, (bytes).data

kedge_key kedge_key_organizations(uint32_t shard)
{
    return format_key("Organizations#%02" PRIu32, shard);
}

kedge_key kedge_key_organization(kedge_bytes organization)
{
    return format_key("Org#%.*s", SHOW(organization));
}

kedge_key kedge_key_project(kedge_bytes project)
{
    return format_key("Project#%.*s", SHOW(project));
}

kedge_key kedge_key_usage(kedge_bytes organization)
{
    return format_key("Usage#%.*s", SHOW(organization));
}

kedge_key kedge_key_stored(void)
{
    return format_key("Stored");
}

kedge_key kedge_key_partition(const kedge_project_ref *ref)
{
    return format_key("Project#%.*s/%.*s", SHOW(ref->organization), SHOW(ref->project));
}

kedge_key kedge_key_version(int64_t number)
{
    return format_key("ProjectVersion#pv_%012" PRId64, number);
}

kedge_key kedge_key_collection(kedge_bytes collection, int64_t number, uint32_t part)
{
    return format_key("Collection#%.*s#cv_%012" PRId64 "#%04" PRIu32, SHOW(collection), number,
                      part);
}

kedge_key kedge_key_run(kedge_bytes client, int64_t first)
{
    return format_key("Mutation#%.*s#%016" PRId64, SHOW(client), first);
}

kedge_key kedge_key_origin(kedge_bytes client, int64_t id, const uint8_t digest[KEDGE_DIGEST_SIZE])
{
    char hex[KEDGE_DIGEST_HEX];
    kedge_hex_encode(digest, KEDGE_DIGEST_SIZE, hex);
    return format_key("Origin#%.*s#%016" PRId64 "#%s", SHOW(client), id, hex);
}

kedge_key kedge_key_group(kedge_bytes group, kedge_bytes client)
{
    return format_key("Group#%.*s#%.*s", SHOW(group), SHOW(client));
}

kedge_key kedge_key_fork(int64_t number)
{
    return format_key("Fork#pv_%012" PRId64, number);
}

kedge_key kedge_key_retention(void)
{
    return format_key("Retention");
}

kedge_key kedge_key_discarded(void)
{
    return format_key("Discarded");
}

kedge_key kedge_key_repaired(kedge_bytes collection, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(hash, KEDGE_SHA256_SIZE, hex);
    return format_key(KEDGE_KEY_REPAIRED "%.*s#%s", SHOW(collection), hex);
}

kedge_key kedge_key_blobs_of_organization(kedge_bytes organization)
{
    return format_key("%.*s/", SHOW(organization));
}

kedge_key kedge_key_blobs(const kedge_project_ref *ref)
{
    return format_key("%.*s/projects/%.*s/", SHOW(ref->organization), SHOW(ref->project));
}

static kedge_key blob_key(const kedge_project_ref *ref, kedge_bytes folder,
                          const uint8_t hash[KEDGE_SHA256_SIZE])
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(hash, KEDGE_SHA256_SIZE, hex);
    return format_key("%.*s/projects/%.*s/%.*s/%s.json.gz", SHOW(ref->organization),
                      SHOW(ref->project), SHOW(folder), hex);
}

kedge_key kedge_key_body(const kedge_project_ref *ref, kedge_bytes collection,
                         const uint8_t hash[KEDGE_SHA256_SIZE])
{
    return blob_key(ref, collection, hash);
}

kedge_key kedge_key_version_part(const kedge_project_ref *ref,
                                 const uint8_t hash[KEDGE_SHA256_SIZE])
{
    return blob_key(ref, KEDGE_BYTES("versions"), hash);
}

kedge_key kedge_key_chunk(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    return blob_key(ref, KEDGE_BYTES("chunks"), hash);
}

kedge_key kedge_key_push(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    return blob_key(ref, KEDGE_BYTES("pushes"), hash);
}

kedge_key kedge_key_upload(const kedge_project_ref *ref, const uint8_t hash[KEDGE_SHA256_SIZE])
{
    return blob_key(ref, KEDGE_BYTES("uploads"), hash);
}

/* ---- reading ---- */

static bool take_prefix(kedge_bytes *rest, const char *prefix)
{
    kedge_bytes wanted = kedge_bytes_of(prefix);
    if (!kedge_bytes_start_with(*rest, wanted)) return false;
    rest->data += wanted.size;
    rest->size -= wanted.size;
    return true;
}

static bool take_until(kedge_bytes *rest, char end, kedge_bytes *part)
{
    const char *found = rest->size == 0 ? NULL : memchr(rest->data, end, rest->size);
    if (found == NULL) return false;
    *part = (kedge_bytes){rest->data, (size_t)(found - rest->data)};
    rest->size -= part->size + 1;
    rest->data = found + 1;
    return true;
}

static bool take_digits(kedge_bytes *rest, size_t digits, int64_t *number)
{
    if (rest->size < digits) return false;
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (rest->data[i] < '0' || rest->data[i] > '9') return false;
        value = value * 10 + (rest->data[i] - '0');
    }
    rest->data += digits;
    rest->size -= digits;
    *number = value;
    return true;
}

bool kedge_key_read_project(kedge_bytes sort, kedge_bytes *project)
{
    if (!take_prefix(&sort, "Project#")) return false;
    *project = sort;
    return true;
}

bool kedge_key_read_organization(kedge_bytes partition, kedge_bytes *organization)
{
    if (!take_prefix(&partition, "Org#")) return false;
    *organization = partition;
    return true;
}

bool kedge_key_read_version(kedge_bytes sort, int64_t *number)
{
    return take_prefix(&sort, "ProjectVersion#pv_") && take_digits(&sort, 12, number) &&
           sort.size == 0;
}

bool kedge_key_read_collection(kedge_bytes sort, kedge_bytes *collection, int64_t *number,
                               uint32_t *part)
{
    int64_t value = 0;
    if (!take_prefix(&sort, "Collection#") || !take_until(&sort, '#', collection) ||
        !take_prefix(&sort, "cv_") || !take_digits(&sort, 12, number) || !take_prefix(&sort, "#") ||
        !take_digits(&sort, 4, &value) || sort.size > 0) {
        return false;
    }
    *part = (uint32_t)value;
    return true;
}

bool kedge_key_read_run(kedge_bytes sort, kedge_bytes *client, int64_t *first)
{
    return take_prefix(&sort, "Mutation#") && take_until(&sort, '#', client) &&
           take_digits(&sort, 16, first) && sort.size == 0;
}

bool kedge_key_read_repaired(kedge_bytes sort, kedge_bytes *collection,
                             uint8_t hash[KEDGE_SHA256_SIZE])
{
    return take_prefix(&sort, KEDGE_KEY_REPAIRED) && take_until(&sort, '#', collection) &&
           sort.size == KEDGE_SHA256_HEX - 1 && kedge_hex_decode(sort, hash, KEDGE_SHA256_SIZE);
}

bool kedge_key_read_group(kedge_bytes sort, kedge_bytes *group, kedge_bytes *client)
{
    if (!take_prefix(&sort, "Group#") || !take_until(&sort, '#', group)) return false;
    *client = sort;
    return true;
}

kedge_status kedge_project_ref_check(const kedge_project_ref *ref, kedge_error *error)
{
    kedge_status status = kedge_check_name("organization", ref->organization, error);
    if (status != KEDGE_OK) return status;
    return kedge_check_name("project", ref->project, error);
}
