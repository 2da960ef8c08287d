/* The built-in mutators. docs/reference/mutators.md has them all. */
#ifndef KEDGE_MUTATE_BUILTIN_H
#define KEDGE_MUTATE_BUILTIN_H

#include <kedge/mutator.h>

extern const kedge_mutator kedge_builtin_mutators[];
extern const size_t kedge_builtin_mutator_count;

#endif
