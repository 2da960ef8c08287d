/* A transaction over an overlay and a reader that can fail, for the tests of this folder. */
#ifndef KEDGE_TESTS_MUTATE_TX_FIXTURE_H
#define KEDGE_TESTS_MUTATE_TX_FIXTURE_H

#include "mutate/transaction.h"

typedef struct tx_fixture {
    const kedge_allocator *allocator;
    kedge_registry *registry;
    kedge_overlay *below; /* the state that the transaction reads */
    kedge_overlay_view below_view;
    kedge_overlay *overlay;
    kedge_tx *tx;
    uint64_t fail_read; /* this many reads from now fails; 0: none */
    kedge_error error;  /* of the last run */
} tx_fixture;

/* False when memory runs out. The fixture must not move. */
bool tx_fixture_open(tx_fixture *fixture, const kedge_allocator *allocator,
                     const kedge_mutator *mutators, size_t count);
void tx_fixture_close(tx_fixture *fixture);
kedge_status tx_fixture_run(tx_fixture *fixture, const char *name, const char *args);
/* Puts an item into the collection "notes". */
void tx_fixture_put(tx_fixture *fixture, const char *id, const char *value);
/* The item as the run left it, or NULL when there is none. Borrowed until the next run. */
const char *tx_fixture_item(tx_fixture *fixture, const char *collection, const char *id);

/* For cmocka: the fixture is the state of a test. One at a time. */
int tx_fixture_set_up(void **state); /* no mutators but the built-in ones */
int tx_fixture_set_up_with(void **state, const kedge_mutator *mutators, size_t count);
int tx_fixture_tear_down(void **state);

#endif
