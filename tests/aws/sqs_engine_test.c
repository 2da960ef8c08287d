/* The queue port on a real SQS, beyond the contract: what it carries, and how its dead letters
 * behave. Fresh queues for each test. */
#include "common/hash.h"
#include "tests/support/engines.h"
#include "tests/support/sqs_queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RECEIVE_MAX 2
#define LONG_MS     60000
#define WAIT_MS     1000
#define DEADLINE_MS 90000

typedef struct fixture {
    sqs_queues queues;
    kedge_queue queue;
    kedge_error error;
} fixture;

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    *state = &f;
    kedge_status status = sqs_queues_begin(&f.queues, &f.error);
    if (status == KEDGE_OK) status = sqs_queues_make(&f.queues, RECEIVE_MAX, &f.queue, &f.error);
    if (status != KEDGE_OK) print_error("%s\n", f.error.message);
    return status == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    f->queue.vtable->close(f->queue.self);
    sqs_queues_end(&f->queues);
    return 0;
}

/* ---- short forms ---- */

static kedge_status send_bytes(fixture *f, kedge_bytes group, kedge_bytes name, kedge_bytes body)
{
    return f->queue.vtable->send(f->queue.self, KEDGE_BYTES("o"), group, name, body, &f->error);
}

static void send_text(fixture *f, const char *group, const char *body)
{
    assert_int_equal(
        send_bytes(f, kedge_bytes_of(group), kedge_bytes_of(body), kedge_bytes_of(body)), KEDGE_OK);
}

/* Receives until a message is there. */
static void receive(fixture *f, uint32_t count, int64_t visibility_ms, kedge_queue_batch *batch)
{
    const kedge_environment *environment = &f->queues.environment;
    int64_t end_ms = environment->monotonic_ms(NULL) + DEADLINE_MS;
    do {
        assert_int_equal(f->queue.vtable->receive(f->queue.self, count, visibility_ms, WAIT_MS,
                                                  NULL, batch, &f->error),
                         KEDGE_OK);
    } while (batch->count == 0 && environment->monotonic_ms(NULL) < end_ms);
    assert_true(batch->count > 0);
}

static void assert_none(fixture *f)
{
    kedge_queue_batch batch = {0};
    assert_int_equal(
        f->queue.vtable->receive(f->queue.self, 10, LONG_MS, 0, NULL, &batch, &f->error), KEDGE_OK);
    assert_int_equal(batch.count, 0);
}

/* ---- what it carries ---- */

static void assert_carried(fixture *f, kedge_bytes group, kedge_bytes name, kedge_bytes body)
{
    kedge_queue_batch batch = {0};
    if (send_bytes(f, group, name, body) != KEDGE_OK) fail_msg("%s", f->error.message);
    receive(f, 1, LONG_MS, &batch);
    assert_true(kedge_bytes_equal(batch.messages[0].group, group));
    assert_true(kedge_bytes_equal(batch.messages[0].body, body));
    assert_int_equal(f->queue.vtable->done(f->queue.self, batch.messages[0].receipt, &f->error),
                     KEDGE_OK);
    kedge_queue_batch_free(&batch);
}

static void test_every_byte_is_carried_in_group_name_and_body(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 256; i++) {
        char byte = (char)(unsigned char)i;
        char name[2] = {byte, byte};
        assert_carried(f, (kedge_bytes){&byte, 1}, (kedge_bytes){name, 2}, (kedge_bytes){&byte, 1});
    }
}

