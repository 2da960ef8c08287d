/* Index rows: what finds a client's mutations without reading every version.
 *
 *   Mutation#{client}#{first id}       one client's run in one version
 *   Mutation#{client}#9999999999999999 the client is retired
 *     version, lineage, group, subject, first, last; outcomes (packed): [[digest, outcome], …] or
 *     [digest, outcome, code, message], outcome 0 applied, 1 rejected, 2 duplicate, from `first` on
 *   Origin#{client}#{id}#{digest}      where a renumbered mutation was decided
 *     version, lineage, client, id: the mutation that was
 *   Group#{group}#{client}             the group's client, written once
 *     version, lineage: of its first run
 *   Fork#{version}                     a version that is a fork and has no runs: shows that the
 *                                      rows are there
 *     version, lineage
 *
 * All rows are derived from version records and can be made again. A row counts for a reader at
 * version V only if the row's version is at most V and still has the row's lineage. Rows of
 * versions above V's `indexed_through` are not read, since V's `recent` has the same. */
#ifndef KEDGE_BACKEND_INDEX_INDEX_H
#define KEDGE_BACKEND_INDEX_INDEX_H

#include "backend/base/project.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/model/layout.h"
#include "common/arena.h"

/* One row of a run, with its memory. Start from {0}; kedge_run_row_free. */
typedef struct kedge_run_row {
    kedge_record_set set;
    kedge_run run; /* borrows from the set */
    kedge_bytes lineage;
    bool found;
    bool gone; /* its version is no longer kept */
} kedge_run_row;

void kedge_run_row_free(kedge_run_row *row);

/* Of the client's rows that count at `at`: the newest; `row->found` false when there is none. */
kedge_status kedge_index_newest_run(const kedge_project *project, const kedge_version *at,
                                    kedge_bytes client, kedge_run_row *row, kedge_error *error);
/* The one whose run holds `id`, of the versions up to `through`. */
kedge_status kedge_index_run_of(const kedge_project *project, const kedge_version *at,
                                int64_t through, kedge_bytes client, int64_t id, kedge_run_row *row,
                                kedge_error *error);
/* Visits the row's outcomes from <= id <= to; `visit` may return KEDGE_DONE to stop. */
kedge_status kedge_index_visit_outcomes(kedge_backend *backend, const kedge_run_row *row,
                                        int64_t from, int64_t to, kedge_mutation_visit visit,
                                        void *context, kedge_error *error);

/* The origin row of this (client, id, digest), of a version up to `at`: as whose mutation it was
 * decided. */
typedef struct kedge_origin_row {
    bool found;
    char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t id;
} kedge_origin_row;

kedge_status kedge_index_origin(const kedge_project *project, const kedge_version *at,
                                kedge_bytes client, int64_t id,
                                const uint8_t digest[KEDGE_DIGEST_SIZE], kedge_origin_row *row,
                                kedge_error *error);

/* The clients of a group by its rows that count at `at`, by client id. */
typedef kedge_status (*kedge_group_row_visit)(void *context, kedge_bytes client,
                                              kedge_error *error);
kedge_status kedge_index_group(const kedge_project *project, const kedge_version *at,
                               kedge_bytes group, kedge_group_row_visit visit, void *context,
                               kedge_error *error);

/* Whether a row counts at `at`: its version is at most `through`, and still has the row's lineage,
 * or is `*gone` (NULL: not asked). */
kedge_status kedge_index_row_counts(const kedge_project *project, const kedge_version *at,
                                    int64_t through, const kedge_record *row, bool *counts,
                                    bool *gone, kedge_error *error);

/* ---- writing (index_write.c) ---- */

/* A write for each row of a version. `rows` borrows from the version and from the arena. */
typedef struct kedge_index_rows {
    kedge_arena *arena;
    kedge_record_write *writes;
    size_t count;
    size_t capacity;
} kedge_index_rows;

kedge_status kedge_index_rows_of(kedge_bytes partition, const kedge_version *version,
                                 kedge_index_rows *rows, kedge_error *error);

/* Puts the rows of these versions, and overwrites existing ones. */
kedge_status kedge_index_write(kedge_backend *backend, kedge_bytes partition,
                               const kedge_version *const *versions, size_t count,
                               kedge_error *error);

/* Makes the rows of all versions up to `head` durable: those above its indexed_through, or all of
 * them when the rows below are gone. Idempotent. */
kedge_status kedge_index_complete(const kedge_project *project, const kedge_version *head,
                                  kedge_error *error);

/* Writes all rows of the versions that are kept again, when they are missing. Readers call it when
 * they do not find a row, or only one of a version that is no longer kept. With `surely` the caller
 * knows that rows are missing; otherwise the function looks for a row of the oldest version first.
 * `*repaired`: the rows were written. */
kedge_status kedge_index_repair(const kedge_project *project, const kedge_version *at, bool surely,
                                bool *repaired, kedge_error *error);
/* To be called before single rows are put again: the row of an old version would hide from readers
 * that all newer ones are missing. Writes all of them, if they are. */
kedge_status kedge_index_ensure(const kedge_project *project, kedge_error *error);

#endif
