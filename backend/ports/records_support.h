/* What every implementation of the records port shares: the checks of its contract, conditions,
 * ranges, the compact form of a record's attributes, and the building of responses. */
#ifndef KEDGE_BACKEND_PORTS_RECORDS_SUPPORT_H
#define KEDGE_BACKEND_PORTS_RECORDS_SUPPORT_H

#include "backend/ports/records.h"
#include "common/arena.h"

/* ---- checks: KEDGE_OK, KEDGE_INVALID_ARGUMENT or KEDGE_LIMIT_EXCEEDED ---- */

kedge_status kedge_record_key_check(const kedge_record_key *key, kedge_error *error);
kedge_status kedge_record_write_check(const kedge_record_write *write, kedge_error *error);
kedge_status kedge_records_transact_check(const kedge_record_write *writes, size_t count,
                                          kedge_error *error);
kedge_status kedge_records_put_many_check(const kedge_record_write *writes, size_t count,
                                          kedge_error *error);
kedge_status kedge_records_batch_check(const kedge_record_key *keys, size_t count,
                                       kedge_error *error);
kedge_status kedge_records_query_check(const kedge_records_query *query, kedge_error *error);

/* What a record counts for in every limit: its keys, and its attributes' names and values. */
size_t kedge_record_bytes(const kedge_record *record);
/* The value under which the record stands in the inverted index; empty when it does not. */
kedge_bytes kedge_record_inverted(const kedge_record *record);

/* ---- conditions ---- */

/* `stored` is what stands under the key in compact form; without one, `exists` is false.
 * KEDGE_OK: the condition holds; KEDGE_CONFLICT; KEDGE_CORRUPT: `stored` is no compact form. */
kedge_status kedge_record_condition_check(const kedge_record_write *write, bool exists,
                                          kedge_bytes stored, kedge_error *error);

/* ---- ranges ---- */

/* A query's bounds and its `after` as one half-open range: lower <= key < upper. `storage` is what
 * the two point to, so that a range is never copied. */
typedef struct kedge_records_range {
    kedge_bytes lower;
    kedge_bytes upper;
    char lower_storage[KEDGE_RECORD_SORT_BYTES_MAX + 1];
    char upper_storage[KEDGE_RECORD_SORT_BYTES_MAX + 1];
} kedge_records_range;

void kedge_records_range_make(const kedge_records_query *query, kedge_records_range *range);

/* ---- the compact form (see record_format.c) ---- */

void kedge_record_encode(const kedge_record *record, kedge_buffer *out);

/* ---- responses ---- */

/* A set under construction. Start from {0} with `allocator` set. */
typedef struct kedge_record_page {
    const kedge_allocator *allocator;
    kedge_arena *arena;
    kedge_record *records;
    size_t count;
    size_t capacity;
    size_t bytes; /* the sum of kedge_record_bytes */
} kedge_record_page;

/* Adds a copy of one stored record, which is in the compact form. */
kedge_status kedge_record_page_add(kedge_record_page *page, const kedge_record_key *key,
                                   kedge_bytes encoded, kedge_error *error);
/* For stores with a form of their own: makes room for one more record, whose parts are then taken
 * from page->arena, and adds it. The room is false when there is no memory. */
bool kedge_record_page_room(kedge_record_page *page);
void kedge_record_page_append(kedge_record_page *page, const kedge_record *record);
void kedge_record_page_finish(kedge_record_page *page, bool more, kedge_record_set *set);
void kedge_record_page_free(kedge_record_page *page); /* what was not finished */

#endif
