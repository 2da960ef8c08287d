/* The path and the query of the request that a command line asks for. */
#ifndef KEDGE_BACKEND_ADMIN_ADDRESS_H
#define KEDGE_BACKEND_ADMIN_ADDRESS_H

#include "backend/admin/commands.h"

/* Append. `pattern` is the path of a command's table row. */
void kedge_admin_write_path(const char *pattern, const kedge_admin_line *line, kedge_buffer *path);
void kedge_admin_write_query(const char *pattern, const kedge_admin_line *line,
                             kedge_buffer *query);

#endif
