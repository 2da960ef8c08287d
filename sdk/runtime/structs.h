/* Structs of the app that may be of an older or a newer version of the headers (kedge/base.h). */
#ifndef KEDGE_SDK_RUNTIME_STRUCTS_H
#define KEDGE_SDK_RUNTIME_STRUCTS_H

#include <kedge/error.h>

/* The largest `size` that is believed. Memory that was never initialised is seldom below it. */
#define KEDGE_STRUCT_BYTES_MAX 4096

/* A kind of struct, as this library has it. */
typedef struct kedge_struct_kind {
    const char *initialiser; /* "KEDGE_…_INIT", named in errors */
    uint32_t version;        /* of options; 0: the struct is filled by Kedge and has none */
    uint32_t size;
} kedge_struct_kind;

/* Copies options, which begin with `version` and `size`, to `own`, a struct of `kind.size` bytes.
 * Members that the app's struct does not have are zero. Errors as in kedge/base.h. */
kedge_status kedge_struct_take(kedge_struct_kind kind, const void *given, void *own,
                               kedge_error *error);

/* Checks a struct that is to be filled, which begins with `size`. */
kedge_status kedge_struct_check(kedge_struct_kind kind, const void *given, kedge_error *error);
/* Fills a checked struct from `own`, except `size`. */
void kedge_struct_fill(kedge_struct_kind kind, const void *own, void *given);

#endif
