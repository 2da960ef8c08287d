/* Which project: its organization and its own name. */
#ifndef KEDGE_BACKEND_BASE_PROJECT_REF_H
#define KEDGE_BACKEND_BASE_PROJECT_REF_H

#include "common/bytes.h"

#include <stdint.h>

typedef struct kedge_project_ref {
    kedge_bytes organization;
    kedge_bytes project;
} kedge_project_ref;

/* FNV-1a of both. */
uint64_t kedge_project_ref_hash(const kedge_project_ref *ref);

#endif
