/* Every planted bug is run over the same seeds until its checker catches it. */
#include "tests/sim/planted.h"

#include <stdio.h>

int sim_planted(const sim_options *options)
{
    (void)options;
    fputs("this kedge-sim has no bugs planted: run kedge-sim-planted\n", stderr);
    return 2;
}
