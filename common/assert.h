/* KEDGE_ASSERT: what must hold at this point, checked where it is stated.
 *
 * On in every build but the library that apps link: there (KEDGE_ASSERT_OFF, sdk/CMakeLists.txt)
 * the condition is compiled but never evaluated. So a condition must not have side effects: no call
 * that changes anything, no assignment, no increment.
 *
 * Assert only what Kedge's own code guarantees. Input from outside (a request, a response, a file,
 * a record of a store, an argument of the public API) may be anything, and errors in it are
 * returned as a kedge_status. */
#ifndef KEDGE_COMMON_ASSERT_H
#define KEDGE_COMMON_ASSERT_H

#ifdef KEDGE_ASSERT_OFF

#define KEDGE_ASSERT(condition) ((void)(0 && (condition)))

#else

#include <stdio.h>
#include <stdlib.h>

/* Prints `file:line: function: assertion failed: condition` to stderr, and aborts. */
_Noreturn static inline void kedge_assert_failed(const char *file, int line, const char *function,
                                                 const char *condition)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}

#define KEDGE_ASSERT(condition)                                                                    \
    ((condition) ? (void)0 : kedge_assert_failed(__FILE__, __LINE__, __func__, #condition))

#endif

#endif
