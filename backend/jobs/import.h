/* Import: an exported project becomes a project again, under any name that is free.
 *
 * The imported project has the same version numbers and the same lineage as the exported one. For a
 * client of the exported project the import is like a restore of the backend from a backup of that
 * moment: what the client knows of versions up to the newest imported one is right. A client that
 * has seen a later version detects that, and starts anew under a new id.
 *
 * The project is not visible before the import is complete. A record with a number above all
 * versions, which every search for the newest version finds first, says that the project is being
 * imported. The last transaction removes that record and puts the project's record. An import that
 * was interrupted continues when it is run again with the same lines. */
#ifndef KEDGE_BACKEND_JOBS_IMPORT_H
#define KEDGE_BACKEND_JOBS_IMPORT_H

#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

/* Where lines come from. `next` appends the next one, without its end, to an empty buffer, or sets
 * `*end`. */
typedef struct kedge_line_source {
    kedge_status (*next)(void *context, kedge_buffer *line, bool *end, kedge_error *error);
    void *context;
} kedge_line_source;

typedef struct kedge_import_result {
    bool created; /* false: this export was imported here before */
    int64_t oldest;
    int64_t newest;
    int64_t bodies;
} kedge_import_result;

/* KEDGE_CONFLICT, "project-exists" or "import-under-way" (of another export, or being discarded):
 * the name is not free; "version-exists": the store has versions of another project there.
 * KEDGE_INVALID_ARGUMENT, "export-damaged": a line is not what an export has there, a hash is
 * wrong, or the end is missing; the message says in which line. The records that were put until
 * then stay, and are not a project. */
kedge_status kedge_import_project(const kedge_project *project, const kedge_line_source *lines,
                                  kedge_import_result *result, kedge_error *error);

/* Ends an import, also one that still runs, and removes what it has put. A discard that was
 * interrupted continues when it is run again. KEDGE_NOT_FOUND "no-import": none is under way.
 * KEDGE_CONFLICT "project-half-deleted": the name is that of a project whose deletion was
 * interrupted. KEDGE_UNAVAILABLE "import-raced": meanwhile the import has ended, or another process
 * discards it. */
kedge_status kedge_import_discard(const kedge_project *project, kedge_error *error);

#endif