static void test_odd_texts_and_names_are_carried(void **state)
{
    fixture *f = *state;
    static const char *const texts[] = {
        "\"quoted\\ \b\f\n\r\t/",
        "\xc2\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbd", /* U+80, U+D7FF, U+E000, U+FFFD */
        "\xef\xbf\xbe",                                    /* U+FFFE */
        "\xef\xbf\xbf",                                    /* U+FFFF */
        "\xef\xb7\x90",                                    /* U+FDD0, not a character */
        "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",               /* U+10000, U+10FFFF */
        "\xed\xa0\x80",                                    /* half of a pair */
        "\xc0\xaf",                                        /* overlong */
        "\xe2\x82",                                        /* cut off */
        " ",
        "kedge.sha256.0",
        "kedge.",
        "&lt;<>&amp;&#0;%00+ =",
        "aGVsbG8=",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        kedge_bytes text = kedge_bytes_of(texts[i]);
        assert_carried(f, text, text, text);
    }
}

static void test_names_that_are_hashed_still_deduplicate_and_meet_no_other(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch = {0};
    kedge_bytes odd = KEDGE_BYTES("a name");
    char same[80] = "kedge.sha256.";
    kedge_sha256_hex(odd, same + strlen(same));
    assert_int_equal(send_bytes(f, odd, odd, KEDGE_BYTES("1")), KEDGE_OK);
    assert_int_equal(send_bytes(f, odd, odd, KEDGE_BYTES("2")), KEDGE_OK);
    assert_int_equal(send_bytes(f, odd, kedge_bytes_of(same), KEDGE_BYTES("3")), KEDGE_OK);
    receive(f, 10, LONG_MS, &batch);
    assert_int_equal(batch.count, 2);
    assert_true(kedge_bytes_equal_text(batch.messages[0].body, "1"));
    assert_true(kedge_bytes_equal_text(batch.messages[1].body, "3"));
    kedge_queue_batch_free(&batch);
}

/* The largest body of any bytes: four for three, and the attribute. */
#define ENCODED_BYTES_MAX ((KEDGE_QUEUE_BODY_BYTES_MAX - 26) / 4 * 3)

static void test_bodies_are_carried_up_to_the_last_byte(void **state)
{
    fixture *f = *state;
    static char text[KEDGE_QUEUE_BODY_BYTES_MAX];
    memset(text, '"', sizeof text);
    kedge_bytes group = KEDGE_BYTES("g"), body = {text, sizeof text};
    assert_carried(f, group, KEDGE_BYTES("1"), body);
    text[0] = '\0';
    body.size = ENCODED_BYTES_MAX;
    assert_carried(f, group, KEDGE_BYTES("2"), body);
    body.size++;
    assert_int_equal(send_bytes(f, group, KEDGE_BYTES("3"), body), KEDGE_LIMIT_EXCEEDED);
    /* The attribute with the group needs its own room. */
    text[0] = 'x';
    body.size = sizeof text;
    assert_int_equal(send_bytes(f, KEDGE_BYTES("a group"), KEDGE_BYTES("4"), body),
                     KEDGE_LIMIT_EXCEEDED);
    assert_none(f);
}

static void test_ten_large_bodies_come_in_one_batch(void **state)
{
    fixture *f = *state;
    static char text[KEDGE_QUEUE_BODY_BYTES_MAX];
    kedge_queue_batch batch = {0};
    memset(text, '\n', sizeof text);
    for (int i = 0; i < 10; i++) {
        text[0] = (char)('0' + i);
        assert_int_equal(send_bytes(f, KEDGE_BYTES("g"), (kedge_bytes){text, 1},
                                    (kedge_bytes){text, sizeof text}),
                         KEDGE_OK);
    }
    receive(f, 10, LONG_MS, &batch);
    assert_int_equal(batch.count, 10);
    for (int i = 0; i < 10; i++) {
        text[0] = (char)('0' + i);
        assert_true(kedge_bytes_equal(batch.messages[i].body, (kedge_bytes){text, sizeof text}));
    }
    kedge_queue_batch_free(&batch);
}

