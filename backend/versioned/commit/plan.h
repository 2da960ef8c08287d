/* Which mutations of a push are new at a head: the rules of ids, per client and in their order.
 *
 *   id <= lmid, same digest       skipped
 *   id <= lmid, another digest    MISMATCH; nothing more of this client and sender
 *   id == lmid + 1                to be applied, or SERVER_OLD when it waits for a newer mutator;
 *                                 nothing more of this client and sender then
 *   id >  lmid + 1                GAP; nothing more of this client and sender
 *   a client that is retired, reserved, unknown with a first id above 1, or of another group
 *   or user                       nothing of it
 *
 * A problem does not block the other clients of the push, and it does not block the same client id
 * of another sender, except in a replay. The plan is valid at the head for which it was made, and
 * at the versions that this push puts on top of it. plan.c explains why these rules decide each
 * mutation exactly once. */
#ifndef KEDGE_BACKEND_COMMIT_PLAN_H
#define KEDGE_BACKEND_COMMIT_PLAN_H

#include "backend/base/project.h"
#include "backend/versioned/commit/processor.h"
#include "common/arena.h"
#include "mutate/batch.h"

/* A client of one sender, or of several senders with the same group and user. The same client id of
 * another group or user is a separate entry, except in a replay. */
typedef struct kedge_plan_client {
    kedge_bytes client;
    const kedge_push_sender *sender;
    kedge_client_state state;
    int64_t next; /* the id that would be applied next */
    bool blocked; /* `problem` was found in a mutation of `blocked_sender`, an index into senders */
    size_t blocked_sender;
    kedge_push_problem problem;
    /* The digests of decided ids from window_first on, as far as they were asked for. */
    uint8_t (*window)[KEDGE_DIGEST_SIZE];
    int64_t window_first;
    size_t window_count;
} kedge_plan_client;

typedef struct kedge_plan {
    kedge_arena arena;
    kedge_plan_client *clients;
    size_t client_count;
    size_t client_capacity;
    size_t *owner; /* of each mutation of the push: its client's index */
    size_t *apply; /* indexes of the mutations to apply, in their order */
    size_t apply_count;
    kedge_push_problem problem; /* the first problem */
    char detail[256];
    kedge_batch_part lack;               /* of KEDGE_PUSH_SERVER_OLD, without its args */
    size_t refused[KEDGE_PUSH_PROBLEMS]; /* mutations, by the problem of their client */
} kedge_plan;

/* The caller must free the plan's arena, also after a failure. */
kedge_status kedge_plan_make(const kedge_project *project, const kedge_version *head,
                             const kedge_push *push, kedge_plan *plan, kedge_error *error);

#endif
