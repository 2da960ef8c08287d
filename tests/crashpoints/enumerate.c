/* All points of a story. How many there are shows while they are visited: a processor that ends
 * before its point has no more of them. */
#include "tests/crashpoints/enumerate.h"

#define DELETE_DERIVED_EVERY 8
/* Up to so many pairs each has every ending; where there are more, each has one, in turn. */
#define PAIRS_WITH_ALL_ENDINGS 600

static kedge_status run_at(world *here, const story *told, const run_points *points,
                           run_reached *reached, tally *counts, kedge_error *error)
{
    uint64_t before = 0;
    uint64_t after = 0;
    run_points wanted = *points;
    wanted.delete_derived = counts->runs++ % DELETE_DERIVED_EVERY == 0;
    for (int i = 0; i < CHECKS; i++)
        before += counts->all.violated[i];
    kedge_status status = run_once(here, told, &wanted, reached, &counts->all, error);
    for (int i = 0; i < CHECKS; i++)
        after += counts->all.violated[i];
    if (after > before && !counts->found) {
        counts->found = true;
        counts->points = wanted;
    }
    return status;
}

static kedge_status singles_of(world *here, const story *told, tally *counts, int64_t *points,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    bool more = true;
    for (*points = 0; more && status == KEDGE_OK; ++*points) {
        run_points at = {.first = *points, .end = ENDING_FIRST_DIES, .alone = true};
        run_reached reached = {false, false};
        status = run_at(here, told, &at, &reached, counts, error);
        more = reached.first;
        if (more) counts->singles++;
    }
    --*points; /* the last one was behind the end */
    return status;
}

kedge_status enumerate_singles(world *here, const story *told, tally *counts, kedge_error *error)
{
    story turned = *told;
    turned.first = told->second;
    turned.second = told->first;
    kedge_status status = singles_of(here, told, counts, &counts->points_first, error);
    if (status == KEDGE_OK)
        status = singles_of(here, &turned, counts, &counts->points_second, error);
    return status;
}

/* One pair of points, with every ending or with one. */
static kedge_status pair_at(world *here, const story *told, run_points at, bool all_endings,
                            tally *counts, run_reached *reached, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    if (!all_endings) {
        at.end = (ending)((at.first + at.second) % ENDINGS);
        status = run_at(here, told, &at, reached, counts, error);
    }
    for (int end = 0; all_endings && end < ENDINGS && status == KEDGE_OK; end++) {
        at.end = (ending)end;
        status = run_at(here, told, &at, reached, counts, error);
    }
    if (reached->first && reached->second) counts->pairs++;
    return status;
}

kedge_status enumerate_pairs(world *here, const story *told, bool until_caught, tally *counts,
                             kedge_error *error)
{
    bool all_endings = counts->points_first * counts->points_second <= PAIRS_WITH_ALL_ENDINGS;
    kedge_status status = KEDGE_OK;
    run_reached reached = {true, true};
    for (int64_t first = 0; reached.first && status == KEDGE_OK; first++) {
        reached.second = true;
        for (int64_t second = 0; reached.second && status == KEDGE_OK; second++) {
            if (until_caught && counts->found) return status;
            run_points at = {.first = first, .second = second};
            status = pair_at(here, told, at, all_endings, counts, &reached, error);
        }
    }
    return status;
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % below;
}

kedge_status enumerate_sample(world *here, const story *told, uint64_t *seed, int64_t end_ms,
                              uint64_t pairs_max, tally *counts, kedge_error *error)
{
    const kedge_environment *environment = &here->environment;
    kedge_status status = KEDGE_OK;
    for (uint64_t i = 0; i < pairs_max && status == KEDGE_OK; i++) {
        if (environment->monotonic_ms(environment->context) >= end_ms) break;
        run_points at = {.first = (int64_t)draw(seed, (uint64_t)counts->points_first),
                         .second = (int64_t)draw(seed, (uint64_t)counts->points_second),
                         .end = (ending)draw(seed, ENDINGS)};
        run_reached reached = {false, false};
        status = run_at(here, told, &at, &reached, counts, error);
        if (reached.first && reached.second) counts->pairs++;
    }
    return status;
}
