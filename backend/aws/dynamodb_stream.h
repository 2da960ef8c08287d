/* The stream port on DynamoDB Streams: the stream of one table, whose records have new images.
 *
 * A position is a sequence number; the one in front of a shard's first change is "at-" and that
 * change's number. Between two reads the port keeps the service's iterator, which also stands
 * after stretches of a shard without changes; an iterator that has expired is replaced by one from
 * the position. */
#ifndef KEDGE_BACKEND_AWS_DYNAMODB_STREAM_H
#define KEDGE_BACKEND_AWS_DYNAMODB_STREAM_H

#include "backend/aws/client.h"
#include "backend/ports/stream.h"

/* Asks DynamoDB for the newest stream of the table. KEDGE_NOT_FOUND "aws-stream-missing": the table
 * has none that is on; KEDGE_UNSUPPORTED "aws-stream-view": its changes have no new images; and the
 * failures of kedge_aws_call. `client` must outlive the port. */
kedge_status kedge_dynamodb_stream_open(kedge_aws_client *client, const char *table,
                                        kedge_stream *stream, kedge_error *error);
/* Turns a stream of new images on, and waits until it is there; one that is on stays as it is. */
kedge_status kedge_dynamodb_stream_enable(kedge_aws_client *client, const char *table,
                                          kedge_error *error);
/* Whether kedge_json_check has refused what items may have that Kedge has not written: a NUL, or
 * too many levels. Records that were refused for that can be read nevertheless, since each item is
 * checked by itself. */
bool kedge_dynamodb_change_may_have(const kedge_error *refusal);
/* One record of a stream, as an event of Lambda has it: a batch of one change. `record` is JSON
 * that was checked, or may have the above. KEDGE_UNAVAILABLE "aws-response-invalid": it is no
 * record of a stream with new images. */
kedge_status kedge_dynamodb_change_read(const kedge_allocator *allocator, kedge_bytes record,
                                        kedge_stream_batch *batch, kedge_error *error);

#endif
