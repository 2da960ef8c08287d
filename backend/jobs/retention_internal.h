/* What the files of retention share. Not for other folders. */
#ifndef KEDGE_BACKEND_JOBS_RETENTION_INTERNAL_H
#define KEDGE_BACKEND_JOBS_RETENTION_INTERNAL_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/jobs/replay.h"
#include "backend/jobs/retention.h"
#include "backend/versioned/model/layout.h"

typedef struct retaining {
    const kedge_project *project;
    kedge_key partition;
    const kedge_retention_rule *rule;
    kedge_retention_result *result;
    int64_t before;              /* the oldest version until now */
    int64_t gone;                /* versions up to this one have been replaced */
    bool recorded;               /* there is a record `Retention` */
    const kedge_version *oldest; /* the new one */
} retaining;

/* Says which version is the oldest, if it was `before` (retention_remove.c). */
kedge_status retention_commit(retaining *work, kedge_error *error);
/* Replaces what is older, and removes older checkpoints (retention_remove.c). */
kedge_status retention_remove(retaining *work, kedge_error *error);

#endif
