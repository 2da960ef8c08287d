/* How many points a loop over every Nth call takes. The thread sanitizer is some ten times as slow
 * as the program without it, and looks for races, which few points show as well as all. */
#ifndef KEDGE_TESTS_SUPPORT_SAMPLING_H
#define KEDGE_TESTS_SUPPORT_SAMPLING_H

#if defined(__SANITIZE_THREAD__)
#define SAMPLING_FEWER 5
#else
#define SAMPLING_FEWER 1
#endif

#endif
