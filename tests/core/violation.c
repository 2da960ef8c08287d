/* Breaks an invariant of the client's core on purpose: an event comes before the first one, START.
 * assertions_test.sh expects that the process aborts. */
#include "sdk/core/core.h"

#include <stdio.h>

int main(void)
{
    kedge_core core;
    kedge_core_actions actions;
    kedge_core_event event = {.kind = KEDGE_EVENT_MUTATION};
    kedge_core_init(&core, true);
    kedge_core_step(&core, &event, &actions);
    printf("the step went on\n");
    return 0;
}
