/* Import: an exported project becomes a project again, under any name that is free.
 *
 * It has the same version numbers, and the same lineage: an import is a restore. A client of the
 * project that was exported goes on with the imported one as with a backend that was restored from
 * a backup of that moment: what it knows of versions up to the newest is right, and if it has seen
 * a later one, it finds that out by itself and starts anew under a new id.
 *
 * Until the end there is no such project. A record above all versions, of which the newest is
 * looked for, says that it is being imported; the last transaction takes it away and puts the
 * project's record. Broken off anywhere, it goes on when it is run again with the same lines. */
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
 * the name is not free; "version-exists": versions of something else stand there.
 * KEDGE_INVALID_ARGUMENT, "export-damaged": a line is not what an export has there, a hash is
 * wrong, the end is missing. What was put until then stays, and is not a project. */
kedge_status kedge_import_project(const kedge_project *project, const kedge_line_source *lines,
                                  kedge_import_result *result, kedge_error *error);

/* Ends an import, also one that is still at work, and removes what it has put. Broken off, it goes
 * on when it is run again. KEDGE_NOT_FOUND: none is under way. KEDGE_UNAVAILABLE: also when the
 * import has ended, or somebody else discards it, meanwhile. */
kedge_status kedge_import_discard(const kedge_project *project, kedge_error *error);

#endif
