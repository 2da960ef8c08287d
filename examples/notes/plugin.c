/* The notes app's mutators as a plugin: kedge-server --mutators libnotes.so. */
#include "notes_mutators.h"

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    *count = notes_mutator_count;
    return notes_mutators;
}
