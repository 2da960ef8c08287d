/* What the files of the SQS queue share: the port's state, one call of SQS's JSON protocol, and a
 * message as SQS holds it. */
#ifndef KEDGE_BACKEND_AWS_SQS_INTERNAL_H
#define KEDGE_BACKEND_AWS_SQS_INTERNAL_H

#include "backend/aws/sqs.h"
#include "backend/ports/queue_support.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

#include <kedge/limits.h>

#define KEDGE_SQS_NAME_BYTES_MAX     80 /* of a queue */
#define KEDGE_SQS_MESSAGE_BYTES_MAX  1048576
#define KEDGE_SQS_HANDLE_BYTES_MAX   2048 /* of a receipt handle; AWS's have about 400 */
#define KEDGE_SQS_ID_BYTES_MAX       256  /* of a message id; AWS's have 36 */
#define KEDGE_SQS_RESPONSE_BYTES_MAX 65536
/* Beside its body, in a response: attributes, handle, ids. */
#define KEDGE_SQS_MESSAGE_EXTRA_BYTES 8192
#define KEDGE_SQS_ESCAPED_MAX         6 /* bytes that JSON may take for one */
#define KEDGE_SQS_BATCH_MAX           10
#define KEDGE_SQS_CREATE_MS           60000 /* until a new queue is there */

#define KEDGE_SQS_LIVE "sqs-"      /* before the handle in the receipt of a delivery */
#define KEDGE_SQS_DEAD "sqs-dead-" /* before the message's id in the receipt of a dead letter */

typedef struct kedge_sqs {
    kedge_aws_client *client;
    const kedge_environment *environment;
    char *queue; /* URLs */
    char *dead_letters;
    uint32_t receive_max; /* of the redrive policy */
    size_t message_bytes_max;
} kedge_sqs;

/* ---- calls (sqs_call.c) ---- */

typedef struct kedge_sqs_action {
    const char *target; /* "AmazonSQS.SendMessage" */
    const char *action; /* "sqs:SendMessage", the permission that it needs */
} kedge_sqs_action;

extern const kedge_sqs_action kedge_sqs_change_visibility, kedge_sqs_change_visibilities,
    kedge_sqs_create_queue, kedge_sqs_delete_message, kedge_sqs_get_attributes, kedge_sqs_get_url,
    kedge_sqs_receive_message, kedge_sqs_send_message;

/* The parameters are written between begin and run; kedge_sqs_call_free in the end. */
typedef struct kedge_sqs_call {
    kedge_aws_client *client;
    kedge_buffer parameters;
    kedge_json_writer writer;
    kedge_aws_response response;
    size_t response_bytes_max;
    int64_t wait_ms;
} kedge_sqs_call;

/* `url` NULL: the action speaks of no queue. */
void kedge_sqs_begin(kedge_sqs_call *call, kedge_aws_client *client, const char *url);
void kedge_sqs_call_free(kedge_sqs_call *call);
void kedge_sqs_text(kedge_sqs_call *call, const char *name, const char *value);
void kedge_sqs_integer(kedge_sqs_call *call, const char *name, int64_t value);

/* KEDGE_OK: `response.body` is checked JSON, or empty. KEDGE_CONFLICT: SQS refused;
 * kedge_sqs_refused says what that means. Others as of kedge_aws_call, but that a response over the
 * limit is KEDGE_UNAVAILABLE. */
kedge_status kedge_sqs_run(kedge_sqs_call *call, const kedge_sqs_action *action,
                           kedge_error *error);
/* The port's failure of a refusal that has no meaning of its own to the caller: KEDGE_UNAVAILABLE
 * when an earlier try may have taken effect, else KEDGE_IO. KEDGE_NOT_FOUND is not among the
 * failures of the port: a queue that is gone is "aws-queue-missing" with one of these two. */
kedge_status kedge_sqs_refused(const kedge_sqs_call *call, const kedge_sqs_action *action,
                               kedge_error *error);
bool kedge_sqs_code_is(const kedge_sqs_call *call, const char *code);
bool kedge_sqs_queue_is_missing(const kedge_sqs_call *call);
/* With this code the value of a parameter is refused: a receipt that is over, a body that is too
 * large. */
