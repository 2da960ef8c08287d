/* A store with client-only mutators, and the steps of a conflict. */
#include "tests/store/own_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void copy_folder(void *context, const char *phase)
{
    own_fixture *own = context;
    char path[200];
    if (own->phase == NULL || strcmp(phase, own->phase) != 0) return;
    snprintf(path, sizeof path, "%s/copy%d", own->f.folder, own->copies++);
    fixture_copy_tree(own->f.path, path);
}

static kedge_registry *make_registry(const fixture *f)
{
    static kedge_mutator own[2];
    kedge_registry *registry = NULL;
    own[0] = *kedge_registry_find(f->registry, KEDGE_BYTES("add"));
    own[1] = *kedge_registry_find(f->registry, KEDGE_BYTES("refuse-over"));
    own[0].name = "own-add";
    own[1].name = "own-refuse-over";
    assert_int_equal(kedge_registry_new_for_client(&kedge_allocator_default, fixture_mutators,
                                                   fixture_mutator_count, own, 2, &registry, NULL),
                     KEDGE_OK);
    return registry;
}

void own_begin(own_fixture *own)
{
    memset(own, 0, sizeof *own);
    fixture_begin(&own->f);
    own->with = make_registry(&own->f);
    own->f.options.registry = own->with;
    own->f.options.phase = copy_folder;
    own->f.options.phase_context = own;
    fixture_open(&own->f);
}

void own_end(own_fixture *own)
{
    fixture_end(&own->f);
    kedge_registry_free(own->with);
}

int own_set_up(void **state)
{
    static own_fixture own;
    own_begin(&own);
    *state = &own;
    return 0;
}

int own_tear_down(void **state)
{
    own_end(*state);
    return 0;
}

fixture *own_fixture_of(void **state)
{
    own_fixture *own = *state;
    return &own->f;
}

void own_go_to(fixture *f, const char *path)
{
    fixture_close(f);
    snprintf(f->path, sizeof f->path, "%s", path);
    fixture_open(f);
}

int64_t own_first_row(fixture *f, bool rejected, char *says, size_t size)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_status status = rejected ? kedge_store_rejected_open(f->store, &list, NULL)
                                   : kedge_store_pending_open(f->store, &list, NULL);
    assert_int_equal(status, KEDGE_OK);
    if (kedge_store_list_next(list, &row, NULL) == KEDGE_OK)
        snprintf(says, size, "%s %s %s", row.name, row.args, row.code);
    kedge_store_list_close(list);
    return row.sequence;
}

void own_push_after_other(fixture *f, const char *add)
{
    naive_server_edit(f->server, "add", add);
    assert_int_equal(fixture_push(f), NAIVE_OK);
}
