/* Snapshots of a log that the backend makes itself (backend/effects/fold.h): blobs of JSON. An app
 * that makes its own keeps them where it likes.
 *
 *   snapshot   {"chunks": [[sha256, collection, id], …], "collections": {collection: {id: value}},
 *               "log": name, "number": of the entry, "project"?: {…}}
 *   chunk      {collection: {id: value}}
 *
 * Items are in the order of collection and id. The first ones are in the snapshot itself, the
 * others in its chunks. The row of a chunk has the SHA-256 of its text, which is its name, and its
 * first item. No two snapshots share chunks. Other parts that are written while a snapshot is made
 * have names like chunks; kedge_log_snapshot_tidy removes them. */
#ifndef KEDGE_BACKEND_LOG_SNAPSHOT_H
#define KEDGE_BACKEND_LOG_SNAPSHOT_H

#include "backend/log/log.h"
#include "common/hash.h"

#define KEDGE_LOG_SNAPSHOT_BYTES_MAX  67108864 /* of a snapshot or a chunk, as text: 64 MiB */
#define KEDGE_LOG_SNAPSHOT_CHUNKS_MAX 16384
#define KEDGE_LOG_SNAPSHOT_DAMAGED    "log-snapshot-damaged" /* the code of its damage */

/* Puts the text under its id, a hash in hexadecimal digits. An existing snapshot with the id stays,
 * since the same entry always gives the same snapshot. Write its chunks first. */
kedge_status kedge_log_snapshot_write(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                      kedge_error *error);
/* Appends the text, an unchecked JSON object. KEDGE_NOT_FOUND "log-snapshot-not-found": there is
 * none of this id here; KEDGE_CORRUPT KEDGE_LOG_SNAPSHOT_DAMAGED. */
kedge_status kedge_log_snapshot_read(const kedge_log *log, kedge_bytes id, kedge_buffer *text,
                                     kedge_error *error);

/* The same of a chunk of the snapshot `id`, or of another part of its making, by the hash of its
 * text: the write gives the hash, the read checks it. KEDGE_NOT_FOUND "log-snapshot-not-found". */
kedge_status kedge_log_snapshot_write_part(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                           char hash[KEDGE_SHA256_HEX], kedge_error *error);
kedge_status kedge_log_snapshot_read_part(const kedge_log *log, kedge_bytes id, kedge_bytes hash,
                                          kedge_buffer *text, kedge_error *error);

/* Removes the parts of a snapshot, whose text this is, that it does not name. Repeatable. */
kedge_status kedge_log_snapshot_tidy(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                     kedge_error *error);
/* Removes a snapshot and its parts, in whatever state they are. Repeatable. */
kedge_status kedge_log_snapshot_discard(const kedge_log *log, kedge_bytes id, kedge_error *error);
/* Removes the snapshots of entries before a number, with their parts; also parts whose
 * snapshot was never completed, when they are older than KEDGE_LOG_DISCARD_S. Repeatable. A
 * snapshot that cannot be read stays. */
kedge_status kedge_log_snapshots_remove(const kedge_log *log, int64_t before, kedge_error *error);

#endif
