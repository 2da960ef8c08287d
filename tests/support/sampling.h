/* How many times fewer points a loop over every Nth call, or over random histories, takes. With the
 * thread sanitizer a program is some ten times as slow, with the address sanitizer three times.
 * Both look for what few points show as well as all do: races, and wrong accesses. */
#ifndef KEDGE_TESTS_SUPPORT_SAMPLING_H
#define KEDGE_TESTS_SUPPORT_SAMPLING_H

#if defined(__SANITIZE_THREAD__)
#define SAMPLING_FEWER 5
#elif defined(__SANITIZE_ADDRESS__)
#define SAMPLING_FEWER 3
#else
#define SAMPLING_FEWER 1
#endif

#endif
