/* xoshiro256** by Blackman and Vigna (2018), seeded by splitmix64. */
#include "tests/sim/dice.h"

#include <string.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

sim_dice sim_dice_make(uint64_t seed, uint64_t stream)
{
    sim_dice dice;
    uint64_t state = seed * UINT64_C(0xd1342543de82ef95) + stream;
    for (size_t i = 0; i < 4; i++)
        dice.state[i] = splitmix(&state);
    return dice;
}

static uint64_t rotate(uint64_t value, int by)
{
    return (value << by) | (value >> (64 - by));
}

uint64_t sim_dice_next(sim_dice *dice)
{
    uint64_t *s = dice->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t sim_dice_below(sim_dice *dice, uint64_t limit)
{
    return sim_dice_next(dice) % limit;
}

bool sim_dice_chance(sim_dice *dice, uint32_t per_mille)
{
    return per_mille > 0 && sim_dice_below(dice, 1000) < per_mille;
}

void sim_dice_fill(sim_dice *dice, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        uint64_t word = sim_dice_next(dice);
        size_t part = size < sizeof word ? size : sizeof word;
        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
}
