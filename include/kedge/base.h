/* Definitions that every header of Kedge needs: export marks, nullability, the version of the
 * library. */
#ifndef KEDGE_BASE_H
#define KEDGE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEDGE_VERSION_MAJOR  0
#define KEDGE_VERSION_MINOR  1
#define KEDGE_VERSION_PATCH  0
#define KEDGE_VERSION_STRING "0.1.0"

#if defined(_WIN32)
#define KEDGE_API
#else
#define KEDGE_API __attribute__((visibility("default")))
#endif

/* Nullability, as clang spells it, so that Swift imports exact optionals. A pointer that is not
 * marked as nullable is never NULL. Pointers to pointers have no mark. Clang would warn of each of
 * these in every source that includes a header, so the pragmas turn that warning off. */
#if defined(__clang__)
#define KEDGE_NULLABLE _Nullable
#define KEDGE_ASSUME_NONNULL_BEGIN                                                                 \
    _Pragma("clang diagnostic push")                                                               \
        _Pragma("clang diagnostic ignored \"-Wnullability-completeness\"")                         \
            _Pragma("clang diagnostic ignored \"-Wnullability-extension\"")                        \
                _Pragma("clang assume_nonnull begin")
#define KEDGE_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end") _Pragma("clang diagnostic pop")
#else
#define KEDGE_NULLABLE
#define KEDGE_ASSUME_NONNULL_BEGIN
#define KEDGE_ASSUME_NONNULL_END
#endif

#if defined(__MINGW32__) /* format(printf) is the format of Windows' old C library there */
#define KEDGE_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define KEDGE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define KEDGE_PRINTF(text, first)
#endif

#if defined(__GNUC__)
#define KEDGE_MUST_USE __attribute__((warn_unused_result))
#else
#define KEDGE_MUST_USE
#endif

#if defined(__cplusplus)
#define KEDGE_BEGIN_DECLS                                                                          \
    extern "C" {                                                                                   \
    KEDGE_ASSUME_NONNULL_BEGIN
#define KEDGE_END_DECLS                                                                            \
    KEDGE_ASSUME_NONNULL_END                                                                       \
    }
#else
#define KEDGE_BEGIN_DECLS KEDGE_ASSUME_NONNULL_BEGIN
#define KEDGE_END_DECLS   KEDGE_ASSUME_NONNULL_END
#endif

KEDGE_BEGIN_DECLS

/* A struct that later versions of Kedge may extend has a member `size`: the bytes of the struct in
 * the headers that the app was compiled with. Start from the struct's KEDGE_…_INIT, which sets
 * `size`, also when Kedge fills the struct. Kedge reads and fills no more than `size` bytes. Later
 * versions add members at the end. Zero in such a member means the behaviour of the versions that
 * do not have it.
 *
 * The app's struct may be larger than the library's own, when the app has newer headers. Then the
 * members that the library does not know must be zero in a struct that the app gives to Kedge
 * (else KEDGE_UNSUPPORTED "struct-newer"). In a struct that Kedge fills, Kedge sets them to zero. A
 * `size` that no version can have is KEDGE_INVALID_ARGUMENT "struct-size".
 *
 * Structs of options also have a `version`, which rises only when a member changes its meaning. A
 * `version` other than the library's is KEDGE_INVALID_ARGUMENT "struct-version". Structs without
 * `size` never change.
 *
 * The initialisers are for C11 and for C++17. A kedge_error starts as `= {0}` in C, as `= {}` in
 * C++. */

/* Returns the version of the library at run time, for example "0.1.0". KEDGE_VERSION_STRING is the
 * version of the headers at compile time. The text is static. Any thread. */
KEDGE_API const char *kedge_library_version(void);

KEDGE_END_DECLS

#endif
