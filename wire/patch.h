/* Patches: the changed keys in the response of a pull, and the items of a snapshot's page. Also the
 * items that both leave out because the server has lost them. */
#ifndef KEDGE_WIRE_PATCH_H
#define KEDGE_WIRE_PATCH_H

#include "common/hash.h"
#include "common/json.h"

typedef enum kedge_wire_patch_kind {
    KEDGE_WIRE_PATCH_CLEAR,
    KEDGE_WIRE_PATCH_PUT,
    KEDGE_WIRE_PATCH_PUT_HASH, /* the body is to be fetched: `hash`, `size_bytes` */
    KEDGE_WIRE_PATCH_DELETE
} kedge_wire_patch_kind;

/* One operation. `collection` and `id` are decoded; both empty: the project record. */
typedef struct kedge_wire_patch_operation {
    kedge_wire_patch_kind kind;
    kedge_bytes collection;
    kedge_bytes id;
    kedge_bytes value; /* canonical JSON after it was read */
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t size_bytes;
    char *owned; /* the value's memory when it was fetched by its hash */
} kedge_wire_patch_operation;

/* Operations that were read. Keys and values are borrowed from the body where they can be. */
typedef struct kedge_wire_patch {
    kedge_wire_patch_operation *operations;
    size_t count;
    size_t capacity;
    kedge_buffer text; /* decoded keys and normalized values that are not the body's own */
} kedge_wire_patch;

/* The items and collections that the server has lost and left out of a response. Both lists are
 * JSON arrays; borrowed. */
typedef struct kedge_wire_damaged {
    int64_t count;           /* of items; 0: nothing is lost */
    kedge_bytes keys;        /* of the first ones */
    kedge_bytes collections; /* that cannot be read at all */
} kedge_wire_damaged;

/* ---- writing, one operation after the other ---- */

/* Writes {"op":…,"key":… and leaves the object open for a value or its end. `scratch` is emptied
 * first. */
void kedge_wire_operation_begin(kedge_json_writer *writer, kedge_wire_patch_kind kind,
                                kedge_bytes collection, kedge_bytes id, kedge_buffer *scratch);
/* The same of an item of a page, which has no "op". */
void kedge_wire_item_begin(kedge_json_writer *writer, kedge_bytes collection, kedge_bytes id,
                           kedge_buffer *scratch);
/* "value": and then `value`, or what the caller appends when that is empty. */
void kedge_wire_value_write(kedge_json_writer *writer, kedge_bytes value);
/* "hash":…,"size":… in the place of a value. */
void kedge_wire_value_write_hash(kedge_json_writer *writer, const uint8_t hash[KEDGE_SHA256_SIZE],
                                 int64_t size_bytes);
/* "damaged":{…}, or nothing when nothing is lost. */
void kedge_wire_damaged_write(kedge_json_writer *writer, const kedge_wire_damaged *damaged);

/* ---- what was read ---- */

void kedge_wire_patch_free(kedge_wire_patch *patch);
/* A body fetched by hash: checks the hash and puts the value into the operation. */
kedge_status kedge_wire_patch_set_body(kedge_wire_patch *patch, size_t operation, kedge_bytes body,
                                       kedge_error *error);
/* Removes an operation whose body is lost. */
void kedge_wire_patch_leave_out(kedge_wire_patch *patch, size_t operation);

#endif
