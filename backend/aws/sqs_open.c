/* Finding, checking and making the two queues. */
#include "backend/aws/backoff.h"
#include "backend/aws/sqs_internal.h"

#include <stdio.h>
#include <string.h>

#define FIFO             ".fifo"
#define DEAD_LETTERS     "-dead-letters" FIFO
#define RETENTION_S      "1209600" /* 14 days: the longest there is */
#define ARN_BYTES_MAX    256
#define POLICY_BYTES_MAX 1024

typedef struct redrive_policy {
    char target[ARN_BYTES_MAX];
    uint32_t receive_max;
} redrive_policy;

/* ---- names ---- */

static bool is_url(const char *queue)
{
    return strncmp(queue, "http://", 7) == 0 || strncmp(queue, "https://", 8) == 0;
}

/* What stands after the last separator: the name in a URL ('/') or an ARN (':'). */
static const char *last_part(const char *text, char separator)
{
    const char *last = strrchr(text, separator);
    return last == NULL ? text : last + 1;
}

static bool ends_with_fifo(const char *name)
{
    size_t size = strlen(name);
    return size > sizeof FIFO - 1 && strcmp(name + size - (sizeof FIFO - 1), FIFO) == 0;
}

/* ---- asking ---- */

/* A refusal of what is asked about a queue. */
static kedge_status refused(const kedge_sqs_call *call, const kedge_sqs_action *action,
                            const char *queue, kedge_error *error)
{
    if (!kedge_sqs_queue_is_missing(call)) return kedge_sqs_refused(call, action, error);
    return kedge_fail(error, KEDGE_NOT_FOUND, "aws-queue-missing",
                      "SQS in %s has no queue %s, or these credentials may not see it; make it, or "
                      "name another",
                      kedge_aws_client_region(call->client), queue);
}

/* `url` is for the caller to release. */
static kedge_status find_url(kedge_aws_client *client, const char *queue, char **url,
                             kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(client)->allocator;
    kedge_sqs_call call;
    kedge_bytes value;
    if (is_url(queue)) {
        *url = kedge_copy_text(allocator, kedge_bytes_of(queue));
        return *url == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
    }
    kedge_buffer found = kedge_buffer_make(allocator);
    kedge_sqs_begin(&call, client, NULL);
    kedge_sqs_text(&call, "QueueName", queue);
    kedge_status status = kedge_sqs_run(&call, &kedge_sqs_get_url, error);
    if (status == KEDGE_CONFLICT) status = refused(&call, &kedge_sqs_get_url, queue, error);
    if (status == KEDGE_OK) {
        bool read =
            kedge_json_member(kedge_buffer_bytes(&call.response.body), "QueueUrl", &value) &&
            kedge_json_to_text(value, &found) && found.size > 0;
        status = kedge_buffer_status(&found, error);
        if (status == KEDGE_OK && !read)
            status = kedge_sqs_response_invalid(&kedge_sqs_get_url, error);
    }
    if (status == KEDGE_OK) {
        *url = kedge_copy_text(allocator, kedge_buffer_bytes(&found));
        if (*url == NULL) status = kedge_fail_no_memory(error);
    }
    kedge_buffer_free(&found);
    kedge_sqs_call_free(&call);
    return status;
}

/* `attributes` is borrowed from the call, which the caller frees. */
static kedge_status get_attributes(kedge_sqs_call *call, kedge_aws_client *client, const char *url,
                                   kedge_bytes *attributes, kedge_error *error)
{
    kedge_sqs_begin(call, client, url);
    kedge_json_key(&call->writer, "AttributeNames");
    kedge_json_begin_array(&call->writer);
    kedge_json_chars(&call->writer, "All");
    kedge_json_end_array(&call->writer);
    kedge_status status = kedge_sqs_run(call, &kedge_sqs_get_attributes, error);
    if (status == KEDGE_CONFLICT) return refused(call, &kedge_sqs_get_attributes, url, error);
    if (status != KEDGE_OK) return status;
    if (kedge_json_member(kedge_buffer_bytes(&call->response.body), "Attributes", attributes))
        return KEDGE_OK;
    return kedge_sqs_response_invalid(&kedge_sqs_get_attributes, error);
}

static bool read_policy(kedge_bytes attributes, redrive_policy *policy)
{
    char text[POLICY_BYTES_MAX];
    int64_t receive_max;
    if (!kedge_json_member_chars(attributes, "RedrivePolicy", text, sizeof text)) return false;
    kedge_bytes object = kedge_bytes_of(text);
    if (kedge_json_check(object, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) !=
            KEDGE_OK ||
        !kedge_json_member_chars(object, "deadLetterTargetArn", policy->target,
                                 sizeof policy->target) ||
        !kedge_sqs_read_number(object, "maxReceiveCount", &receive_max) || receive_max < 1 ||
        receive_max > KEDGE_QUEUE_DELIVERIES_MAX)
        return false;
    policy->receive_max = (uint32_t)receive_max;
    return true;
}

/* ---- opening ---- */

