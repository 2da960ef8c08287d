/* Seeded randomness: xoshiro256**, one independent stream for each part that draws. */
#ifndef KEDGE_TESTS_SIM_DICE_H
#define KEDGE_TESTS_SIM_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_dice {
    uint64_t state[4];
} sim_dice;

/* The same seed and stream give the same throws. */
sim_dice sim_dice_make(uint64_t seed, uint64_t stream);
uint64_t sim_dice_next(sim_dice *dice);
uint64_t sim_dice_below(sim_dice *dice, uint64_t limit); /* 0 .. limit-1; limit > 0 */
bool sim_dice_chance(sim_dice *dice, uint32_t per_mille);
void sim_dice_fill(sim_dice *dice, void *bytes, size_t size);

#endif
