/* Dead letters. SQS can only receive them: each look takes them for a short while and gives them
 * back.
 *
 * A FIFO queue gives the messages of a group only while none of the group is out. A receive takes
 * up to ten of one group, and the next receive goes on with other groups: of a group with more, the
 * ten oldest are seen until they are redriven. */
#include "backend/aws/sqs_internal.h"

#include <stdlib.h>
#include <string.h>

#define REDRIVE_NAME "kedge.redrive."
/* How long a look may take; what a crash leaves out comes back after it. */
#define LOOK_MS 30000
/* A queue may answer "none" too early to a receive that does not wait. */
#define LOOK_WAIT_MS 1000
/* A look ends after so many bytes of responses. */
#define LOOK_BYTES_MAX ((size_t)32 << 20)

/* What one look took. Each round has at least one letter. */
typedef struct look {
    kedge_sqs_received rounds[KEDGE_QUEUE_DEAD_LETTERS_MAX];
    size_t round_count;
    const kedge_sqs_message *letters[KEDGE_QUEUE_DEAD_LETTERS_MAX];
    size_t count;
    size_t bytes;
} look;

static kedge_status take_round(const kedge_sqs *self, look *taken, kedge_error *error)
{
    kedge_sqs_received *round = &taken->rounds[taken->round_count];
    size_t left = KEDGE_QUEUE_DEAD_LETTERS_MAX - taken->count;
    uint32_t count = left < KEDGE_SQS_BATCH_MAX ? (uint32_t)left : KEDGE_SQS_BATCH_MAX;
    kedge_status status =
        kedge_sqs_receive(self, self->dead_letters, count, LOOK_MS, LOOK_WAIT_MS, round, error);
    if (status != KEDGE_OK || round->count == 0) {
        kedge_sqs_received_free(round);
        return status;
    }
    taken->round_count++;
    taken->bytes += round->call.response.body.size;
    for (size_t i = 0; i < round->count; i++)
        taken->letters[taken->count++] = &round->messages[i];
    return KEDGE_OK;
}

static bool is_full(const look *taken)
{
    return taken->count == KEDGE_QUEUE_DEAD_LETTERS_MAX || taken->bytes >= LOOK_BYTES_MAX;
}

static void end_look(const kedge_sqs *self, look *taken)
{
    for (size_t i = 0; i < taken->round_count; i++) {
        kedge_sqs_give_back(self, &taken->rounds[i]);
        kedge_sqs_received_free(&taken->rounds[i]);
    }
    kedge_release(self->environment->allocator, taken);
}

/* ---- showing ---- */

static int compare_ages(const void *a, const void *b)
{
    const kedge_sqs_message *one = *(const kedge_sqs_message *const *)a;
    const kedge_sqs_message *other = *(const kedge_sqs_message *const *)b;
    if (one->sent_ms != other->sent_ms) return one->sent_ms < other->sent_ms ? -1 : 1;
    size_t size = strlen(one->sequence), other_size = strlen(other->sequence);
    if (size != other_size) return size < other_size ? -1 : 1;
    return strcmp(one->sequence, other->sequence);
}

static kedge_status show(const kedge_sqs *self, const kedge_sqs_message *letter, size_t capacity,
                         kedge_buffer *memory, kedge_queue_batch *batch, kedge_error *error)
{
    char receipt[sizeof KEDGE_SQS_DEAD + KEDGE_SQS_ID_BYTES_MAX] = KEDGE_SQS_DEAD;
    size_t used = sizeof KEDGE_SQS_DEAD - 1;
    kedge_queue_message decoded;
    bool valid = kedge_json_to_chars(letter->id, receipt + used, sizeof receipt - used) &&
                 (kedge_sqs_message_decode(letter, false, memory, &decoded) ||
                  (!memory->no_memory && kedge_sqs_message_decode(letter, true, memory, &decoded)));
    kedge_status status = kedge_buffer_status(memory, error);
    if (status != KEDGE_OK) return status;
    if (!valid) return KEDGE_OK; /* nobody of Kedge sent it, nor can it be told what it is */
    decoded.receipt = receipt;
    decoded.receive_count = self->receive_max;
    return kedge_queue_batch_add(batch, self->environment->allocator, capacity, &decoded, error);
}

/* How many dead letters there are: SQS's count, which may be a minute old. */
static kedge_status count_letters(const kedge_sqs *self, int64_t *count, kedge_error *error)
{
    static const char *const names[] = {"ApproximateNumberOfMessages",
                                        "ApproximateNumberOfMessagesNotVisible",
                                        "ApproximateNumberOfMessagesDelayed"};
    kedge_sqs_call call;
    kedge_bytes attributes;
    kedge_sqs_begin(&call, self->client, self->dead_letters);
    kedge_json_key(&call.writer, "AttributeNames");
    kedge_json_begin_array(&call.writer);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        kedge_json_chars(&call.writer, names[i]);
    kedge_json_end_array(&call.writer);
    kedge_status status = kedge_sqs_run(&call, &kedge_sqs_get_attributes, error);
    if (status == KEDGE_CONFLICT)
        status = kedge_sqs_refused(&call, &kedge_sqs_get_attributes, error);
    bool read = status == KEDGE_OK && kedge_json_member(kedge_buffer_bytes(&call.response.body),
                                                        "Attributes", &attributes);
    *count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && read; i++) {
        int64_t number = 0;
        read = kedge_sqs_read_number(attributes, names[i], &number) && number >= 0;
        *count += number;
    }
    if (status == KEDGE_OK && !read)
        status = kedge_sqs_response_invalid(&kedge_sqs_get_attributes, error);
    kedge_sqs_call_free(&call);
    return status;
}

