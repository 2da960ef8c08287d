/* Sending one request to DynamoDB Streams, and what its refusals mean. */
#include "backend/aws/dynamodb_internal.h"
#include "backend/aws/dynamodb_stream_internal.h"
#include "common/error.h"

#include <string.h>

kedge_status kedge_dynamodb_stream_run(kedge_dynamodb_stream *self, const char *operation,
                                       const char *action, kedge_json_writer *writer,
                                       const char *shard, kedge_bytes position,
                                       kedge_aws_response *response, kedge_error *error)
{
    kedge_error cause = {0};
    kedge_json_end_object(writer);
    const kedge_dynamodb_request request = {
        .streams = true,
        .operation = operation,
        .action = action,
        .body = kedge_buffer_bytes(writer->buffer),
        .response_bytes_max =
            kedge_dynamodb_response_max(KEDGE_DYNAMODB_STREAM_RECORD_BYTES, KEDGE_STREAM_READ_MAX)};
    kedge_status status = kedge_buffer_status(writer->buffer, &cause);
    if (status == KEDGE_OK)
        status = kedge_dynamodb_send(self->client, self->table, &request, response, &cause);
    kedge_buffer_free(writer->buffer);
    if (status == KEDGE_OK) return KEDGE_OK;
    if (strcmp(response->code, "ExpiredIteratorException") == 0) status = KEDGE_CONFLICT;
    if (strcmp(response->code, "TrimmedDataAccessException") == 0 ||
        (shard != NULL && strcmp(response->code, "ResourceNotFoundException") == 0))
        return kedge_stream_fail_trimmed(shard, position, error);
    if (error != NULL) *error = cause;
    return status;
}
