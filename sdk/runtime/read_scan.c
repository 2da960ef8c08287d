/* kedge/read.h: scans: checks the app's parameters and calls the store. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"
#include "sdk/runtime/structs.h"

struct kedge_scan {
    const kedge_allocator *allocator;
    kedge_store_scan *cursor;
};

static const kedge_struct_kind OPTIONS = {"KEDGE_SCAN_OPTIONS_INIT", KEDGE_SCAN_OPTIONS_VERSION,
                                          sizeof(kedge_scan_options)};

static kedge_status check_options(const kedge_scan_options *options, kedge_error *error)
{
    if (options->limit < 0) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "scan-limit",
                          "the limit of the scan is %lld; allowed are a number of items, and 0 for"
                          " all",
                          (long long)options->limit);
    }
    if (options->prefix == NULL && options->prefix_size > 0) {
        return kedge_fail_null("prefix", error);
    }
    return KEDGE_OK;
}

kedge_status kedge_scan_open(kedge_db *db, const char *collection,
                             const kedge_scan_options *options, kedge_scan **scan,
                             kedge_error *error)
{
    kedge_scan_options own = KEDGE_SCAN_OPTIONS_INIT;
    KEDGE_CALL(db, error);
    if (scan == NULL) return kedge_fail_null("scan", error);
    kedge_status status = kedge_check_collection(collection, error);
    if (status == KEDGE_OK && options != NULL) {
        status = kedge_struct_take(OPTIONS, options, &own, error);
    }
    if (status == KEDGE_OK) status = check_options(&own, error);
    if (status != KEDGE_OK) return status;

    const kedge_allocator *allocator = db->environment.allocator;
    kedge_scan *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    status =
        kedge_store_scan_open(db->store, kedge_bytes_of(collection), &own, &made->cursor, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    *scan = made;
    return KEDGE_OK;
}

kedge_status kedge_scan_next(kedge_scan *scan, const char **id, size_t *id_size, const char **value,
                             size_t *value_size, kedge_error *error)
{
    kedge_bytes row_id;
    kedge_bytes row_value;
    if (scan == NULL) return kedge_fail_null("scan", error);
    kedge_status status = kedge_store_scan_next(scan->cursor, &row_id, &row_value, error);
    if (status != KEDGE_OK) return status;
    if (id != NULL) *id = row_id.data;
    if (id_size != NULL) *id_size = row_id.size;
    if (value != NULL) *value = row_value.data;
    if (value_size != NULL) *value_size = row_value.size;
    return KEDGE_OK;
}

void kedge_scan_close(kedge_scan *scan)
{
    if (scan == NULL) return;
    kedge_store_scan_close(scan->cursor);
    kedge_release(scan->allocator, scan);
}
