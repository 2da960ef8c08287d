/* The budgets of an organization: how many projects it has, how many bytes were stored for it, and
 * the limits of both.
 *
 *   Usage#{org}    Stored    bytes (number)
 *
 * A piece of work counts the bytes that its thread has put into the ports (backend/ports/meter.h;
 * without a meter nothing is counted). The counts are collected in memory. They are added to the
 * record when they reach KEDGE_USAGE_BYTES, when the organization puts bytes and its record was not
 * read for KEDGE_USAGE_MS, or when another organization needs the place in memory. So a process
 * that is killed loses at most that much of each organization's count, and other processes see the
 * count as late. Removed bytes are not subtracted, and bytes that a tool writes are not counted:
 * jobs/usage.h counts again what is stored.
 *
 * No record has the number of projects: their records are counted, at most every KEDGE_USAGE_MS.
 *
 * Any thread. Without bounds in the options of the backend nothing of this is done. */
#ifndef KEDGE_BACKEND_USAGE_H
#define KEDGE_BACKEND_USAGE_H

#include "backend/base/project.h"

#define KEDGE_USAGE_BYTES 65536
#define KEDGE_USAGE_MS    60000
/* So many organizations are remembered at once: SETS times WAYS. The WAYS organizations of one set
 * share its places. A further one waits, when each of them has bytes to add, until one of these was
 * added to its record. A further one is not counted while all of them have requests in progress. */
#define KEDGE_USAGE_SETS 1024
#define KEDGE_USAGE_WAYS 4

/* NULL when the backend has neither bound. */
kedge_status kedge_usage_new(const kedge_backend_options *options, kedge_usage **usage,
                             kedge_error *error);
/* Adds the counts in memory to the records. */
void kedge_usage_close(kedge_backend *backend);

/* From this call to kedge_usage_end the thread works for one organization. */
void kedge_usage_begin(void);
/* Counts the bytes that the thread has put since its last kedge_usage_begin or kedge_usage_end.
 * They replace the bytes and projects that the checks below have reserved. When the count cannot be
 * added to the record, the failure is reported as one of background work, and the count is added
 * later. */
void kedge_usage_end(const kedge_project *project);

/* KEDGE_UNAVAILABLE with the budget's name as the code when the project's organization may store
 * nothing more. Otherwise reserves `coming` bytes until kedge_usage_end. `coming` is the size of
 * the request's body, since it is not known how many bytes the request will store. */
kedge_status kedge_usage_check_stored(const kedge_project *project, size_t coming,
                                      kedge_error *error);
/* The same for the number of projects; reserves one. */
kedge_status kedge_usage_check_projects(const kedge_project *project, kedge_error *error);
/* Counts one project more for the project's organization. */
void kedge_usage_created(const kedge_project *project);

/* Which of the two budgets an error tells of, and its bound; NULL: neither. */
const char *kedge_usage_exceeded(const kedge_backend *backend, const kedge_error *error,
                                 int64_t *bound);

/* ---- the record ---- */

/* `*bytes` is 0 when there is no record. By a consistent read. */
kedge_status kedge_usage_read(const kedge_project *project, int64_t *bytes, kedge_error *error);
/* Adds `more` to the record, which does not go below 0; `*bytes` is what the record has then. After
 * KEDGE_UNAVAILABLE it may have been added. */
kedge_status kedge_usage_add(const kedge_project *project, int64_t more, int64_t *bytes,
                             kedge_error *error);
/* Counts the organization's projects, up to `most`. By consistent reads. */
kedge_status kedge_usage_count_projects(const kedge_project *project, int64_t most, int64_t *count,
                                        kedge_error *error);

#endif