static kedge_status check_kind(kedge_bytes attributes, const char *queue, redrive_policy *policy,
                               kedge_error *error)
{
    char fifo[8];
    if (!kedge_json_member_chars(attributes, "FifoQueue", fifo, sizeof fifo) ||
        strcmp(fifo, "true") != 0)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-queue-kind",
                          "the queue %s is not a FIFO queue; its name must end in \".fifo\"",
                          queue);
    if (!read_policy(attributes, policy))
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-queue-kind",
                          "the queue %s has no redrive policy; set one that names a FIFO queue for "
                          "the dead letters",
                          queue);
    return KEDGE_OK;
}

/* What the queue itself says, unless the options say less. */
static size_t message_bytes_max(const kedge_sqs_options *options, kedge_bytes attributes)
{
    int64_t most = KEDGE_SQS_MESSAGE_BYTES_MAX, number;
    if (kedge_sqs_read_number(attributes, "MaximumMessageSize", &number) && number > 0 &&
        number < most)
        most = number;
    if (options->message_bytes_max > 0 && options->message_bytes_max < most)
        most = options->message_bytes_max;
    return (size_t)most;
}

static kedge_status find_dead_letters(const kedge_sqs_options *options,
                                      const redrive_policy *policy, char **url, kedge_error *error)
{
    const char *target = last_part(policy->target, ':');
    if (options->dead_letters == NULL) return find_url(options->client, target, url, error);
    if (strcmp(last_part(options->dead_letters, '/'), target) != 0)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "aws-queue-kind",
                          "the queue %s moves its dead letters to %s, not to %s", options->queue,
                          target, options->dead_letters);
    return find_url(options->client, options->dead_letters, url, error);
}

static kedge_status open_queues(const kedge_sqs_options *options, kedge_sqs *self,
                                kedge_error *error)
{
    kedge_sqs_call call;
    kedge_bytes attributes;
    redrive_policy policy;
    kedge_status status = find_url(options->client, options->queue, &self->queue, error);
    if (status != KEDGE_OK) return status;
    status = get_attributes(&call, options->client, self->queue, &attributes, error);
    if (status == KEDGE_OK) status = check_kind(attributes, options->queue, &policy, error);
    if (status == KEDGE_OK) {
        self->receive_max = policy.receive_max;
        self->message_bytes_max = message_bytes_max(options, attributes);
        status = find_dead_letters(options, &policy, &self->dead_letters, error);
    }
    kedge_sqs_call_free(&call);
    return status;
}

kedge_status kedge_sqs_queue_open(const kedge_sqs_options *options, kedge_queue *queue,
                                  kedge_error *error)
{
    const kedge_environment *environment = kedge_aws_client_environment(options->client);
    kedge_sqs *self = kedge_allocate(environment->allocator, sizeof *self);
    if (self == NULL) return kedge_fail_no_memory(error);
    self->client = options->client;
    self->environment = environment;
    kedge_status status = open_queues(options, self, error);
    if (status != KEDGE_OK) {
        kedge_sqs_vtable.close(self);
        return status;
    }
    *queue = (kedge_queue){&kedge_sqs_vtable, self};
    return KEDGE_OK;
}

uint32_t kedge_sqs_receive_max(const kedge_queue *queue)
{
    const kedge_sqs *self = queue->self;
    return self->receive_max;
}

/* ---- making ---- */

static void write_attributes(kedge_sqs_call *call, const char *policy, uint32_t size_max,
                             bool every)
{
    char size[16];
    snprintf(size, sizeof size, "%u", size_max);
    kedge_json_key(&call->writer, "Attributes");
    kedge_json_begin_object(&call->writer);
    kedge_sqs_text(call, "FifoQueue", "true");
    kedge_sqs_text(call, "ContentBasedDeduplication", "false");
    if (policy != NULL) kedge_sqs_text(call, "RedrivePolicy", policy);
    if (every) {
        kedge_sqs_text(call, "DeduplicationScope", "messageGroup");
        kedge_sqs_text(call, "FifoThroughputLimit", "perMessageGroupId");
        kedge_sqs_text(call, "MaximumMessageSize", size);
        kedge_sqs_text(call, "MessageRetentionPeriod", RETENTION_S);
    }
    kedge_json_end_object(&call->writer);
}

/* `every` attribute, or only those that no engine lacks. */
static kedge_status make(const kedge_sqs_options *options, const char *name, const char *policy,
                         bool every, bool *refused, kedge_error *error)
{
    kedge_sqs_call call;
    uint32_t size_max = options->message_bytes_max;
    if (size_max == 0) size_max = KEDGE_SQS_MESSAGE_BYTES_MAX;
    kedge_sqs_begin(&call, options->client, NULL);
    kedge_sqs_text(&call, "QueueName", name);
    write_attributes(&call, policy, size_max, every);
    kedge_status status = kedge_sqs_run(&call, &kedge_sqs_create_queue, error);
    if (status == KEDGE_CONFLICT) {
        *refused = kedge_sqs_code_is(&call, "InvalidAttributeName") ||
                   kedge_sqs_code_is(&call, "InvalidAttributeValue") ||
                   kedge_sqs_parameter_is_invalid(call.response.code);
        /* Somebody else made it at the same time, with other attributes. */
        if (kedge_sqs_code_is(&call, "QueueNameExists") ||
            kedge_sqs_code_is(&call, "QueueAlreadyExists"))
            status = KEDGE_OK;
        else
            status = kedge_sqs_refused(&call, &kedge_sqs_create_queue, error);
    }
    kedge_sqs_call_free(&call);
    return status;
}