bool kedge_sqs_parameter_is_invalid(const char *code);
/* "aws-response-invalid": a 2xx that is not SQS's, so that nobody knows what happened. */
kedge_status kedge_sqs_response_invalid(const kedge_sqs_action *action, kedge_error *error);
/* A number of a response, or a number in a string: both are written. */
bool kedge_sqs_read_number(kedge_bytes object, const char *name, int64_t *number);

/* ---- messages (sqs_message.c) ---- */

/* A message as SQS holds it. All are JSON strings in their quotes, borrowed from a response; those
 * with size 0 are not there. */
typedef struct kedge_sqs_message {
    kedge_bytes id;
    kedge_bytes handle;
    kedge_bytes body;
    kedge_bytes body_md5;
    kedge_bytes group_id;
    kedge_bytes group;    /* base64 of the group, where `group_id` is not the group itself */
    kedge_bytes encoding; /* of the body */
    char sequence[48];    /* decimals; "" when there is none */
    int64_t sent_ms;
    uint32_t receive_count;
} kedge_sqs_message;

/* False when `value` is no message. */
bool kedge_sqs_message_read(kedge_bytes value, kedge_sqs_message *message);

/* Fills group, body, time and count; the bytes are those of `memory`. False when what SQS gave is
 * not what was sent (its MD5), or nothing that this port can have sent; `raw` takes group and body
 * as they are then. A lack of memory is told by `memory`. */
bool kedge_sqs_message_decode(const kedge_sqs_message *message, bool raw, kedge_buffer *memory,
                              kedge_queue_message *decoded);

/* What SQS gave is what was sent to it, by whomever. Uses `memory`. */
bool kedge_sqs_message_is_whole(const kedge_sqs_message *message, kedge_buffer *memory);

/* Writes the parameters of a SendMessage. `stored_size` gets what SQS counts for the message,
 * `md5` the body's. */
void kedge_sqs_message_write(kedge_sqs_call *call, kedge_bytes group, kedge_bytes deduplication,
                             kedge_bytes body, size_t *stored_size, char md5[KEDGE_MD5_HEX]);
/* The same for a message that SQS gave, as it is. */
void kedge_sqs_message_write_again(kedge_sqs_call *call, const kedge_sqs_message *message,
                                   const char *deduplication);

/* Runs a SendMessage; `md5` is what SQS must have received. */
kedge_status kedge_sqs_send(kedge_sqs_call *call, kedge_bytes md5, kedge_error *error);

/* ---- receiving (sqs_receive.c) ---- */

typedef struct kedge_sqs_received {
    kedge_sqs_call call; /* whose response the messages are of */
    kedge_sqs_message messages[KEDGE_SQS_BATCH_MAX];
    size_t count;
} kedge_sqs_received;

void kedge_sqs_received_free(kedge_sqs_received *received);
kedge_status kedge_sqs_receive(const kedge_sqs *self, const char *url, uint32_t count,
                               int64_t visibility_ms, int64_t wait_ms, kedge_sqs_received *received,
                               kedge_error *error);
/* KEDGE_CONFLICT "stale-receipt". */
kedge_status kedge_sqs_delete(const kedge_sqs *self, const char *url, const char *handle,
                              kedge_error *error);
kedge_status kedge_sqs_extend(const kedge_sqs *self, const char *handle, int64_t visibility_ms,
                              kedge_error *error);
/* The same of up to KEDGE_SQS_BATCH_MAX; handles that are NULL are left out. */
void kedge_sqs_extend_all(const kedge_sqs *self, const char *const *handles, size_t count,
                          int64_t visibility_ms, kedge_error *failures);
/* Makes dead letters visible again. A failure is no harm: their visibility ends. */
void kedge_sqs_give_back(const kedge_sqs *self, const kedge_sqs_received *received);

/* ---- the port (sqs.c, sqs_dead_letters.c) ---- */

extern const kedge_queue_vtable kedge_sqs_vtable;

kedge_status kedge_sqs_dead_letters(void *context, uint32_t count, kedge_queue_batch *batch,
                                    kedge_error *error);
kedge_status kedge_sqs_redrive(void *context, const char *receipt, kedge_error *error);

#endif
