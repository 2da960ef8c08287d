/* Bodies that a patch names by their hash: taken from what the client shows, or fetched in parts.
 *
 * A body may have 8 MiB, and not every front end can carry that in one response. So each request
 * asks for a few MiB of the body's gzip, as it is stored, and the parts are joined. A lost part is
 * requested again by itself. When a part does not fit the others or has a wrong length, all parts
 * are discarded, and the next request begins at the first byte. */
#include "wire/body.h"
#include "common/error.h"
#include "common/gzip.h"
#include "sdk/driver/driver_internal.h"
#include "wire/key.h"

kedge_status kedge_driver_build_body_range(const kedge_driver_held *held, kedge_buffer *range,
                                           kedge_error *error)
{
    char header[KEDGE_WIRE_RANGE_SIZE];
    int64_t first = (int64_t)held->parts.size;
    kedge_wire_range_write(first, first + KEDGE_DRIVER_PART_BYTES - 1, header);
    kedge_buffer_append_text(range, header);
    return kedge_buffer_status(range, error);
}

/* ---- parts ---- */

static bool is_the_part_asked_for(const kedge_driver_held *held,
                                  const kedge_driver_response *response,
                                  const kedge_wire_body_part *part)
{
    int64_t have = (int64_t)held->parts.size;
    int64_t left = part->size_bytes - have;
    int64_t expected = left < KEDGE_DRIVER_PART_BYTES ? left : KEDGE_DRIVER_PART_BYTES;
    bool of_the_others = have == 0 || part->size_bytes == held->parts_size;
    return of_the_others && left > 0 && part->size_bytes <= KEDGE_DRIVER_STORED_BYTES_MAX &&
           part->first == have && part->last == have + expected - 1 &&
           (int64_t)response->body.size == expected;
}

static kedge_status keep_part(kedge_driver_held *held, const kedge_driver_response *response,
                              kedge_error *error)
{
    kedge_wire_body_part part;
    if (response->status != 206 || !kedge_wire_content_range_read(response->content_range, &part) ||
        !is_the_part_asked_for(held, response, &part)) {
        return kedge_fail(error, KEDGE_PROTOCOL, "body-part",
                          "a part of a body is not the one asked for, from byte %zu on",
                          held->parts.size);
    }
    held->parts_size = part.size_bytes;
    held->parts_gzip = response->gzip;
    kedge_buffer_append_bytes(&held->parts, response->body);
    return kedge_buffer_status(&held->parts, error);
}

/* ---- the whole body ---- */

static kedge_status set_body(kedge_driver_held *held, kedge_bytes body, kedge_error *error)
{
    return kedge_wire_patch_set_body(kedge_driver_held_patch(held), held->next_body, body, error);
}

static kedge_status join_parts(kedge_driver *driver, kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    kedge_bytes stored = kedge_buffer_bytes(&held->parts);
    kedge_buffer plain = kedge_buffer_make(driver->allocator);
    if (!held->parts_gzip) return set_body(held, stored, error);
    kedge_status status = kedge_gunzip(stored, KEDGE_LIMIT_ITEM_BYTES, &plain, error);
    if (status == KEDGE_CORRUPT || status == KEDGE_LIMIT_EXCEEDED) {
        status = kedge_fail(error, KEDGE_PROTOCOL, "body-invalid",
                            "the parts of a body are no gzip of at most %d bytes",
                            KEDGE_LIMIT_ITEM_BYTES);
    }
    if (status == KEDGE_OK) status = set_body(held, kedge_buffer_bytes(&plain), error);
    kedge_buffer_free(&plain);
    return status;
}

kedge_status kedge_driver_read_body(kedge_driver *driver, const kedge_driver_response *response,
                                    kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    kedge_status status = KEDGE_OK;
    bool more = false;
    if (kedge_driver_held_next_body(held) == NULL) {
        return kedge_fail(error, KEDGE_INTERNAL, "not-asked", "no body is missing");
    }
    if (response->status == 200) { /* all of it, from a server or proxy that knows no ranges */
        status = set_body(held, response->body, error);
    } else {
        status = keep_part(held, response, error);
        more = status == KEDGE_OK && (int64_t)held->parts.size < held->parts_size;
        if (status == KEDGE_OK && !more) status = join_parts(driver, error);
    }
    if (!more) kedge_driver_held_free_parts(held);
    return status;
}

/* ---- a body that is here ---- */

/* Mostly the client's own edit, which it has just sent. */
void kedge_driver_take_shown_bodies(kedge_driver *driver)
{
    const kedge_wire_patch_operation *next;
    kedge_buffer shown = kedge_buffer_make(driver->allocator);
    while ((next = kedge_driver_held_next_body(&driver->held)) != NULL &&
           kedge_store_get(driver->store, next->collection, next->id, &shown, NULL) == KEDGE_OK &&
           set_body(&driver->held, kedge_buffer_bytes(&shown), NULL) == KEDGE_OK) {
    }
    kedge_buffer_free(&shown);
}

/* ---- a body that is lost ---- */

kedge_status kedge_driver_leave_body_out(kedge_driver *driver, kedge_error *error)
{
    kedge_driver_held *held = &driver->held;
    const kedge_wire_patch_operation *operation = kedge_driver_held_next_body(held);
    if (operation == NULL) {
        return kedge_fail(error, KEDGE_INTERNAL, "not-asked", "no body is missing");
    }
    kedge_buffer key = kedge_buffer_make(driver->allocator);
    kedge_wire_key_join(operation->collection, operation->id, &key);
    kedge_status status = kedge_buffer_status(&key, error);
    if (status == KEDGE_OK) {
        kedge_driver_damage_add(&held->damage, kedge_buffer_bytes(&key));
        kedge_wire_patch_leave_out(kedge_driver_held_patch(held), held->next_body);
        kedge_driver_held_free_parts(held);
    }
    kedge_buffer_free(&key);
    return status;
}
