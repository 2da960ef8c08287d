/* The records port: ordered records under partition and sort keys, in the shape of DynamoDB.
 *
 * A record is (partition, sort) and named attributes of three types. Single writes are atomic and
 * conditional; `transact` is all or nothing. Implementations: SQLite, DynamoDB, memory. One
 * contract suite (tests/ports) runs against each.
 *
 * Failures. KEDGE_CONFLICT: a condition did not hold, nothing was written. KEDGE_UNAVAILABLE:
 * the call may or may not have taken effect; the caller reads again before it decides anything.
 * KEDGE_LIMIT_EXCEEDED: over a limit below, nothing was written. KEDGE_INVALID_ARGUMENT: outside
 * the contract, nothing was written. KEDGE_BUSY, KEDGE_DISK_FULL, KEDGE_IO, KEDGE_NO_MEMORY:
 * nothing was written. KEDGE_CORRUPT KEDGE_RECORD_CORRUPT, of a read: the store has something that
 * the port cannot have written as a record. All calls block; any thread. */
#ifndef KEDGE_BACKEND_PORTS_RECORDS_H
#define KEDGE_BACKEND_PORTS_RECORDS_H

#include "common/bytes.h"

/* Keys are UTF-8 without NUL and not empty; so are the bounds of a query, where they are given. */
#define KEDGE_RECORD_PARTITION_BYTES_MAX 1024 /* it is the sort key of the inverted index */
#define KEDGE_RECORD_SORT_BYTES_MAX      1024
#define KEDGE_RECORD_NAME_BYTES_MAX      255 /* of an attribute */
#define KEDGE_RECORD_NUMBER_BYTES        21  /* what a number adds to the size of a record */

#define KEDGE_RECORD_BYTES_MAX      400000 /* names and values of one record, keys included */
#define KEDGE_TRANSACT_WRITES_MAX   100
#define KEDGE_TRANSACT_BYTES_MAX    4000000
#define KEDGE_PUT_MANY_MAX          25
#define KEDGE_RECORDS_PAGE_BYTES    1000000 /* a query stops after the record that passes it */
#define KEDGE_RECORDS_QUERY_MAX     1000    /* records a page */
#define KEDGE_BATCH_GET_KEYS_MAX    100
#define KEDGE_RECORD_ATTRIBUTES_MAX 32

#define KEDGE_RECORD_CORRUPT "record-corrupt"

/* The names of the keys; no other attribute may have them. Names of attributes are UTF-8. */
#define KEDGE_RECORDS_PARTITION "pk"
#define KEDGE_RECORDS_SORT      "sk"

/* A record with this text attribute is also in the inverted index, under the attribute's value.
 * Other records are not in it: the index is sparse. Under one value, records are in order of their
 * partition keys, and the bounds of a query are partition keys, too. The caller puts at most one
 * record of a partition under one value. The value is at most as long as a partition key. */
#define KEDGE_RECORDS_INVERTED "inverted"

typedef enum kedge_attribute_type {
    KEDGE_ATTRIBUTE_TEXT,   /* UTF-8 without NUL, `bytes` */
    KEDGE_ATTRIBUTE_BINARY, /* `bytes` */
    KEDGE_ATTRIBUTE_NUMBER  /* `number` */
} kedge_attribute_type;

typedef struct kedge_attribute {
    const char *name;
    kedge_attribute_type type;
    kedge_bytes bytes;
    int64_t number;
} kedge_attribute;

typedef struct kedge_record_key {
    kedge_bytes partition;
    kedge_bytes sort;
} kedge_record_key;

typedef struct kedge_record {
    kedge_record_key key;
    const kedge_attribute *attributes;
    size_t attribute_count;
} kedge_record;

/* NULL when the record has no such attribute. */
const kedge_attribute *kedge_record_attribute(const kedge_record *record, const char *name);

/* Records that a read gave, with their memory. Start from {0}; kedge_record_set_free in the end.
 * `more`: the page was full; go on after the last record's sort key (with `inverted`: after its
 * partition key). */
typedef struct kedge_record_set {
    kedge_record *records;
    size_t count;
    bool more;
    void *memory; /* owned; the implementation's own */
    void (*memory_free)(void *memory);
} kedge_record_set;

void kedge_record_set_free(kedge_record_set *set);

typedef enum kedge_condition {
    KEDGE_IF_ANY,    /* no condition */
    KEDGE_IF_ABSENT, /* there is no record under the key */
    KEDGE_IF_EQUAL   /* the record's attribute `expected.name` has exactly this type and value */
} kedge_condition;

typedef enum kedge_write_kind {
    KEDGE_WRITE_PUT, /* replaces the whole record */
    KEDGE_WRITE_DELETE,
    KEDGE_WRITE_CHECK /* only the condition, which is not KEDGE_IF_ANY; transact only */
} kedge_write_kind;

typedef struct kedge_record_write {
    kedge_write_kind kind;
    kedge_record record; /* attributes only for a put */
    kedge_condition condition;
    kedge_attribute expected;
} kedge_record_write;

typedef struct kedge_records_query {
    kedge_bytes partition; /* with `inverted`: the value of the attribute KEDGE_RECORDS_INVERTED */
    bool inverted;
    kedge_bytes sort_from; /* inclusive; empty: from the first */
    kedge_bytes sort_to;   /* inclusive; empty: to the last */
    kedge_bytes after;     /* exclusive start, in the direction of the query; empty: none */
    bool descending;
    uint32_t limit;  /* 1 to 1000 */
    bool consistent; /* sees every write that returned before; not allowed with `inverted` */
} kedge_records_query;

typedef struct kedge_records_vtable {
    /* must. KEDGE_NOT_FOUND when there is none; one record otherwise. */
    kedge_status (*get)(void *self, const kedge_record_key *key, bool consistent,
                        kedge_record_set *set, kedge_error *error);
    /* must. The records that exist among at most 100 distinct keys, in any order. */
    kedge_status (*batch_get)(void *self, const kedge_record_key *keys, size_t count,
                              bool consistent, kedge_record_set *set, kedge_error *error);
    /* must. In sort order; a page may be short although there is more (`more` tells). */
    kedge_status (*query)(void *self, const kedge_records_query *query, kedge_record_set *set,
                          kedge_error *error);
    /* must. One put or delete. */
    kedge_status (*write)(void *self, const kedge_record_write *write, kedge_error *error);
    /* must. At most 100 writes on distinct keys and 4 MB, all or none. */
    kedge_status (*transact)(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error);
    /* may. At most 25 puts without conditions on distinct keys, each for itself, in any order: when
     * it fails, some of them may have been written. NULL: kedge_records_put_all uses `transact`,
     * which suits a store where a transaction costs no more. */
    kedge_status (*put_many)(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error);
    /* must. */
    void (*close)(void *self);
} kedge_records_vtable;

typedef struct kedge_records {
    const kedge_records_vtable *vtable;
    void *self;
} kedge_records;

/* Any number of puts without conditions on distinct keys, in the cheapest way. When it fails, any
 * of them may have been written. */
kedge_status kedge_records_put_all(const kedge_records *records, const kedge_record_write *writes,
                                   size_t count, kedge_error *error);
/* The same in transactions, one after the other, in the order of `writes`. When it fails, the
 * first writes up to some point have been written, and none after it. */
kedge_status kedge_records_put_in_order(const kedge_records *records,
                                        const kedge_record_write *writes, size_t count,
                                        kedge_error *error);

#endif
