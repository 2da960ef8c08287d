/* What an organization has: its projects, and the bytes that were stored for it; and the most that
 * it may have.
 *
 *   Usage#{org}    Stored    bytes (number)
 *
 * A piece of work counts what its thread has put into the ports (backend/ports/meter.h; without a
 * meter nothing is counted). The counts are collected in memory, and added to the record when they
 * come to KEDGE_USAGE_BYTES, when the organization puts something and its record was not looked at
 * for KEDGE_USAGE_MS, or when another organization needs the place. So a process that is killed
 * forgets at most that much of each organization, and other processes learn of it as late. What is
 * removed is not taken off, nor is what a tool writes counted: jobs/usage.h counts again what is
 * there.
 *
 * No record has the number of projects: their records are counted, at most every KEDGE_USAGE_MS.
 *
 * Any thread. Without bounds in the options of the backend nothing of this is done. */
#ifndef KEDGE_BACKEND_USAGE_H
#define KEDGE_BACKEND_USAGE_H

#include "backend/base/project.h"

#define KEDGE_USAGE_BYTES 65536
#define KEDGE_USAGE_MS    60000
/* So many organizations are remembered at once: SETS times WAYS. Of those that share a place, one
 * that comes when all have something to add waits until one of them was added to its record. One
 * that comes while all have requests under way is not counted until one of these has ended. */
#define KEDGE_USAGE_SETS 1024
#define KEDGE_USAGE_WAYS 4

/* NULL when the backend has neither bound. */
kedge_status kedge_usage_new(const kedge_backend_options *options, kedge_usage **usage,
                             kedge_error *error);
/* Adds what is not in the records yet. */
void kedge_usage_close(kedge_backend *backend);

/* From here on the thread works for one organization, until kedge_usage_end. */
void kedge_usage_begin(void);
/* Counts what the thread has put since its last kedge_usage_begin or kedge_usage_end, in place of
 * the bytes and projects that the checks below have reserved for it. When what was counted cannot
 * be added to the record, that is reported as background work, and it is added later. */
void kedge_usage_end(const kedge_project *project);

/* KEDGE_UNAVAILABLE with the budget's name as the code when the project's organization may store
 * nothing more. Otherwise `coming` bytes are reserved until kedge_usage_end: those of the request's
 * body, as what it will store is not known. */
kedge_status kedge_usage_check_stored(const kedge_project *project, size_t coming,
                                      kedge_error *error);
/* The same when it may have no other project; one is reserved. */
kedge_status kedge_usage_check_projects(const kedge_project *project, kedge_error *error);
/* The organization has one more. */
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
