/* The blobs port: immutable objects under text keys, in the shape of S3.
 *
 * Keys are UTF-8 of 1..1024 bytes without NUL, '/' separates. A read sees every put that returned
 * before it. Failures as in records.h. Implementations: a folder, S3, memory. */
#ifndef KEDGE_BACKEND_PORTS_BLOBS_H
#define KEDGE_BACKEND_PORTS_BLOBS_H

#include "common/bytes.h"

#define KEDGE_BLOB_KEY_BYTES_MAX       1024
#define KEDGE_BLOB_BYTES_MAX           67108864 /* 64 MiB */
#define KEDGE_BLOB_LIST_MAX            1000
#define KEDGE_BLOB_TAGS_MAX            10 /* of one object; names and values are UTF-8 */
#define KEDGE_BLOB_TAG_NAME_BYTES_MAX  128
#define KEDGE_BLOB_TAG_VALUE_BYTES_MAX 256

typedef struct kedge_blob_info {
    char *key; /* NUL-terminated */
    int64_t size_bytes;
    int64_t modified_ms;
} kedge_blob_info;

/* A page of a listing, with its memory. Start from {0}; kedge_blob_list_free in the end. */
typedef struct kedge_blob_list {
    kedge_blob_info *blobs;
    size_t count;
    bool more;
    const kedge_allocator *allocator;
} kedge_blob_list;

void kedge_blob_list_free(kedge_blob_list *list);

typedef struct kedge_blobs_vtable {
    /* must. Stores the bytes when the key is free; KEDGE_CONFLICT when it is taken (for content
     * addresses: already there). After KEDGE_OK the bytes are durable. A crash leaves all or
     * nothing. */
    kedge_status (*put_if_absent)(void *self, kedge_bytes key, kedge_bytes bytes,
                                  kedge_error *error);
    /* must. Appends the whole object to `out`; KEDGE_NOT_FOUND. */
    kedge_status (*get)(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error);
    /* must. Sets (`value` non-empty) or removes one tag of an object. KEDGE_NOT_FOUND. */
    kedge_status (*tag)(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                        kedge_error *error);
    /* must. Appends the tag's value; KEDGE_NOT_FOUND when the object or the tag is absent. */
    kedge_status (*get_tag)(void *self, kedge_bytes key, kedge_bytes name, kedge_buffer *value,
                            kedge_error *error);
    /* must. The object and its tags. Deleting an absent key is KEDGE_OK. Takes effect once at most,
     * also when it ends with KEDGE_UNAVAILABLE: what is put under the key afterwards stays. */
    kedge_status (*remove)(void *self, kedge_bytes key, kedge_error *error);
    /* must. Up to `limit` (1 to 1000) keys that start with `prefix`, behind `after`, in byte order.
     */
    kedge_status (*list)(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                         kedge_blob_list *list, kedge_error *error);
    /* must. */
    void (*close)(void *self);
} kedge_blobs_vtable;

typedef struct kedge_blobs {
    const kedge_blobs_vtable *vtable;
    void *self;
} kedge_blobs;

#endif
