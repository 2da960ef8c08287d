/* Versions that were decoded before. A run starts from a copy of its story's project, so most of
 * its version records have the bytes that the run before has decoded. Each look reads the record;
 * only one with other bytes is decoded again. */
#ifndef KEDGE_TESTS_CRASHPOINTS_KNOWN_VERSIONS_H
#define KEDGE_TESTS_CRASHPOINTS_KNOWN_VERSIONS_H

#include "backend/versioned/versions/versions.h"

#define KNOWN_VERSIONS_MAX 512

typedef struct known_version {
    kedge_buffer record;          /* its attributes */
    const kedge_version *version; /* NULL: none */
} known_version;

typedef struct known_versions {
    known_version rows[KNOWN_VERSIONS_MAX]; /* by number */
} known_versions;

void known_versions_free(known_versions *gone);

/* As kedge_version_load, for a number above 0; NULL when it fails. The caller releases it. */
const kedge_version *known_versions_load(known_versions *known, const kedge_project *project,
                                         int64_t number);

#endif
