/* What the checkers of a client look at: its position, its pending edits and its inbox, as they
 * stand in its files between two steps. */
#ifndef KEDGE_TESTS_SIM_CHECKS_VIEW_H
#define KEDGE_TESTS_SIM_CHECKS_VIEW_H

#include "sdk/store/store.h"
#include "tests/sim/sim.h"

#define SIM_VIEW_ROWS_MAX 2048

typedef struct sim_pending_row {
    int64_t sequence;
    uint8_t uid[SIM_UID_SIZE];
    uint8_t digest[KEDGE_DIGEST_SIZE];
    bool is_apply; /* of a client-only edit */
} sim_pending_row;

typedef struct sim_inbox_row {
    int64_t sequence;
    char client[64];
    int64_t id;
    int state; /* 0: the app sees it; 5: made again as `remade` */
    int64_t remade;
    bool damaged; /* so it is told */
    bool has_uid;
    uint8_t uid[SIM_UID_SIZE];
} sim_inbox_row;

typedef struct sim_view {
    sim_client *client;
    kedge_store_position position;
    const sim_version *at; /* the version of the cache; NULL: none */
    sim_pending_row pending[SIM_VIEW_ROWS_MAX];
    size_t pending_count;
    sim_inbox_row inbox[SIM_VIEW_ROWS_MAX];
    size_t inbox_count;
} sim_view;

/* Fills the view of a client. False: the store cannot be read now, or a violation was told. */
bool sim_view_look(sim_view *view);
/* Old or foreign pages of its cache may be read, until they were looked at. */
bool sim_view_is_doubted(const sim_view *view);
bool sim_view_is_pending(const sim_view *view, const sim_entry *entry);

/* checks_edits.c */
void check_i6_nothing_lost(const sim_view *view);
/* A rejection is shown once, and not again when the app has answered it. */
void check_i6_inbox(const sim_view *view);

#endif
