/* The effects of the writes of logs: the handler of a stream's reader (reader.h), and of the tool
 * that reads the logs without a stream (reprocess.h).
 *
 *   an entry of the type Snapshot without a snapshot   its snapshot is requested (snapshots.h)
 *   an entry whose body is a blob                      the blob loses its tag (backend/log/body.h)
 *
 * Both can be repeated. Such entries have the attribute "N" with the names of the log, so that the
 * changes of all others can be passed over: by a pattern here, by a filter on AWS. */
#ifndef KEDGE_BACKEND_EFFECTS_APPLY_H
#define KEDGE_BACKEND_EFFECTS_APPLY_H

#include "backend/effects/snapshots.h"
#include "backend/log/record.h"
#include "backend/ports/stream.h"

/* The partitions whose changes have effects. */
#define KEDGE_EFFECTS_PARTITIONS KEDGE_LOG_ENTRY_PREFIX

/* For kedge_stream_reader_options. */
extern const kedge_stream_pattern kedge_effects_pattern;

typedef struct kedge_effects {
    kedge_backend *backend;
    kedge_queue queue; /* of requests of snapshots; vtable NULL: none is requested */
    /* Called for a record that is skipped, because it is not one of a log, or because its log is
     * damaged. May be NULL. */
    void (*passed)(void *context, const kedge_error *error);
    void *context;
} kedge_effects;

/* Does what one entry causes. Its place must have the segment and the num. An entry of an archived
 * segment gets no snapshot any more. KEDGE_UNAVAILABLE and the like: try again. */
kedge_status kedge_effects_of_entry(const kedge_effects *effects, const kedge_log *log,
                                    const kedge_log_entry *entry, kedge_error *error);

/* The `handle` of a reader, whose `context` is the effects. It ends at the first change whose
 * effects failed. */
kedge_status kedge_effects_handle(void *effects, const kedge_stream_change *changes, size_t count,
                                  size_t *handled, kedge_error *error);

#endif
