/* Reads one item. */
#include "sdk/store/store_internal.h"

#include "common/error.h"
#include "common/names.h"
#include <string.h>

static kedge_status get_visible(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                                kedge_buffer *value, kedge_error *error)
{
    kedge_bytes found;
    kedge_status status = kedge_cache_item(db, collection, id, &found, error);
    if (status == KEDGE_OK) {
        kedge_buffer_append_bytes(value, found);
        status = kedge_buffer_status(value, error);
    }
    return status;
}

static kedge_status get_once(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, bool *again, kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_status status = kedge_reader_take_shown(store, &reader, error);
    *again = false;
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(value);
    status = get_visible(&reader->cache, collection, id, value, error);
    kedge_reader_end(reader);
    if (status == KEDGE_CORRUPT) *again = kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    return status;
}

static kedge_status get_item(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, kedge_error *error)
{
    bool again;
    kedge_status status = get_once(store, collection, id, value, &again, error);
    if (again) status = get_once(store, collection, id, value, &again, error);
    if (status != KEDGE_NOT_FOUND) return status;
    kedge_buffer_clear(value);
    if (collection.size == 0)
        return kedge_fail(error, status, "project-not-set", "the project record is not set");
    return kedge_fail(error, status, "item-not-found", "there is no item %.*s/%.*s",
                      (int)collection.size, collection.data, (int)(id.size < 128 ? id.size : 128),
                      id.data);
}

/* The key of an item, or of the project record. */
static kedge_status check_key(kedge_bytes collection, kedge_bytes id, kedge_error *error)
{
    if (collection.size == 0 && id.size == 0) return KEDGE_OK;
    kedge_status status = kedge_check_name("collection", collection, error);
    if (status == KEDGE_OK) status = kedge_check_item_id(id, error);
    return status;
}

kedge_status kedge_store_get(kedge_store *store, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, kedge_error *error)
{
    kedge_status status = check_key(collection, id, error);
    if (status != KEDGE_OK) return status;
    return get_item(store, collection, id, value, error);
}