/* Whether there may be others than those taken: another look may hold some, and of a group only the
 * oldest are taken. */
static kedge_status look_for_more(const kedge_sqs *self, const look *taken, bool *more,
                                  kedge_error *error)
{
    int64_t count = 0;
    *more = is_full(taken);
    if (*more) return KEDGE_OK;
    kedge_status status = count_letters(self, &count, error);
    *more = count > (int64_t)taken->count;
    return status;
}

static kedge_status look_around(const kedge_sqs *self, look *taken, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    size_t before;
    do {
        before = taken->count;
        status = take_round(self, taken, error);
    } while (status == KEDGE_OK && taken->count > before && !is_full(taken));
    return status;
}

kedge_status kedge_sqs_dead_letters(void *context, uint32_t count, kedge_queue_batch *batch,
                                    kedge_error *error)
{
    const kedge_sqs *self = context;
    kedge_queue_batch found = {0};
    kedge_status status = kedge_queue_count_check(count, KEDGE_QUEUE_DEAD_LETTERS_MAX, error);
    if (status != KEDGE_OK) return status;
    look *taken = kedge_allocate(self->environment->allocator, sizeof *taken);
    if (taken == NULL) return kedge_fail_no_memory(error);
    kedge_buffer memory = kedge_buffer_make(self->environment->allocator);
    status = look_around(self, taken, error);
    qsort(taken->letters, taken->count, sizeof taken->letters[0], compare_ages);
    for (size_t i = 0; i < taken->count && found.count < count && status == KEDGE_OK; i++)
        status = show(self, taken->letters[i], count, &memory, &found, error);
    if (status == KEDGE_OK) status = look_for_more(self, taken, &found.more, error);
    found.more = found.more || taken->count > count;
    kedge_buffer_free(&memory);
    end_look(self, taken);
    if (status == KEDGE_OK)
        *batch = found;
    else
        kedge_queue_batch_free(&found);
    return status;
}

/* ---- redrive ---- */

/* Looks on until it met the letter; `place` in the newest round. */
static kedge_status find(const kedge_sqs *self, const char *id, look *taken, size_t *place,
                         bool *found, kedge_error *error)
{
    size_t before = 0;
    do {
        kedge_status status = take_round(self, taken, error);
        if (status != KEDGE_OK) return status;
        for (size_t i = before; i < taken->count; i++) {
            *place = i - before;
            *found = kedge_json_text_equals(taken->letters[i]->id, id);
            if (*found) return KEDGE_OK;
        }
        if (taken->count == before) return KEDGE_OK;
        before = taken->count;
    } while (!is_full(taken));
    return KEDGE_OK;
}

/* The name is the letter's own: a redrive that is tried again, because nobody knows what became of
 * the first one, puts the message back once within the five minutes. */
static kedge_status send_again(const kedge_sqs *self, const char *id,
                               const kedge_sqs_message *letter, kedge_error *error)
{
    kedge_sqs_call call;
    char name[KEDGE_QUEUE_DEDUPLICATION_BYTES_MAX + 1] = REDRIVE_NAME;
    char md5[KEDGE_MD5_HEX];
    if (strlen(id) >= sizeof name - sizeof REDRIVE_NAME + 1 ||
        !kedge_json_to_chars(letter->body_md5, md5, sizeof md5))
        return kedge_sqs_response_invalid(&kedge_sqs_receive_message, error);
    memcpy(name + sizeof REDRIVE_NAME - 1, id, strlen(id) + 1);
    kedge_sqs_begin(&call, self->client, self->queue);
    kedge_sqs_message_write_again(&call, letter, name);
    kedge_status status = kedge_sqs_send(&call, kedge_bytes_of(md5), error);
    kedge_sqs_call_free(&call);
    return status;
}

static kedge_status move_back(const kedge_sqs *self, const char *id,
                              const kedge_sqs_message *letter, kedge_error *error)
{
    char handle[KEDGE_SQS_HANDLE_BYTES_MAX + 1];
    kedge_error cause = {0};
    kedge_status status = send_again(self, id, letter, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_to_chars(letter->handle, handle, sizeof handle))
        return kedge_sqs_response_invalid(&kedge_sqs_receive_message, error);
    status = kedge_sqs_delete(self, self->dead_letters, handle, &cause);
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-redrive-unfinished",
                      "the message is back in its group, and may still be a dead letter: %s",
                      cause.message);
}

/* The letter is deleted: there is nothing of it to give back. */
static void forget(kedge_sqs_received *round, size_t place)
{
    round->count--;
    memmove(&round->messages[place], &round->messages[place + 1],
            (round->count - place) * sizeof round->messages[0]);
}

kedge_status kedge_sqs_redrive(void *context, const char *receipt, kedge_error *error)
{
    const kedge_sqs *self = context;
    const char *id = receipt + sizeof KEDGE_SQS_DEAD - 1;
    size_t place = 0;
    bool found = false;
    if (strncmp(receipt, KEDGE_SQS_DEAD, sizeof KEDGE_SQS_DEAD - 1) != 0 || *id == '\0')
        return kedge_queue_invalid_receipt(receipt, error);
    look *taken = kedge_allocate(self->environment->allocator, sizeof *taken);
    if (taken == NULL) return kedge_fail_no_memory(error);
    kedge_status status = find(self, id, taken, &place, &found, error);
    if (status == KEDGE_OK && !found) status = kedge_queue_stale_receipt(receipt, error);
    if (status == KEDGE_OK) {
        kedge_sqs_received *round = &taken->rounds[taken->round_count - 1];
        status = move_back(self, id, &round->messages[place], error);
        if (status == KEDGE_OK) forget(round, place);
    }
    end_look(self, taken);
    return status;
}
