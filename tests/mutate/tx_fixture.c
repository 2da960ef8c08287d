/* A transaction over an overlay and a reader that can fail. */
#include "tests/mutate/tx_fixture.h"

#include "common/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool must_fail(tx_fixture *fixture)
{
    return fixture->fail_read > 0 && --fixture->fail_read == 0;
}

static kedge_status get(void *context, kedge_bytes collection, kedge_bytes id, kedge_buffer *value,
                        kedge_error *error)
{
    tx_fixture *fixture = context;
    if (must_fail(fixture)) return kedge_fail(error, KEDGE_IO, "read-failed", "planted");
    kedge_state_reader reader = kedge_overlay_reader(&fixture->below_view);
    return reader.get(reader.context, collection, id, value, error);
}

static kedge_status next(void *context, kedge_bytes collection, bool from_start, kedge_bytes after,
                         kedge_buffer *id, kedge_buffer *value, kedge_error *error)
{
    tx_fixture *fixture = context;
    if (must_fail(fixture)) return kedge_fail(error, KEDGE_IO, "read-failed", "planted");
    kedge_state_reader reader = kedge_overlay_reader(&fixture->below_view);
    return reader.next(reader.context, collection, from_start, after, id, value, error);
}

bool tx_fixture_open(tx_fixture *fixture, const kedge_allocator *allocator,
                     const kedge_mutator *mutators, size_t count)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->allocator = allocator;
    fixture->below = kedge_overlay_new(allocator);
    fixture->overlay = kedge_overlay_new(allocator);
    fixture->below_view = (kedge_overlay_view){fixture->below, kedge_state_reader_empty};
    if (fixture->below == NULL || fixture->overlay == NULL) return false;
    if (kedge_registry_new(allocator, mutators, count, &fixture->registry, &fixture->error) !=
        KEDGE_OK) {
        return false;
    }
    kedge_state_reader reader = {fixture, get, next};
    return kedge_tx_new(allocator, fixture->registry, fixture->overlay, reader, &fixture->tx,
                        &fixture->error) == KEDGE_OK;
}

void tx_fixture_close(tx_fixture *fixture)
{
    kedge_tx_free(fixture->tx);
    kedge_registry_free(fixture->registry);
    kedge_overlay_free(fixture->overlay);
    kedge_overlay_free(fixture->below);
}

kedge_status tx_fixture_run(tx_fixture *fixture, const char *name, const char *args)
{
    kedge_call call = {.name = kedge_bytes_of(name),
                       .args = kedge_bytes_of(args),
                       .caller = {"anna", "editor", "client-1", 1700000000000}};
    memset(&fixture->error, 0, sizeof fixture->error);
    return kedge_tx_run(fixture->tx, &call, &fixture->error);
}

void tx_fixture_put(tx_fixture *fixture, const char *id, const char *value)
{
    char args[512];
    snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":%s}", id, value);
    assert_int_equal(tx_fixture_run(fixture, "kedge.put", args), KEDGE_OK);
}

const char *tx_fixture_item(tx_fixture *fixture, const char *collection, const char *id)
{
    kedge_overlay_entry entry;
    kedge_bytes in = kedge_bytes_of(collection);
    if (kedge_overlay_get(fixture->overlay, in, kedge_bytes_of(id), &entry)) {
        return entry.deleted ? NULL : entry.value.data;
    }
    if (kedge_overlay_get(fixture->below, in, kedge_bytes_of(id), &entry)) {
        return entry.value.data;
    }
    return NULL;
}

int tx_fixture_set_up_with(void **state, const kedge_mutator *mutators, size_t count)
{
    static tx_fixture fixture;
    *state = &fixture;
    return tx_fixture_open(&fixture, &kedge_allocator_default, mutators, count) ? 0 : 1;
}

int tx_fixture_set_up(void **state)
{
    return tx_fixture_set_up_with(state, NULL, 0);
}

int tx_fixture_tear_down(void **state)
{
    tx_fixture_close(*state);
    return 0;
}
