/* The ports in memory, for the simulator and for tests. Any thread may call; one thread alone gets
 * the same results every time. Nothing is durable. */
#ifndef KEDGE_BACKEND_MEMORY_PORTS_H
#define KEDGE_BACKEND_MEMORY_PORTS_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

/* `environment` must outlive what is opened. Close with vtable->close. */
kedge_status kedge_memory_records_open(const kedge_environment *environment, kedge_records *records,
                                       kedge_error *error);
kedge_status kedge_memory_blobs_open(const kedge_environment *environment, kedge_blobs *blobs,
                                     kedge_error *error);
/* `receive_max`: deliveries before a message becomes a dead letter. */
kedge_status kedge_memory_queue_open(const kedge_environment *environment, uint32_t receive_max,
                                     kedge_queue *queue, kedge_error *error);

/* The changes of `records`, which kedge_memory_records_open made and which must outlive the stream,
 * from the first such call on. It begins with one shard. */
kedge_status kedge_memory_stream_open(const kedge_environment *environment,
                                      const kedge_records *records, kedge_stream *stream,
                                      kedge_error *error);
/* For tests: closes an open shard, which two children follow (false: it is not open, or no memory);
 * trims all changes but the newest `keep` of all shards; keeps the newest `count` changes and
 * all that come from readers, as a stream that is late (0: no more). */
bool kedge_memory_stream_split(const kedge_stream *stream, const char *shard);
void kedge_memory_stream_trim(const kedge_stream *stream, uint64_t keep);
void kedge_memory_stream_hide(const kedge_stream *stream, uint64_t count);

/* For tests: how many messages are neither done nor dead; and the message of a receipt that is good
 * now, borrowed until the next call (false: there is none). */
size_t kedge_memory_queue_waiting(const kedge_queue *queue);
bool kedge_memory_queue_find(const kedge_queue *queue, const char *receipt,
                             kedge_queue_message *message);

/* Replaces the whole contents of `to` with a copy of those of `from`: a backup when `to` is put
 * aside, a restore the other way round. Both are memory ports; a failure changes nothing. Receipts
 * that the one queue gave are good for the other. */
kedge_status kedge_memory_records_copy(const kedge_records *from, const kedge_records *to,
                                       kedge_error *error);
kedge_status kedge_memory_blobs_copy(const kedge_blobs *from, const kedge_blobs *to,
                                     kedge_error *error);
kedge_status kedge_memory_queue_copy(const kedge_queue *from, const kedge_queue *to,
                                     kedge_error *error);

#endif
