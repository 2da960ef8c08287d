/* The spreadsheet's mutators as a plugin: kedge-server --mutators libsheet.so. */
#include "sheet_mutators.h"

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    *count = sheet_mutator_count;
    return sheet_mutators;
}
