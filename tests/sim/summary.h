/* What a run of seeds prints. */
#ifndef KEDGE_TESTS_SIM_SUMMARY_H
#define KEDGE_TESTS_SIM_SUMMARY_H

#include "tests/sim/sim.h"

void sim_print_summary(const sim_report *report);
/* Every kind of fault took effect and every checker ran; says which did not. */
bool sim_is_complete(const sim_report *report);
/* The violations of a seed, a smaller run that shows the first of them, and how to replay it. */
void sim_print_failure(const sim_options *options, const sim_result *result);

#endif
