/* Random damage to a response, the same in every run. */
#ifndef KEDGE_TESTS_AWS_DAMAGE_H
#define KEDGE_TESTS_AWS_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

#define DAMAGE_GROWTH_MAX 16

uint32_t damage_random(uint64_t *seed);
/* One change somewhere: a byte, a piece cut out, a piece doubled, the end cut off. `text` has room
 * for DAMAGE_GROWTH_MAX bytes more; gives the new size. */
size_t damage(char *text, size_t size, uint64_t *seed);

#endif
