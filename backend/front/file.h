/* Small files that an operator names: key sets, certificates. */
#ifndef KEDGE_BACKEND_FRONT_FILE_H
#define KEDGE_BACKEND_FRONT_FILE_H

#include "common/bytes.h"

#define KEDGE_FILE_BYTES_MAX 1048576

/* A whole file as text. Free with kedge_release. */
kedge_status kedge_file_read(const kedge_allocator *allocator, const char *path, char **text,
                             kedge_error *error);

#endif
