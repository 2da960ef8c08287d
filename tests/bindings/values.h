/* The JSON of scenarios for the runners in C and C++: members of steps, comparing, and what Kedge's
 * structs are in JSON. bindings/conformance/README.md has the format. */
#ifndef KEDGE_TESTS_BINDINGS_VALUES_H
#define KEDGE_TESTS_BINDINGS_VALUES_H

#include <cjson/cJSON.h>
#include <kedge/kedge.h>

KEDGE_BEGIN_DECLS

/* The whole file; a file that is none ends the program. */
cJSON *read_scenarios(const char *path);
/* Compares what a step has done with what it says. What differs ends the program. */
void check_step(const cJSON *scenario, int number, const cJSON *step, kedge_status status,
                const kedge_error *error, const cJSON *given);
/* Ends the program: the scenarios are not what the README says, or the machine fails. */
__attribute__((noreturn)) void runner_fail(const char *what, const char *which);
/* Members of a step: a text that must be there, one that need not, an integer with a default. */
const char *step_text(const cJSON *step, const char *member);
const char *step_text_or_null(const cJSON *step, const char *member);
int64_t step_integer(const cJSON *step, const char *member, int64_t otherwise);
/* The JSON of a member; "" when it is not there. The caller frees it. */
char *step_json(const cJSON *step, const char *member);
/* Adds JSON text as a member: what Kedge gives is JSON. */
void give_json(cJSON *given, const char *member, const char *json);
/* What the status says; what a mutation of a list, a change and a blob are as JSON. */
void give_status(cJSON *given, const kedge_sync_status *status);
cJSON *mutation_object(const kedge_mutation *mutation);
cJSON *change_object(const kedge_change *change);
cJSON *result_object(const kedge_query_changes *changes);
cJSON *blob_object(const char *bytes, size_t size);

/* JSON with all digits of its numbers, of which cJSON cuts some. The caller frees it. */
char *exact_json(const cJSON *value);
/* True when both are the same JSON, to the last digit. */
bool is_same(const cJSON *wanted, const cJSON *given);
/* The name of the list that a step `told` wants; "changes" when it wants none. */
const char *told_list(const cJSON *wanted);
/* True when `given` has what `wanted` names: see "The file" in the README. */
bool gives_match(const cJSON *wanted, const cJSON *given);

KEDGE_END_DECLS

#endif
