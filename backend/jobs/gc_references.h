/* The blobs that a project refers to. */
#ifndef KEDGE_BACKEND_JOBS_GC_REFERENCES_H
#define KEDGE_BACKEND_JOBS_GC_REFERENCES_H

#include "backend/base/project.h"
#include "backend/jobs/key_set.h"
#include "backend/versioned/versions/versions.h"

/* Adds the keys of all blobs that versions and checkpoints refer to, as far as they are there when
 * it is called; what is committed meanwhile may be missing. KEDGE_UNAVAILABLE: versions were
 * removed meanwhile. */
kedge_status kedge_gc_references(const kedge_project *project, kedge_key_set *references,
                                 kedge_error *error);

#endif
