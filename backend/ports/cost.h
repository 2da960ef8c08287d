/* What calls of the ports cost on AWS, by AWS's own rules, whatever the ports are implemented on.
 *
 *   write unit   1 KB of an item that is written, at least one; in a transaction twice
 *   read unit    4 KB of a consistent read, at least one; an eventually consistent one is half
 *   blob put     a request of S3's class PUT, COPY, POST, LIST; each part of a large blob is one
 *   blob get     a request of S3's class GET and all others
 *   queue        a request of SQS; each 64 KB of what it carries count as one
 *   stream       a GetRecords of DynamoDB Streams; Lambda's own reads are free */
#ifndef KEDGE_BACKEND_PORTS_COST_H
#define KEDGE_BACKEND_PORTS_COST_H

#include "backend/ports/records.h"
#include "common/json.h"

#define KEDGE_COST_WRITE_UNIT_BYTES 1024
#define KEDGE_COST_READ_UNIT_BYTES  4096
#define KEDGE_COST_QUEUE_BYTES      65536
/* Of a multipart upload, which starts from the first size on. */
#define KEDGE_COST_MULTIPART_BYTES 16777216
#define KEDGE_COST_PART_BYTES      8388608

typedef enum kedge_cost_kind {
    KEDGE_COST_WRITE_UNITS,
    KEDGE_COST_READ_HALVES, /* half read units */
    KEDGE_COST_BLOB_PUTS,
    KEDGE_COST_BLOB_GETS,
    KEDGE_COST_BLOB_BYTES_PUT,
    KEDGE_COST_BLOB_BYTES_GOT,
    KEDGE_COST_QUEUE_REQUESTS,
    KEDGE_COST_STREAM_READS,
    KEDGE_COST_BYTES_STORED, /* by puts of records and blobs, and by grants of such puts; AWS
                                charges them by the month */
    KEDGE_COST_KINDS
} kedge_cost_kind;

typedef struct kedge_cost {
    uint64_t of[KEDGE_COST_KINDS];
} kedge_cost;

kedge_cost kedge_cost_plus(const kedge_cost *a, const kedge_cost *b);
kedge_cost kedge_cost_minus(const kedge_cost *a, const kedge_cost *b);
double kedge_cost_read_units(const kedge_cost *cost);
/* By prices.h. */
double kedge_cost_records_dollars(const kedge_cost *cost);
double kedge_cost_blobs_dollars(const kedge_cost *cost);
double kedge_cost_queue_dollars(const kedge_cost *cost);
double kedge_cost_stream_dollars(const kedge_cost *cost);
double kedge_cost_dollars(const kedge_cost *cost); /* all four */
/* {"write_units","read_units","blob_puts","blob_gets","queue_requests","dollars"} */
void kedge_cost_write(const kedge_cost *cost, kedge_json_writer *writer);

/* ---- DynamoDB's rules ---- */

/* The size of an item: names and texts as UTF-8, a number by its digits. */
size_t kedge_cost_item_bytes(const kedge_record *record);
uint64_t kedge_cost_write_units(size_t bytes);
uint64_t kedge_cost_read_halves(size_t bytes, bool consistent);

/* The units of a write. `done`: it took effect, or may have; otherwise its condition failed. A put
 * counts by the new item, whatever it replaces; one that took effect counts again when the item is
 * in the inverted index. The item that a delete or a check meets is not known here, and counts as
 * the smallest. */
uint64_t kedge_cost_of_write(const kedge_record_write *write, bool done);
/* A transaction of one put or delete is sent as that write. */
uint64_t kedge_cost_of_transaction(const kedge_record_write *writes, size_t count, bool done);

/* ---- S3's and SQS's ---- */

uint64_t kedge_cost_blob_puts(size_t bytes);
uint64_t kedge_cost_blob_gets_of_put(size_t bytes); /* a multipart upload looks at the key twice */
uint64_t kedge_cost_queue_requests(size_t bytes);

#endif
