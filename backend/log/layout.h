/* The keys of logs: partition and sort keys of records, and blob keys.
 *
 *   entity       partition                       sort
 *   segment      S#{uuid}                        {num}
 *   entry        E#{uuid}{num of the segment}    {num}
 *   log          L#{organization}/{project}      {log}
 *
 * and of what follows the writes of logs (backend/effects), which is removed with them:
 *
 *   pending snapshot        P#{uuid}                             {num of the segment}{num}
 *   progress of a run       Reprocess#{organization}/{project}   Logs
 *
 *   body         {organization}/logs/{project}/{log}/bodies/{32 hexadecimal digits}.json.gz
 *   archive      {organization}/logs/{project}/{log}/archive/{sha256}.json.gz
 *   snapshot     {organization}/logs/{project}/{log}/snapshots/{id, as a sha256}.json.gz
 *   part of one  {organization}/logs/{project}/{log}/snapshots/{id}/{sha256}.json.gz
 *
 * A {uuid} is 22 characters of six bits each. A {num} is one character that says how many follow,
 * '1' to '9', and so many characters of six bits, the highest first and none too many. The
 * characters are in the order of their bytes, so that keys stand in the order of numbers. */
#ifndef KEDGE_BACKEND_LOG_LAYOUT_H
#define KEDGE_BACKEND_LOG_LAYOUT_H

#include "backend/log/log.h"

#include "backend/ports/records.h"
#include "common/hash.h"

#define KEDGE_LOG_KEY_BYTES_MAX 400

typedef struct kedge_log_key {
    char text[KEDGE_LOG_KEY_BYTES_MAX]; /* NUL-terminated */
    size_t size;
} kedge_log_key;

kedge_bytes kedge_log_key_bytes(const kedge_log_key *key);

kedge_log_key kedge_log_key_segments(const kedge_log *log);
kedge_log_key kedge_log_key_entries(const kedge_log *log, int64_t segment);
kedge_log_key kedge_log_key_logs(const kedge_project_ref *ref);
kedge_log_key kedge_log_key_pending(const kedge_log *log);
kedge_log_key kedge_log_key_reprocess(const kedge_project_ref *ref);
kedge_log_key kedge_log_key_num(int64_t num); /* 0 to KEDGE_LOG_NUMBER_MAX */
/* False when it is no number, or not in its shortest form. */
bool kedge_log_key_read_num(kedge_bytes sort, int64_t *num);

/* The common prefix of all blob keys of a project's logs. */
kedge_log_key kedge_log_key_blobs(const kedge_project_ref *ref);
kedge_log_key kedge_log_key_body(const kedge_log *log, kedge_bytes name);
kedge_log_key kedge_log_key_archive(const kedge_log *log, const char hash[KEDGE_SHA256_HEX]);
kedge_log_key kedge_log_key_snapshot(const kedge_log *log, kedge_bytes id);
kedge_log_key kedge_log_key_snapshot_part(const kedge_log *log, kedge_bytes id, kedge_bytes hash);
/* The common prefix of the parts of a snapshot; with an empty id, of all snapshots and parts. */
kedge_log_key kedge_log_key_snapshots(const kedge_log *log, kedge_bytes id);

/* The code of what is damaged in entries and segments. */
#define KEDGE_LOG_CORRUPT "log-corrupt"
/* KEDGE_CORRUPT KEDGE_LOG_CORRUPT, naming log, segment and entry; `num` -1: none. */
kedge_status kedge_log_corrupt(const kedge_log *log, int64_t segment, int64_t num,
                               kedge_error *error, const char *format, ...) KEDGE_PRINTF(5, 6);

#endif
