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
 * marked as nullable is never NULL. */
#if defined(__clang__)
#define KEDGE_NULLABLE             _Nullable
#define KEDGE_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define KEDGE_ASSUME_NONNULL_END   _Pragma("clang assume_nonnull end")
#else
#define KEDGE_NULLABLE
#define KEDGE_ASSUME_NONNULL_BEGIN
#define KEDGE_ASSUME_NONNULL_END
#endif

#if defined(__GNUC__)
#define KEDGE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define KEDGE_MUST_USE            __attribute__((warn_unused_result))
#else
#define KEDGE_PRINTF(text, first)
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

/* Returns the version of the library at run time, for example "0.1.0". KEDGE_VERSION_STRING is the
 * version of the headers at compile time. Static storage; any thread. */
KEDGE_API const char *kedge_library_version(void);

KEDGE_END_DECLS

#endif
