/* A client's folder in a state that is damaged again and again, what should be read from it, and
 * how a client goes on with it. */
#ifndef KEDGE_TESTS_STORE_CACHE_SCENARIO_H
#define KEDGE_TESTS_STORE_CACHE_SCENARIO_H

#include "tests/store/fixture.h"

#include <sqlite3.h>

#define SCENARIO_ITEMS 120

typedef struct scenario {
    fixture f;
    char whole[160]; /* a copy of the folder before the damage */
    char *visible;   /* … and what was visible in it */
    int64_t pending; /* … and pending */
    char *pulled;    /* what is visible when all is pulled */
    int set_aside;   /* how often since the folder was put back */
} scenario;

/* For cmocka: the state is a scenario with an empty database that is open. */
int scenario_setup(void **state);
int scenario_teardown(void **state);

/* cache.db, as anybody may open it. */
sqlite3 *scenario_open_cache(const fixture *f);
int scenario_run_sql(const fixture *f, const char *sql); /* how many rows it changed */
extern const char scenario_layout_4[];                   /* SQL that leads back to it */

/* Edits of somebody else: items item000, item001, … of `notes`. */
void scenario_fill_server(fixture *f);
/* Keeps the state of the folder, and closes it. */
void scenario_remember(scenario *s);
void scenario_put_back(scenario *s); /* and closes it */
/* All is pulled, and edits are pending. */
void scenario_make_pulled(scenario *s);
/* A few pages of a snapshot have come, with the outcome of an edit. */
void scenario_make_staged(scenario *s);

/* Both assert that no wrong value is read. */
kedge_status scenario_query(scenario *s, const char *sql);
void scenario_read(scenario *s);
void scenario_check(scenario *s); /* the background check, to its end */
/* Reads and pulls as a client does, and expects that everything is as it should be in the end. */
void scenario_expect_healed(scenario *s);

#endif
