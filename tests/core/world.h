/* What the core does, as the property test plays events: each action is held against what runs and
 * what was said before. */
#ifndef KEDGE_TESTS_CORE_WORLD_H
#define KEDGE_TESTS_CORE_WORLD_H

#include "sdk/core/core.h"

typedef struct world {
    kedge_core core;
    uint64_t seed;
    int64_t now_ms;
    int64_t timer_ms;
    kedge_core_position position;
    bool online;
    kedge_connection connection; /* as it was reported last */
    bool stopped;
    bool token_asked;
    bool shut_down;
    bool push_running;
    bool push_fresh;
    int64_t push_after;   /* where it begins */
    int64_t push_through; /* the last id that it holds */
    int64_t acknowledged; /* by the last push that ended well; 0: in doubt since */
    bool pull_running;
    kedge_request_kind pull_kind;
    kedge_action_kind work;
    bool working;
    bool stream_open;
    bool sync_wanted;
    int64_t sends;
    int64_t seen_ms;       /* of the last event */
    int64_t rotations;     /* that ended */
    int64_t rotated_ms[2]; /* when the last two did */
} world;

/* A random number below `bound`. */
uint64_t draw(world *w, uint64_t bound);
void world_init(world *w, uint64_t seed);
/* `w` stands as the event says; the core must agree. */
void take_event(world *w, kedge_core_event event);
/* The same of the end of the running push, which may acknowledge something or doubt it. */
void push_ends(world *w, const kedge_core_event *event);

#endif