/* The queue's URL, once SQS finds it under its name and knows its attributes. */
static kedge_status look_for(const kedge_sqs_options *options, const char *name, char **url,
                             kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(options->client)->allocator;
    kedge_sqs_call call;
    kedge_bytes attributes;
    kedge_status status = find_url(options->client, name, url, error);
    if (status != KEDGE_OK) return status;
    status = get_attributes(&call, options->client, *url, &attributes, error);
    kedge_sqs_call_free(&call);
    if (status == KEDGE_OK) return KEDGE_OK;
    kedge_release(allocator, *url);
    *url = NULL;
    return status;
}

/* A queue that was just made may not be found for a second or more. */
static kedge_status wait_for(const kedge_sqs_options *options, const char *name, char **url,
                             kedge_error *error)
{
    const kedge_environment *environment = kedge_aws_client_environment(options->client);
    int64_t end_ms = environment->monotonic_ms(environment->context) + KEDGE_SQS_CREATE_MS;
    kedge_error cause = {0};
    kedge_status status = KEDGE_OK;
    for (uint32_t tries = 1;; tries++) {
        status = look_for(options, name, url, &cause);
        if (status != KEDGE_NOT_FOUND || environment->monotonic_ms(environment->context) > end_ms)
            break;
        kedge_aws_pause(environment, tries);
    }
    if (status != KEDGE_OK && error != NULL) *error = cause;
    return status;
}

/* The queue's URL, made when it is not there. `url` is for the caller to release. */
static kedge_status ensure(const kedge_sqs_options *options, const char *name, const char *policy,
                           char **url, kedge_error *error)
{
    bool refused = false;
    kedge_status status = find_url(options->client, name, url, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = make(options, name, policy, true, &refused, error);
    if (refused) status = make(options, name, policy, false, &refused, error);
    return status == KEDGE_OK ? wait_for(options, name, url, error) : status;
}

static kedge_status policy_for(const kedge_sqs_options *options, const char *dead_letters,
                               uint32_t receive_max, kedge_buffer *policy, kedge_error *error)
{
    kedge_sqs_call call;
    kedge_bytes attributes;
    char target[ARN_BYTES_MAX];
    kedge_status status = get_attributes(&call, options->client, dead_letters, &attributes, error);
    if (status == KEDGE_OK &&
        !kedge_json_member_chars(attributes, "QueueArn", target, sizeof target))
        status = kedge_sqs_response_invalid(&kedge_sqs_get_attributes, error);
    if (status == KEDGE_OK) {
        kedge_json_writer writer = kedge_json_write(policy);
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "deadLetterTargetArn");
        kedge_json_chars(&writer, target);
        kedge_json_key(&writer, "maxReceiveCount");
        kedge_json_integer(&writer, receive_max);
        kedge_json_end_object(&writer);
        status = kedge_buffer_status(policy, error);
    }
    kedge_sqs_call_free(&call);
    return status;
}

static kedge_status check_name(const char *name, kedge_error *error)
{
    if (!is_url(name) && ends_with_fifo(name) && strlen(name) <= KEDGE_SQS_NAME_BYTES_MAX)
        return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-queue-name",
                      "%.100s cannot be made: a queue is made by its name, which ends in \".fifo\" "
                      "and has at most %d characters",
                      name, KEDGE_SQS_NAME_BYTES_MAX);
}

kedge_status kedge_sqs_create(const kedge_sqs_options *options, uint32_t receive_max,
                              kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(options->client)->allocator;
    char derived[KEDGE_SQS_NAME_BYTES_MAX + sizeof DEAD_LETTERS];
    const char *dead_letters = options->dead_letters;
    char *dead_url = NULL, *url = NULL;
    kedge_buffer policy = kedge_buffer_make(allocator);
    kedge_status status = kedge_queue_receive_max_check(receive_max, error);
    if (status == KEDGE_OK) status = check_name(options->queue, error);
    if (status == KEDGE_OK && dead_letters == NULL) {
        size_t stem = strlen(options->queue) - (sizeof FIFO - 1);
        snprintf(derived, sizeof derived, "%.*s" DEAD_LETTERS, (int)stem, options->queue);
        dead_letters = derived;
    }
    if (status == KEDGE_OK) status = check_name(dead_letters, error);
    if (status == KEDGE_OK) status = ensure(options, dead_letters, NULL, &dead_url, error);
    if (status == KEDGE_OK) status = policy_for(options, dead_url, receive_max, &policy, error);
    if (status == KEDGE_OK) status = ensure(options, options->queue, policy.data, &url, error);
    kedge_release(allocator, dead_url);
    kedge_release(allocator, url);
    kedge_buffer_free(&policy);
    return status;
}
