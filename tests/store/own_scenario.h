/* A store with client-only mutators: "own-add" and "own-refuse-over" do what "add" and
 * "refuse-over" do. */
#ifndef KEDGE_TESTS_STORE_OWN_SCENARIO_H
#define KEDGE_TESTS_STORE_OWN_SCENARIO_H

#include "tests/store/fixture.h"

typedef struct own_fixture {
    fixture f;
    kedge_registry *with; /* with the client-only mutators; `f.registry` has none */
    const char *phase;    /* where the folder is copied, as a kill would leave it */
    int copies;
} own_fixture;

void own_begin(own_fixture *own);
void own_end(own_fixture *own);
/* For cmocka; the state is an own_fixture. */
int own_set_up(void **state);
int own_tear_down(void **state);
fixture *own_fixture_of(void **state);

#define ADD(by) "{\"id\":\"n\",\"by\":" #by "}"

/* Another client's edit comes first, and then those that are pending: they conflict. */
void own_push_after_other(fixture *f, const char *add);
/* The first row of a list: its sequence, and in `says` "name args code". */
int64_t own_first_row(fixture *f, bool rejected, char *says, size_t size);
/* Goes on in another folder. */
void own_go_to(fixture *f, const char *path);

#endif