static void test_a_lower_limit_of_the_options_is_kept(void **state)
{
    fixture *f = *state;
    kedge_queue small;
    const kedge_sqs_options options = {
        .client = f->queues.client, .queue = f->queues.name, .message_bytes_max = 10};
    assert_int_equal(kedge_sqs_queue_open(&options, &small, &f->error), KEDGE_OK);
    kedge_bytes name = KEDGE_BYTES("1");
    assert_int_equal(
        small.vtable->send(small.self, name, name, name, KEDGE_BYTES("12345678901"), &f->error),
        KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(
        small.vtable->send(small.self, name, name, name, KEDGE_BYTES("1234567890"), &f->error),
        KEDGE_OK);
    small.vtable->close(small.self);
}

/* ---- waiting ---- */

static void test_a_receive_may_wait_for_longer_than_a_call_may_take(void **state)
{
    fixture *f = *state;
    kedge_aws_client *hurried;
    kedge_queue queue;
    kedge_queue_batch batch = {0};
    const kedge_sqs_options named = {.client = f->queues.client, .queue = f->queues.name};
    const kedge_aws_client_options options = {
        .environment = &f->queues.environment,
        .credentials = f->queues.credentials,
        .region = kedge_aws_client_region(named.client),
        .endpoints = {[KEDGE_AWS_SQS] = kedge_aws_client_endpoint(named.client, KEDGE_AWS_SQS)},
        .deadline_ms = 3000,
        .try_deadline_ms = 3000};
    assert_int_equal(kedge_aws_client_new(&options, &hurried, &f->error), KEDGE_OK);
    const kedge_sqs_options opened = {.client = hurried, .queue = f->queues.name};
    assert_int_equal(kedge_sqs_queue_open(&opened, &queue, &f->error), KEDGE_OK);
    kedge_status status =
        queue.vtable->receive(queue.self, 1, LONG_MS, 4000, NULL, &batch, &f->error);
    if (status != KEDGE_OK) fail_msg("%s", f->error.message);
    assert_int_equal(batch.count, 0);
    queue.vtable->close(queue.self);
    kedge_aws_client_free(hurried);
}

/* ---- dead letters ---- */

#define LETTERS   14
#define KILLED_MS 60000 /* how many receives it takes depends on how busy the machine is */

/* Gives everything in the queue back until nothing is left. A receive that only moves messages to
 * the dead letters has none to give. */
static void kill_all(fixture *f)
{
    kedge_queue_batch batch = {0};
    kedge_environment *world = &f->queues.environment;
    int64_t until_ms = world->now_ms(world->context) + KILLED_MS;
    while (sqs_queues_count(&f->queues, false) > 0 && world->now_ms(world->context) < until_ms) {
        kedge_status status =
            f->queue.vtable->receive(f->queue.self, 10, 0, 0, NULL, &batch, &f->error);
        assert_true(status == KEDGE_OK || status == KEDGE_CORRUPT);
        kedge_queue_batch_free(&batch);
    }
    assert_int_equal(sqs_queues_count(&f->queues, false), 0);
}

static void assert_letters(fixture *f, uint32_t count, int first, int last)
{
    kedge_queue_batch dead = {0};
    char text[32];
    assert_int_equal(f->queue.vtable->dead_letters(f->queue.self, count, &dead, &f->error),
                     KEDGE_OK);
    assert_int_equal(dead.count, last - first + 1);
    for (int i = first; i <= last; i++) {
        snprintf(text, sizeof text, "%02d", i);
        const kedge_queue_message *letter = &dead.messages[i - first];
        assert_true(kedge_bytes_equal_text(letter->body, text));
        assert_true(kedge_bytes_equal_text(letter->group, "g g"));
        assert_int_equal(letter->receive_count, RECEIVE_MAX);
    }
    kedge_queue_batch_free(&dead);
}

static void redrive_oldest(fixture *f, int count)
{
    kedge_queue_batch dead = {0};
    assert_int_equal(
        f->queue.vtable->dead_letters(f->queue.self, (uint32_t)count, &dead, &f->error), KEDGE_OK);
    assert_int_equal(dead.count, count);
    for (size_t i = 0; i < dead.count; i++) {
        kedge_status status =
            f->queue.vtable->redrive(f->queue.self, dead.messages[i].receipt, &f->error);
        if (status != KEDGE_OK) fail_msg("%zu: %s", i, f->error.message);
    }
    kedge_queue_batch_free(&dead);
}

static void test_a_group_of_dead_letters_is_seen_by_tens_and_redriven_in_order(void **state)
{
    fixture *f = *state;
    char text[32];
    for (int i = 1; i <= LETTERS; i++) {
        snprintf(text, sizeof text, "%02d", i);
        send_text(f, "g g", text);
    }
    kill_all(f);
    assert_letters(f, 100, 1, 10);
    assert_letters(f, 100, 1, 10); /* they stay */
    assert_letters(f, 3, 1, 3);
    redrive_oldest(f, 10);
    assert_letters(f, 100, 11, LETTERS);
    redrive_oldest(f, LETTERS - 10);
    for (int next = 1; next <= LETTERS;) {
        kedge_queue_batch batch = {0};
        receive(f, 10, LONG_MS, &batch);
        for (size_t i = 0; i < batch.count; i++) {
            snprintf(text, sizeof text, "%02d", next++);
            assert_true(kedge_bytes_equal_text(batch.messages[i].body, text));
            assert_int_equal(batch.messages[i].receive_count, 1);
            assert_int_equal(
                f->queue.vtable->done(f->queue.self, batch.messages[i].receipt, &f->error),
                KEDGE_OK);
        }
        kedge_queue_batch_free(&batch);
    }
}

static void test_dead_letters_of_many_groups_are_seen_together(void **state)
{
    fixture *f = *state;
    kedge_queue_batch dead = {0};
    char text[32];
    for (int i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "%02d", i);
        send_text(f, text, text);
    }
    kill_all(f);
    assert_int_equal(f->queue.vtable->dead_letters(f->queue.self, 100, &dead, &f->error), KEDGE_OK);
    assert_int_equal(dead.count, 30);
    assert_false(dead.more);
    for (size_t i = 0; i < dead.count; i++) {
        snprintf(text, sizeof text, "%02zu", i);
        assert_true(kedge_bytes_equal_text(dead.messages[i].body, text));
    }
    /* One from the middle of them. */
    assert_int_equal(f->queue.vtable->redrive(f->queue.self, dead.messages[17].receipt, &f->error),
                     KEDGE_OK);
    assert_int_equal(f->queue.vtable->redrive(f->queue.self, dead.messages[17].receipt, &f->error),
                     KEDGE_CONFLICT);
    kedge_queue_batch_free(&dead);
    receive(f, 10, LONG_MS, &dead);
    assert_int_equal(dead.count, 1);
    assert_true(kedge_bytes_equal_text(dead.messages[0].body, "17"));
    kedge_queue_batch_free(&dead);
}

