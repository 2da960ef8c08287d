/* A fixture whose store's mutators are watched, and a store that has company: see fixture.h. */
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static bool has_company(void *context)
{
    (void)context;
    return true;
}

static void drop_changes(void *context, const kedge_change_set *changes)
{
    (void)context;
    (void)changes;
}

const kedge_store_observer fixture_in_company = {.company = has_company, .changed = drop_changes};

int fixture_set_up_watched(void **state, kedge_mutator_function watch)
{
    fixture *f = malloc(sizeof *f);
    kedge_mutator *mutators = calloc(fixture_mutator_count, sizeof *mutators);
    for (size_t i = 0; i < fixture_mutator_count; i++) {
        mutators[i] = fixture_mutators[i];
        mutators[i].function = watch;
        mutators[i].userdata = (void *)&fixture_mutators[i];
    }
    fixture_begin(f);
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, mutators, fixture_mutator_count,
                                        &f->watched, &f->error),
                     KEDGE_OK);
    free(mutators);
    f->options.registry = f->watched;
    fixture_open(f);
    naive_server_edit(f->server, "set", "{\"id\":\"elsewhere\",\"value\":0}");
    fixture_pull(f);
    *state = f;
    return 0;
}
