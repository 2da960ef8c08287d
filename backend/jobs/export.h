/* Export: all versions of a project as a stream of JSON lines, from which an import makes the same
 * project. Its logs and resources are not in it.
 *
 * docs/reference/export.md describes the lines. They have the project's creation, every version
 * that is kept with its mutations and its delta, and every body, before the first version that
 * refers to it. Where retention has removed versions, they also have what replaces these. Data that
 * is derived from versions is left out. The last line has the number of lines and a hash of all. */
#ifndef KEDGE_BACKEND_JOBS_EXPORT_H
#define KEDGE_BACKEND_JOBS_EXPORT_H

#include "backend/base/project.h"
#include "backend/jobs/lines.h"
#include "backend/versioned/versions/versions.h"

#define KEDGE_EXPORT_FORMAT 1

typedef struct kedge_export_result {
    int64_t oldest;
    int64_t newest;
    int64_t bodies;
    int64_t lines;
} kedge_export_result;

/* Exports the project as of the version that is the newest when the export begins; pushes may go
 * on. KEDGE_NOT_FOUND: no such project. KEDGE_CORRUPT: data of the project is damaged or missing;
 * the lines that were written are not a complete export. KEDGE_UNAVAILABLE: also when versions were
 * removed meanwhile; begin again. */
kedge_status kedge_export_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_export_result *result, kedge_error *error);

/* What the project has and its export does not, for people to read. */
typedef struct kedge_left_out {
    const char *names[3];
    size_t count;
} kedge_left_out;

/* `left` is {0} before. */
kedge_status kedge_export_left_out(const kedge_project *project, kedge_left_out *left,
                                   kedge_error *error);

#endif