static void test_dead_letters_that_somebody_else_holds_are_told_as_more(void **state)
{
    fixture *f = *state;
    kedge_aws_response response = {0};
    kedge_queue_batch dead = {0};
    send_text(f, "g", "one");
    send_text(f, "h", "two");
    kill_all(f);
    assert_int_equal(sqs_queues_run(&f->queues, f->queues.dead_letters, "ReceiveMessage",
                                    ",\"MaxNumberOfMessages\":1,\"VisibilityTimeout\":300",
                                    &response, &f->error),
                     KEDGE_OK);
    kedge_aws_response_free(&response);
    assert_int_equal(f->queue.vtable->dead_letters(f->queue.self, 100, &dead, &f->error), KEDGE_OK);
    assert_int_equal(dead.count, 1);
    assert_true(dead.more);
    kedge_queue_batch_free(&dead);
}

/* A message of somebody else's in the queue: base64 is promised, and not there. */
static void test_a_message_that_nobody_of_kedge_sent_dies_alone_and_is_shown_as_it_is(void **state)
{
    fixture *f = *state;
    kedge_aws_response response = {0};
    kedge_queue_batch batch = {0};
    assert_int_equal(
        sqs_queues_run(&f->queues, f->queues.name, "SendMessage",
                       ",\"MessageBody\":\"!?\",\"MessageGroupId\":\"g\","
                       "\"MessageDeduplicationId\":\"1\",\"MessageAttributes\":{"
                       "\"kedge.encoding\":{\"DataType\":\"String\",\"StringValue\":\"base64\"}}",
                       &response, &f->error),
        KEDGE_OK);
    kedge_aws_response_free(&response);
    send_text(f, "g", "behind");
    send_text(f, "h", "other");
    receive(f, 10, LONG_MS, &batch);
    assert_int_equal(batch.count, 3);
    for (size_t i = 0; i < batch.count; i++) {
        const kedge_queue_message *message = &batch.messages[i];
        bool foreign = kedge_bytes_equal_text(message->body, "!?");
        kedge_status status =
            foreign ? f->queue.vtable->extend(f->queue.self, message->receipt, 0, &f->error)
                    : f->queue.vtable->done(f->queue.self, message->receipt, &f->error);
        assert_int_equal(status, KEDGE_OK);
    }
    kedge_queue_batch_free(&batch);
    kill_all(f);
    assert_int_equal(f->queue.vtable->dead_letters(f->queue.self, 100, &batch, &f->error),
                     KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_true(kedge_bytes_equal_text(batch.messages[0].body, "!?"));
    kedge_queue_batch_free(&batch);
}

/* ---- opening ---- */

static void test_making_queues_again_leaves_them_as_they_are(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch = {0};
    const kedge_sqs_options options = {.client = f->queues.client, .queue = f->queues.name};
    send_text(f, "g", "1");
    assert_int_equal(kedge_sqs_create(&options, RECEIVE_MAX + 1, &f->error), KEDGE_OK);
    receive(f, 1, LONG_MS, &batch);
    kedge_queue_batch_free(&batch);
}

static void test_a_queue_without_a_redrive_policy_is_refused(void **state)
{
    fixture *f = *state;
    kedge_queue queue = {0};
    kedge_sqs_options options = {.client = f->queues.client, .queue = f->queues.dead_letters};
    assert_int_equal(kedge_sqs_queue_open(&options, &queue, &f->error), KEDGE_UNSUPPORTED);
    assert_non_null(strstr(f->error.message, "no redrive policy"));
    options.queue = "kedge-nobody-made-this.fifo";
    assert_int_equal(kedge_sqs_queue_open(&options, &queue, &f->error), KEDGE_NOT_FOUND);
    assert_null(queue.vtable);
}

#define on_fresh_queues(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_fresh_queues(test_every_byte_is_carried_in_group_name_and_body),
        on_fresh_queues(test_odd_texts_and_names_are_carried),
        on_fresh_queues(test_names_that_are_hashed_still_deduplicate_and_meet_no_other),
        on_fresh_queues(test_bodies_are_carried_up_to_the_last_byte),
        on_fresh_queues(test_ten_large_bodies_come_in_one_batch),
        on_fresh_queues(test_a_lower_limit_of_the_options_is_kept),
        on_fresh_queues(test_a_receive_may_wait_for_longer_than_a_call_may_take),
        on_fresh_queues(test_a_group_of_dead_letters_is_seen_by_tens_and_redriven_in_order),
        on_fresh_queues(test_dead_letters_of_many_groups_are_seen_together),
        on_fresh_queues(test_dead_letters_that_somebody_else_holds_are_told_as_more),
        on_fresh_queues(test_a_message_that_nobody_of_kedge_sent_dies_alone_and_is_shown_as_it_is),
        on_fresh_queues(test_making_queues_again_leaves_them_as_they_are),
        on_fresh_queues(test_a_queue_without_a_redrive_policy_is_refused),
    };
    int missing = engines_missing("AWS_ENDPOINT_URL_SQS");
    return missing != 0 ? missing
                        : cmocka_run_group_tests_name("queue: a real SQS", tests, NULL, NULL);
}
