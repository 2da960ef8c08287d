/* Random canonical objects and merge patches for them, from a seed. */
#ifndef KEDGE_TESTS_MUTATE_RANDOM_JSON_H
#define KEDGE_TESTS_MUTATE_RANDOM_JSON_H

#include "common/bytes.h"

#include <stdlib.h>

/* Splitmix64: the same numbers from a seed everywhere. */
uint64_t random_bits(uint64_t *seed);
size_t random_next(uint64_t *seed, size_t below); /* a number below it */

/* Appends a canonical object of at least `bytes`: members with numbers, texts, arrays and objects
 * of all sizes, some of which are larger than a piece of a rope. */
void random_object(uint64_t *seed, size_t bytes, kedge_buffer *out);
/* The same of an array, and of any value, which may have fewer bytes. */
void random_array(uint64_t *seed, size_t bytes, kedge_buffer *out);
void random_value(uint64_t *seed, size_t bytes, kedge_buffer *out);
/* Appends a canonical object that has some of the object's keys, and new ones: as a merge patch it
 * changes, adds and removes members at any depth. */
void random_patch(uint64_t *seed, kedge_bytes object, kedge_buffer *out);
/* The same with numbers alone, mostly where the object has numbers. */
void random_add(uint64_t *seed, kedge_bytes object, kedge_buffer *out);

#endif
