/* Reading and changing the records of segments, and single entries. */
#ifndef KEDGE_BACKEND_LOG_SEGMENTS_H
#define KEDGE_BACKEND_LOG_SEGMENTS_H

#include "backend/log/record.h"

/* The newest segments, the newest first; `wanted` is 1 or 2. A read that is not `consistent` and
 * finds none is repeated as a consistent one. KEDGE_NOT_FOUND "log-not-found". */
kedge_status kedge_log_segments_newest(const kedge_log *log, size_t wanted, bool consistent,
                                       kedge_log_segment *segments, size_t *count,
                                       kedge_error *error);
/* Up to `limit` segments, from `from` down, consistently. `*more`: there are others. */
kedge_status kedge_log_segments_list(const kedge_log *log, int64_t from, uint32_t limit,
                                     kedge_log_segment *segments, size_t *count, bool *more,
                                     kedge_error *error);
/* The oldest that is kept, by a consistent read. KEDGE_NOT_FOUND. */
kedge_status kedge_log_segment_oldest(const kedge_log *log, kedge_log_segment *segment,
                                      kedge_error *error);
/* By a consistent read. KEDGE_NOT_FOUND "log-segment-not-found". */
kedge_status kedge_log_segment_get(const kedge_log *log, int64_t num, kedge_log_segment *segment,
                                   kedge_error *error);
/* The segment in which an entry of this number stands or would stand. A number that is not kept any
 * more becomes the first one that is. `newest` is the newest segment, which the caller has read. */
kedge_status kedge_log_segment_of(const kedge_log *log, const kedge_log_segment *newest,
                                  int64_t *number, kedge_log_segment *segment, kedge_error *error);
/* The same; reads the newest segment, consistently. */
kedge_status kedge_log_segment_find(const kedge_log *log, int64_t *number,
                                    kedge_log_segment *segment, kedge_error *error);
/* Puts the segment when its revision is still that of `segment`, and counts it up there.
 * KEDGE_CONFLICT, KEDGE_UNAVAILABLE: read it again. */
kedge_status kedge_log_segment_change(const kedge_log *log, kedge_log_segment *segment,
                                      kedge_error *error);

/* Adds to the page the entry with the highest num of a segment, or none. */
kedge_status kedge_log_entry_last(const kedge_log *log, const kedge_log_segment *segment,
                                  bool consistent, kedge_log_page *page, kedge_error *error);
/* Adds one entry, by a consistent read. KEDGE_NOT_FOUND "log-entry-not-found". */
kedge_status kedge_log_entry_get(const kedge_log *log, const kedge_log_segment *segment,
                                 int64_t num, kedge_log_page *page, kedge_error *error);

/* KEDGE_CONFLICT, KEDGE_UNAVAILABLE, KEDGE_BUSY and KEDGE_TIMEOUT: worth another try. */
bool kedge_log_is_transient(kedge_status status);

#endif
