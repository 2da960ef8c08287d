/* AWS's rules of what a request costs. */
#include "backend/ports/cost.h"

#include "backend/ports/prices.h"
#include "backend/ports/records_support.h"

#include <string.h>

kedge_cost kedge_cost_plus(const kedge_cost *a, const kedge_cost *b)
{
    kedge_cost sum;
    for (size_t i = 0; i < KEDGE_COST_KINDS; i++)
        sum.of[i] = a->of[i] + b->of[i];
    return sum;
}

kedge_cost kedge_cost_minus(const kedge_cost *a, const kedge_cost *b)
{
    kedge_cost rest;
    for (size_t i = 0; i < KEDGE_COST_KINDS; i++)
        rest.of[i] = a->of[i] - b->of[i];
    return rest;
}

double kedge_cost_read_units(const kedge_cost *cost)
{
    return (double)cost->of[KEDGE_COST_READ_HALVES] / 2;
}

double kedge_cost_records_dollars(const kedge_cost *cost)
{
    return ((double)cost->of[KEDGE_COST_WRITE_UNITS] * KEDGE_PRICE_WRITE_UNITS +
            kedge_cost_read_units(cost) * KEDGE_PRICE_READ_UNITS) /
           1e6;
}

double kedge_cost_blobs_dollars(const kedge_cost *cost)
{
    return ((double)cost->of[KEDGE_COST_BLOB_PUTS] * KEDGE_PRICE_BLOB_PUTS +
            (double)cost->of[KEDGE_COST_BLOB_GETS] * KEDGE_PRICE_BLOB_GETS) /
           1e6;
}

double kedge_cost_queue_dollars(const kedge_cost *cost)
{
    return (double)cost->of[KEDGE_COST_QUEUE_REQUESTS] * KEDGE_PRICE_QUEUE_REQUESTS / 1e6;
}

double kedge_cost_stream_dollars(const kedge_cost *cost)
{
    return (double)cost->of[KEDGE_COST_STREAM_READS] * KEDGE_PRICE_STREAM_READS / 1e6;
}

double kedge_cost_dollars(const kedge_cost *cost)
{
    return kedge_cost_records_dollars(cost) + kedge_cost_blobs_dollars(cost) +
           kedge_cost_queue_dollars(cost) + kedge_cost_stream_dollars(cost);
}

static void write_count(kedge_json_writer *writer, const char *name, uint64_t count)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, (int64_t)count);
}

void kedge_cost_write(const kedge_cost *cost, kedge_json_writer *writer)
{
    kedge_json_begin_object(writer);
    write_count(writer, "write_units", cost->of[KEDGE_COST_WRITE_UNITS]);
    kedge_json_key(writer, "read_units");
    kedge_json_number(writer, kedge_cost_read_units(cost));
    write_count(writer, "blob_puts", cost->of[KEDGE_COST_BLOB_PUTS]);
    write_count(writer, "blob_gets", cost->of[KEDGE_COST_BLOB_GETS]);
    write_count(writer, "queue_requests", cost->of[KEDGE_COST_QUEUE_REQUESTS]);
    kedge_json_key(writer, "dollars");
    kedge_json_number(writer, kedge_cost_dollars(cost));
    kedge_json_end_object(writer);
}

/* ---- DynamoDB ---- */

/* A byte for each digit to the base of 100 and one more, and one for the sign; zeros at the end do
 * not count. */
static size_t number_bytes(int64_t number)
{
    bool negative = number < 0;
    uint64_t rest = negative ? (uint64_t)0 - (uint64_t)number : (uint64_t)number;
    size_t digits = 0;
    while (rest > 0 && rest % 100 == 0)
        rest /= 100;
    for (; rest > 0; rest /= 100)
        digits++;
    return digits + 1 + (negative ? 1 : 0);
}

size_t kedge_cost_item_bytes(const kedge_record *record)
{
    size_t bytes = strlen(KEDGE_RECORDS_PARTITION) + record->key.partition.size +
                   strlen(KEDGE_RECORDS_SORT) + record->key.sort.size;
    for (size_t i = 0; i < record->attribute_count; i++) {
        const kedge_attribute *attribute = &record->attributes[i];
        bytes += strlen(attribute->name) + (attribute->type == KEDGE_ATTRIBUTE_NUMBER
                                                ? number_bytes(attribute->number)
                                                : attribute->bytes.size);
    }
    return bytes;
}

static uint64_t started(size_t bytes, size_t unit)
{
    return bytes == 0 ? 1 : (bytes + unit - 1) / unit;
}

uint64_t kedge_cost_write_units(size_t bytes)
{
    return started(bytes, KEDGE_COST_WRITE_UNIT_BYTES);
}

uint64_t kedge_cost_read_halves(size_t bytes, bool consistent)
{
    return started(bytes, KEDGE_COST_READ_UNIT_BYTES) * (consistent ? 2 : 1);
}

uint64_t kedge_cost_of_write(const kedge_record_write *write, bool done)
{
    if (write->kind != KEDGE_WRITE_PUT) return 1;
    uint64_t units = kedge_cost_write_units(kedge_cost_item_bytes(&write->record));
    return done && kedge_record_inverted(&write->record).size > 0 ? 2 * units : units;
}

uint64_t kedge_cost_of_transaction(const kedge_record_write *writes, size_t count, bool done)
{
    uint64_t units = 0;
    for (size_t i = 0; i < count; i++)
        units += kedge_cost_of_write(&writes[i], done);
    bool alone = count == 1 && writes[0].kind != KEDGE_WRITE_CHECK;
    return alone ? units : 2 * units;
}

/* ---- S3 and SQS ---- */

uint64_t kedge_cost_blob_puts(size_t bytes)
{
    if (bytes < KEDGE_COST_MULTIPART_BYTES) return 1;
    return started(bytes, KEDGE_COST_PART_BYTES) + 2; /* its beginning and its end */
}

uint64_t kedge_cost_blob_gets_of_put(size_t bytes)
{
    return bytes < KEDGE_COST_MULTIPART_BYTES ? 0 : 2;
}

uint64_t kedge_cost_queue_requests(size_t bytes)
{
    return started(bytes, KEDGE_COST_QUEUE_BYTES);
}
