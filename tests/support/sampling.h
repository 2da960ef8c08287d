/* How many times fewer points a loop over every Nth call, or over random histories, takes. With the
 * thread sanitizer a program is some ten times as slow, with the address sanitizer three times.
 * Both look for what few points show as well as all do: races, and wrong accesses. A part that has
 * one thread has no races: with the thread sanitizer it may be left out (SAMPLING_ONLY_THREADS). */
#ifndef KEDGE_TESTS_SUPPORT_SAMPLING_H
#define KEDGE_TESTS_SUPPORT_SAMPLING_H

#if defined(__SANITIZE_THREAD__)
#define SAMPLING_FEWER        5
#define SAMPLING_ONLY_THREADS 1
#elif defined(__SANITIZE_ADDRESS__)
#define SAMPLING_FEWER        3
#define SAMPLING_ONLY_THREADS 0
#else
#define SAMPLING_FEWER        1
#define SAMPLING_ONLY_THREADS 0
#endif

#endif
