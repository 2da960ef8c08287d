/* The allowed characters and lengths of names. Each function returns KEDGE_OK or an error that says
 * which name was wrong, where, and what is allowed. `what` names it in the
 * message ("collection", "mutator", …). */
#ifndef KEDGE_COMMON_NAMES_H
#define KEDGE_COMMON_NAMES_H

#include "common/bytes.h"

/* [A-Za-z0-9_][A-Za-z0-9_.-]{0,63}: organizations, projects, collections, mutators. */
kedge_status kedge_check_name(const char *what, kedge_bytes name, kedge_error *error);
/* [A-Za-z0-9_-]{1,128}: client ids and client group ids. */
kedge_status kedge_check_client_id(kedge_bytes id, kedge_error *error);
/* UTF-8 of 0..512 bytes without a NUL byte. */
kedge_status kedge_check_item_id(kedge_bytes id, kedge_error *error);
/* UTF-8 of 1..512 bytes without a NUL byte. */
kedge_status kedge_check_resource_id(kedge_bytes id, kedge_error *error);

#endif
