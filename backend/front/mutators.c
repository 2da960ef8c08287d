/* See mutators.h. */
#include "backend/front/mutators.h"

void kedge_mutators_log(kedge_json_writer *json, const kedge_mutator *mutators, size_t count)
{
    kedge_json_key(json, "mutators");
    kedge_json_begin_array(json);
    for (size_t i = 0; i < count && i < KEDGE_MUTATORS_LOGGED; i++) {
        kedge_json_begin_object(json);
        kedge_json_key(json, "name");
        kedge_json_chars(json, mutators[i].name);
        kedge_json_key(json, "version");
        kedge_json_integer(json, mutators[i].version);
        kedge_json_end_object(json);
    }
    kedge_json_end_array(json);
    if (count <= KEDGE_MUTATORS_LOGGED) return;
    kedge_json_key(json, "mutators_omitted");
    kedge_json_integer(json, (int64_t)(count - KEDGE_MUTATORS_LOGGED));
}
