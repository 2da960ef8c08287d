/* The blobs port: immutable objects under text keys, in the shape of S3.
 *
 * Keys are UTF-8 of 1..1024 bytes without NUL, '/' separates. A read sees every put that returned
 * before it. Failures as in records.h. Implementations: a folder, S3, memory. */
#ifndef KEDGE_BACKEND_PORTS_BLOBS_H
#define KEDGE_BACKEND_PORTS_BLOBS_H

#include "common/bytes.h"
#include "common/hash.h"

#define KEDGE_BLOB_KEY_BYTES_MAX       1024
#define KEDGE_BLOB_BYTES_MAX           67108864 /* 64 MiB */
#define KEDGE_BLOB_LIST_MAX            1000
#define KEDGE_BLOB_TAGS_MAX            10 /* of one object; names and values are UTF-8 */
#define KEDGE_BLOB_TAG_NAME_BYTES_MAX  128
#define KEDGE_BLOB_TAG_VALUE_BYTES_MAX 256
#define KEDGE_BLOB_GRANT_HEADERS_MAX   4

/* The store itself may delete an object that has this tag, KEDGE_BLOB_DISCARD_DAYS after the put.
 * The writer removes the tag when something refers to the object. A writer that stops before that
 * leaves the tag. */
#define KEDGE_BLOB_DISCARD_TAG   "kedge-discard"
#define KEDGE_BLOB_DISCARD_VALUE "yes"
#define KEDGE_BLOB_DISCARD_DAYS  "8"

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

/* An upload that somebody without credentials is to make: exactly these bytes, under this key. */
typedef struct kedge_blob_upload {
    kedge_bytes key;
    int64_t size_bytes;
    uint8_t sha256[KEDGE_SHA256_SIZE];
    int64_t lifetime_ms; /* 1 s to 7 days; a part of a second is dropped */
} kedge_blob_upload;

/* How the upload is made: a PUT of the bytes to `url`, with these headers. */
typedef struct kedge_blob_grant {
    kedge_buffer url;
    struct {
        const char *name; /* static storage */
        char value[64];
    } headers[KEDGE_BLOB_GRANT_HEADERS_MAX];
    size_t header_count;
} kedge_blob_grant;

typedef struct kedge_blob_tag {
    kedge_bytes name;
    kedge_bytes value; /* not empty */
} kedge_blob_tag;

typedef struct kedge_blobs_vtable {
    /* must. Stores the bytes when the key is free; KEDGE_CONFLICT when it is taken (for content
     * addresses: already there). After KEDGE_OK the bytes are durable. A crash leaves all or
     * nothing. */
    kedge_status (*put_if_absent)(void *self, kedge_bytes key, kedge_bytes bytes,
                                  kedge_error *error);
    /* must. The same with a tag, which the object has from its first moment on: no crash leaves it
     * without. An object that is there already keeps the tags that it has. */
    kedge_status (*put_tagged)(void *self, kedge_bytes key, kedge_bytes bytes,
                               const kedge_blob_tag *tag, kedge_error *error);
    /* must. Appends the whole object to `out`; KEDGE_NOT_FOUND. */
    kedge_status (*get)(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error);
    /* must. Sets (`value` non-empty) or removes one tag of an object. KEDGE_NOT_FOUND. */
    kedge_status (*tag)(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                        kedge_error *error);
    /* must. Appends the tag's value; KEDGE_NOT_FOUND when the object or the tag is absent. */
    kedge_status (*get_tag)(void *self, kedge_bytes key, kedge_bytes name, kedge_buffer *value,
                            kedge_error *error);
    /* must. Removes the object and its tags. KEDGE_OK also when the key is free. Takes effect once
     * at most, also when it ends with KEDGE_UNAVAILABLE: an object that is put under the key
     * afterwards stays. */
    kedge_status (*remove)(void *self, kedge_bytes key, kedge_error *error);
    /* must. Up to `limit` (1 to 1000) keys that start with `prefix` and come after `after`, in byte
     * order. */
    kedge_status (*list)(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                         kedge_blob_list *list, kedge_error *error);
    /* may; NULL: uploads are possible only through the port. Fills `grant`, whose `url` comes
     * in as an empty buffer. Not every store refuses bytes that differ from those announced, so the
     * reader of the blob must check them. An object that is there is replaced. */
    kedge_status (*presign_put)(void *self, const kedge_blob_upload *upload,
                                kedge_blob_grant *grant, kedge_error *error);
    /* must. */
    void (*close)(void *self);
} kedge_blobs_vtable;

typedef struct kedge_blobs {
    const kedge_blobs_vtable *vtable;
    void *self;
} kedge_blobs;

#endif
