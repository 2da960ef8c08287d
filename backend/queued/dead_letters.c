/* Why a message cannot be decided: notes, marks, and dead letters as operators see them. */
#include "backend/queued/dead_letters.h"

#include "backend/queued/message.h"
#include "backend/queued/queued_internal.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* ---- the record ---- */

typedef struct dead_letter_row {
    char partition[KEDGE_MESSAGE_NAME_SIZE + 16];
    char id[KEDGE_SHA256_HEX];
} dead_letter_row;

static dead_letter_row row_of(const kedge_queue_message *message)
{
    dead_letter_row row;
    kedge_message read = {.organization = ""};
    (void)kedge_message_read(message->body, &read, NULL);
    (void)snprintf(row.partition, sizeof row.partition, "DeadLetters#%s", read.organization);
    kedge_sha256_hex(message->body, row.id);
    return row;
}

static kedge_record_key key_of(const dead_letter_row *row)
{
    return (kedge_record_key){kedge_bytes_of(row->partition), kedge_bytes_of(row->id)};
}

static kedge_status put(kedge_queued *queued, const kedge_queue_message *message, const char *code,
                        const char *detail, uint32_t ended, kedge_error *error)
{
    dead_letter_row row = row_of(message);
    const kedge_environment *environment = queued->environment;
    int64_t now_ms = environment->now_ms(environment->context);
    kedge_attribute attributes[] = {
        {"code", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(code), 0},
        {"detail", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(detail), 0},
        {"at", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, now_ms},
        {"deliveries", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, message->receive_count},
        {"ended", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, ended}};
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {key_of(&row), attributes, ended > 0 ? 5 : 4}};
    const kedge_records *records = &queued->options.records;
    return records->vtable->write(records->self, &write, error);
}

/* ---- notes and marks ---- */

void kedge_dead_letter_note(kedge_queued *queued, const kedge_queue_message *message,
                            const kedge_error *reason, uint32_t ended)
{
    kedge_error error = {0};
    if (put(queued, message, reason->code, reason->message, ended, &error) != KEDGE_OK)
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_NOTE, &error);
    kedge_dead_letter_tell(queued, message, reason);
}

void kedge_dead_letter_tell(kedge_queued *queued, const kedge_queue_message *message,
                            const kedge_error *reason)
{
    if (queued->options.failed == NULL) return;
    kedge_message read = {.organization = ""};
    char id[KEDGE_SHA256_HEX];
    (void)kedge_message_read(message->body, &read, NULL);
    kedge_sha256_hex(message->body, id);
    kedge_queued_failure failure = {.organization = read.organization,
                                    .project = read.project,
                                    .id = id,
                                    .receive_count = message->receive_count,
                                    .error = reason};
    queued->options.failed(queued->options.failed_context, &failure);
}

kedge_status kedge_dead_letter_mark(kedge_queued *queued, const kedge_queue_message *message,
                                    uint32_t ended, kedge_error *error)
{
    return put(queued, message, "consumer-ended",
               "a consumer ended while it tried this message alone", ended + 1, error);
}

kedge_status kedge_dead_letter_read_mark(kedge_queued *queued, const kedge_queue_message *message,
                                         uint32_t *ended, kedge_error *error)
{
    dead_letter_row row = row_of(message);
    kedge_record_key key = key_of(&row);
    kedge_record_set set = {0};
    const kedge_records *records = &queued->options.records;
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    *ended = 0;
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *count = kedge_record_attribute(&set.records[0], "ended");
    if (count != NULL && count->number > 0 && count->number <= KEDGE_QUEUE_DELIVERIES_MAX)
        *ended = (uint32_t)count->number;
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

void kedge_dead_letter_forget(kedge_queued *queued, const kedge_queue_message *message)
{
    dead_letter_row row = row_of(message);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = key_of(&row)}};
    const kedge_records *records = &queued->options.records;
    kedge_error error = {0};
    if (records->vtable->write(records->self, &write, &error) != KEDGE_OK)
        kedge_queued_call_failed(queued, KEDGE_QUEUED_CALL_FORGET, &error);
}

/* ---- for operators ---- */

static void write_text(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    kedge_json_key(writer, name);
    if (text.size == 0)
        kedge_json_null(writer);
    else
        kedge_json_text(writer, text);
}

static kedge_bytes text_of(const kedge_record_set *set, const char *name)
{
    const kedge_attribute *attribute =
        set->count == 0 ? NULL : kedge_record_attribute(&set->records[0], name);
    return attribute == NULL ? (kedge_bytes){NULL, 0} : attribute->bytes;
}

kedge_status kedge_dead_letter_write(kedge_queued *queued, const kedge_queue_message *message,
                                     kedge_json_writer *writer, kedge_error *error)
{
    kedge_message read = {.organization = ""};
    kedge_record_set set = {0};
    dead_letter_row row = row_of(message);
    kedge_record_key key = key_of(&row);
    const kedge_records *records = &queued->options.records;
    (void)kedge_message_read(message->body, &read, NULL);
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    kedge_json_begin_object(writer);
    write_text(writer, "id", kedge_bytes_of(row.id));
    write_text(writer, "organization", kedge_bytes_of(read.organization));
    write_text(writer, "project", kedge_bytes_of(read.project));
    write_text(writer, "user", kedge_bytes_of(read.user));
    kedge_json_key(writer, "sent");
    kedge_json_integer(writer, message->sent_ms);
    kedge_json_key(writer, "bytes");
    kedge_json_integer(writer, (int64_t)message->body.size);
    write_text(writer, "claim", kedge_bytes_of(read.claim));
    write_text(writer, "code", text_of(&set, "code"));
    write_text(writer, "detail", text_of(&set, "detail"));
    kedge_json_end_object(writer);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

kedge_status kedge_dead_letter_claims(const kedge_queue *queue, const kedge_project_ref *ref,
                                      kedge_dead_letter_visit visit, void *context, bool *whole,
                                      kedge_error *error)
{
    kedge_queue_batch batch = {0};
    size_t of_project = 0;
    *whole = false;
    if (queue->vtable == NULL) return KEDGE_OK;
    kedge_status status =
        queue->vtable->dead_letters(queue->self, KEDGE_QUEUE_DEAD_LETTERS_MAX, &batch, error);
    for (size_t i = 0; i < batch.count && status == KEDGE_OK; i++) {
        kedge_message read;
        uint8_t hash[KEDGE_SHA256_SIZE];
        if (kedge_message_read(batch.messages[i].body, &read, NULL) != KEDGE_OK) continue;
        if (!kedge_bytes_equal_text(ref->organization, read.organization) ||
            !kedge_bytes_equal_text(ref->project, read.project))
            continue;
        of_project++;
        if (!kedge_hex_decode(kedge_bytes_of(read.claim), hash, sizeof hash)) continue;
        kedge_key key = kedge_key_push(ref, hash);
        status = visit(context, kedge_key_bytes(&key), error);
    }
    *whole = status == KEDGE_OK && !batch.more && of_project < KEDGE_QUEUE_DEAD_LETTERS_OF_GROUP;
    kedge_queue_batch_free(&batch);
    return status;
}

kedge_status kedge_dead_letter_redrive(kedge_queued *queued, const kedge_queue_message *message,
                                       kedge_error *error)
{
    const kedge_queue *queue = &queued->options.queue;
    kedge_status status = queue->vtable->redrive(queue->self, message->receipt, error);
    if (status == KEDGE_OK) kedge_dead_letter_forget(queued, message);
    return status;
}
