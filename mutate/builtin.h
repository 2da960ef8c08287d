/* The built-in mutators: kedge.put, kedge.merge (RFC 7396), kedge.patch (RFC 6902),
 * kedge.increment, kedge.delete, kedge.project, kedge.batch and kedge.noop. */
#ifndef KEDGE_MUTATE_BUILTIN_H
#define KEDGE_MUTATE_BUILTIN_H

#include <kedge/mutator.h>

extern const kedge_mutator kedge_builtin_mutators[];
extern const size_t kedge_builtin_mutator_count;

#endif
