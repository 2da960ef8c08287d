/* The contract of the queue port, run against every implementation of the table that it is linked
 * with. */
#include "tests/ports/queue_race.h"
#include "tests/ports/queue_table.h"
#include "tests/support/engines.h"

#include <stdio.h>
#include <string.h>

#define RECEIVE_MAX QUEUE_TABLE_RECEIVE_MAX
#define SECOND_MS   1000
#define SHORT_MS    2000  /* a visibility within which a test looks whether it holds */
#define LONG_MS     60000 /* one that does not end during a test */
#define DEADLINE_MS 90000 /* by when a real queue shows what is there */

static const queue_implementation *current;

typedef struct fixture {
    world around;
    kedge_queue queue;
    kedge_error error;
} fixture;

/* ---- time ---- */

static bool is_clocked(void)
{
    return current->settle == NULL;
}

static int64_t real_ms(void)
{
    return kedge_environment_system(NULL).monotonic_ms(NULL);
}

static void pass(fixture *f, int64_t milliseconds)
{
    atomic_fetch_add(&f->around.now_ms, milliseconds);
}

/* Lets every visibility end that was set to at most `milliseconds`. */
static void let_visibility_end(fixture *f, int64_t milliseconds)
{
    if (is_clocked())
        pass(f, milliseconds);
    else
        current->settle(&f->queue);
}

/* ---- short forms ---- */

static kedge_status send_as(fixture *f, const char *group, const char *deduplication,
                            const char *body)
{
    return f->queue.vtable->send(f->queue.self, KEDGE_BYTES("o"), kedge_bytes_of(group),
                                 kedge_bytes_of(deduplication), kedge_bytes_of(body), &f->error);
}

/* The body is the deduplication name, too. */
static void send(fixture *f, const char *group, const char *body)
{
    assert_ok(send_as(f, group, body, body));
}

/* By group, since the order between groups is of no meaning here. */
static void gather_groups(kedge_queue_batch *batch)
{
    for (size_t i = 1; i < batch->count; i++) {
        kedge_queue_message moved = batch->messages[i];
        size_t at = i;
        for (; at > 0 && kedge_bytes_compare(batch->messages[at - 1].group, moved.group) > 0; at--)
            batch->messages[at] = batch->messages[at - 1];
        batch->messages[at] = moved;
    }
}

static void bodies_of(const kedge_queue_batch *batch, char *seen, size_t size)
{
    size_t used = 0;
    seen[0] = '\0';
    for (size_t i = 0; i < batch->count; i++)
        used += (size_t)snprintf(seen + used, size - used, "%s%.*s", i == 0 ? "" : " ",
                                 (int)batch->messages[i].body.size, batch->messages[i].body.data);
}

static void receive_batch(fixture *f, uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                          kedge_queue_batch *batch)
{
    assert_ok(f->queue.vtable->receive(f->queue.self, count, visibility_ms, wait_ms, NULL, batch,
                                       &f->error));
}

/* Receives and asserts the bodies, joined by spaces. Free the batch, which may be NULL. What a real
 * queue should have, it is given time to show. */
static void receive(fixture *f, uint32_t count, int64_t visibility_ms, const char *expected,
                    kedge_queue_batch *batch)
{
    kedge_queue_batch received = {0};
    char seen[512];
    bool patient = !is_clocked() && expected[0] != '\0';
    int64_t deadline_ms = real_ms() + DEADLINE_MS;
    do {
        receive_batch(f, count, visibility_ms, patient ? SECOND_MS : 0, &received);
    } while (patient && received.count == 0 && real_ms() < deadline_ms);
    gather_groups(&received);
    bodies_of(&received, seen, sizeof seen);
    assert_string_equal(seen, expected);
    if (batch != NULL)
        *batch = received;
    else
        kedge_queue_batch_free(&received);
}

/* Nothing comes for `milliseconds`, within a visibility that was set at `since_ms` or later. A test
 * that a busy machine held up for longer than that has nothing to say. */
static void nothing_for(fixture *f, int64_t milliseconds, int64_t since_ms, int64_t visibility_ms)
{
    kedge_queue_batch received = {0};
    pass(f, milliseconds);
    receive_batch(f, 10, LONG_MS, is_clocked() ? 0 : milliseconds / 2, &received);
    size_t count = received.count;
    kedge_queue_batch_free(&received);
    if (!is_clocked() && real_ms() - since_ms >= visibility_ms) skip();
    assert_int_equal(count, 0);
}

static kedge_status done(fixture *f, const kedge_queue_batch *batch, size_t index)
{
    return f->queue.vtable->done(f->queue.self, batch->messages[index].receipt, &f->error);
}

static kedge_status extend(fixture *f, const kedge_queue_batch *batch, int64_t visibility_ms)
{
    return f->queue.vtable->extend(f->queue.self, batch->messages[0].receipt, visibility_ms,
                                   &f->error);
}

static void assert_dead(fixture *f, uint32_t count, const char *expected, kedge_queue_batch *batch)
{
    kedge_queue_batch dead = {0};
    char seen[512];
    assert_ok(f->queue.vtable->dead_letters(f->queue.self, count, &dead, &f->error));
    bodies_of(&dead, seen, sizeof seen);
    assert_string_equal(seen, expected);
    if (batch != NULL)
        *batch = dead;
    else
        kedge_queue_batch_free(&dead);
}

/* ---- delivery ---- */

static void assert_sent_now(int64_t sent_ms)
{
    int64_t now_ms = WORLD_START_MS, slack_ms = 0;
    if (!is_clocked()) {
        now_ms = kedge_environment_system(NULL).now_ms(NULL);
        slack_ms = 3600000; /* the engine's clock is another one */
    }
    assert_true(sent_ms >= now_ms - slack_ms && sent_ms <= now_ms + slack_ms);
}

static void test_messages_of_a_group_come_in_the_order_sent(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    receive(f, 10, LONG_MS, "", NULL);
    send(f, "g", "1");
    send(f, "g", "2");
    send(f, "g", "3");
    receive(f, 2, LONG_MS, "1 2", &batch);
    assert_bytes(batch.messages[0].group, "g");
    assert_sent_now(batch.messages[0].sent_ms);
    assert_int_equal(batch.messages[0].receive_count, 1);
    assert_ok(done(f, &batch, 0));
    assert_ok(done(f, &batch, 1));
    kedge_queue_batch_free(&batch);
    receive(f, 10, LONG_MS, "3", &batch);
    assert_ok(done(f, &batch, 0));
    kedge_queue_batch_free(&batch);
    let_visibility_end(f, LONG_MS);
    receive(f, 10, LONG_MS, "", NULL);
}

static void test_a_message_in_flight_blocks_its_group_and_no_other(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "g1");
    send(f, "g", "g2");
    send(f, "h", "h1");
    receive(f, 1, LONG_MS, "g1", &batch);
    receive(f, 10, LONG_MS, "h1", NULL);
    receive(f, 10, LONG_MS, "", NULL);
    assert_ok(done(f, &batch, 0));
    receive(f, 10, LONG_MS, "g2", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_one_of_two_messages_in_flight_still_blocks_the_group(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "1");
    send(f, "g", "2");
    send(f, "g", "3");
    receive(f, 2, LONG_MS, "1 2", &batch);
    assert_ok(done(f, &batch, 0));
    receive(f, 10, LONG_MS, "", NULL);
    assert_ok(done(f, &batch, 1));
    receive(f, 10, LONG_MS, "3", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_a_message_comes_again_when_its_visibility_ends(void **state)
{
    fixture *f = *state;
    kedge_queue_batch first, second;
    send(f, "g", "1");
    int64_t since_ms = real_ms();
    receive(f, 1, SHORT_MS, "1", &first);
    nothing_for(f, SHORT_MS - 1, since_ms, SHORT_MS);
    let_visibility_end(f, 1);
    receive(f, 1, LONG_MS, "1", &second);
    assert_int_equal(second.messages[0].receive_count, 2);
    assert_true(second.messages[0].sent_ms == first.messages[0].sent_ms);
    kedge_queue_batch_free(&first);
    kedge_queue_batch_free(&second);
}

static void test_the_order_of_a_group_stands_after_a_redelivery(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "1");
    send(f, "h", "a");
    send(f, "g", "2");
    receive(f, 1, SECOND_MS, "1", NULL);
    let_visibility_end(f, SECOND_MS);
    receive(f, 10, SECOND_MS, "1 2 a", &batch);
    assert_ok(done(f, &batch, 1));
    kedge_queue_batch_free(&batch);
    let_visibility_end(f, SECOND_MS);
    receive(f, 10, LONG_MS, "1 a", NULL);
}

static void test_a_clock_that_was_put_back_hides_no_message(void **state)
{
    fixture *f = *state;
    send(f, "g", "1");
    receive(f, 1, 1000, "1", NULL);
    pass(f, -3600000);
    receive(f, 1, 1000, "1", NULL);
    pass(f, -500); /* a small step is no reason */
    receive(f, 1, 1000, "", NULL);
    pass(f, 1500);
    receive(f, 1, 1000, "1", NULL);
}

/* ---- extend, done ---- */

static void test_extend_counts_from_now(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "1");
    receive(f, 1, SHORT_MS, "1", &batch);
    pass(f, SHORT_MS - 100);
    int64_t since_ms = real_ms();
    assert_ok(extend(f, &batch, 2 * SHORT_MS));
    nothing_for(f, 2 * SHORT_MS - 1, since_ms, 2 * SHORT_MS);
    let_visibility_end(f, 1);
    receive(f, 1, LONG_MS, "1", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_extend_by_nothing_gives_the_message_back_at_once(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "1");
    receive(f, 1, LONG_MS, "1", &batch);
    assert_ok(extend(f, &batch, 0));
    receive(f, 1, LONG_MS, "1", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_several_deliveries_are_extended_at_once_where_the_engine_can(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    kedge_error failures[3] = {{0}};
    if (f->queue.vtable->extend_all == NULL) skip();
    for (char body[] = "1"; body[0] <= '3'; body[0]++)
        send(f, "g", body);
    receive(f, 3, LONG_MS, "1 2 3", &batch);
    assert_ok(done(f, &batch, 0));
    const char *const receipts[] = {batch.messages[0].receipt, batch.messages[1].receipt,
                                    batch.messages[2].receipt};
    f->queue.vtable->extend_all(f->queue.self, receipts, 3, 0, failures);
    assert_status(failures[0].status, KEDGE_CONFLICT);
    assert_ok(failures[1].status);
    assert_ok(failures[2].status);
    receive(f, 3, LONG_MS, "2 3", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_the_receipt_of_an_older_delivery_is_a_conflict(void **state)
{
    fixture *f = *state;
    kedge_queue_batch first, second;
    send(f, "g", "1");
    receive(f, 1, SECOND_MS, "1", &first);
    let_visibility_end(f, SECOND_MS);
    int64_t since_ms = real_ms();
    receive(f, 1, SHORT_MS, "1", &second);
    assert_status(done(f, &first, 0), KEDGE_CONFLICT);
    assert_string_equal(f->error.code, "stale-receipt");
    assert_status(extend(f, &first, 5000), KEDGE_CONFLICT);
    nothing_for(f, SHORT_MS - 1, since_ms, SHORT_MS); /* neither changed the newer delivery */
    assert_ok(done(f, &second, 0));
    assert_status(done(f, &second, 0), KEDGE_CONFLICT);
    assert_status(extend(f, &second, 5000), KEDGE_CONFLICT);
    kedge_queue_batch_free(&first);
    kedge_queue_batch_free(&second);
}

static void test_what_is_no_receipt_is_refused(void **state)
{
    fixture *f = *state;
    static const char *const texts[] = {
        "", "x", "1", "1-", "-1", "1-x", "0-1", "1-1-1", "1-99999999999", "99999999999999999999-1"};
    send(f, "g", "1");
    receive(f, 1, 1000, "1", NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const kedge_queue_vtable *vtable = f->queue.vtable;
        assert_status(vtable->done(f->queue.self, texts[i], &f->error), KEDGE_INVALID_ARGUMENT);
        assert_status(vtable->extend(f->queue.self, texts[i], 1, &f->error),
                      KEDGE_INVALID_ARGUMENT);
        assert_status(vtable->redrive(f->queue.self, texts[i], &f->error), KEDGE_INVALID_ARGUMENT);
    }
}

/* ---- deduplication ---- */

static void test_a_second_send_within_five_minutes_does_nothing(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    assert_ok(send_as(f, "g", "name", "first"));
    pass(f, KEDGE_QUEUE_DEDUPLICATION_MS - 1);
    assert_ok(send_as(f, "g", "name", "second"));
    if (current->names_span_groups) assert_ok(send_as(f, "h", "name", "third"));
    receive(f, 10, LONG_MS, "first", &batch);
    assert_ok(done(f, &batch, 0)); /* also when the first one is gone */
    assert_ok(send_as(f, "g", "name", "fourth"));
    receive(f, 10, LONG_MS, "", NULL);
    kedge_queue_batch_free(&batch);
}

static void test_after_five_minutes_a_name_may_be_sent_again(void **state)
{
    fixture *f = *state;
    assert_ok(send_as(f, "g", "name", "first"));
    pass(f, KEDGE_QUEUE_DEDUPLICATION_MS - 1);
    assert_ok(send_as(f, "g", "name", "within")); /* does not begin the time anew */
    pass(f, 1);
    assert_ok(send_as(f, "g", "name", "second"));
    receive(f, 10, 1000, "first second", NULL);
    pass(f, 1);
    assert_ok(send_as(f, "g", "name", "third"));
    pass(f, 1000);
    receive(f, 10, 1000, "first second", NULL);
}

/* ---- dead letters ---- */

static void test_a_message_received_too_often_is_dead_and_its_group_goes_on(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send(f, "g", "bad");
    send(f, "g", "next");
    for (uint32_t i = 1; i <= RECEIVE_MAX; i++) {
        receive(f, 1, SECOND_MS, "bad", &batch);
        assert_int_equal(batch.messages[0].receive_count, i);
        assert_dead(f, 10, "", NULL);
        let_visibility_end(f, SECOND_MS);
        if (i < RECEIVE_MAX) kedge_queue_batch_free(&batch);
    }
    receive(f, 10, SECOND_MS, "next", NULL);
    assert_status(done(f, &batch, 0), KEDGE_CONFLICT);
    assert_status(extend(f, &batch, SECOND_MS), KEDGE_CONFLICT);
    kedge_queue_batch_free(&batch);
    assert_dead(f, 10, "bad", &batch);
    assert_bytes(batch.messages[0].group, "g");
    assert_int_equal(batch.messages[0].receive_count, RECEIVE_MAX);
    kedge_queue_batch_free(&batch);
    let_visibility_end(f, SECOND_MS);
    receive(f, 10, LONG_MS, "next", NULL);
    assert_dead(f, 10, "bad", NULL); /* it stays */
}

static void kill_all(fixture *f, const char *bodies)
{
    for (int i = 0; i < RECEIVE_MAX; i++) {
        receive(f, 10, SECOND_MS, bodies, NULL);
        let_visibility_end(f, SECOND_MS);
    }
    receive(f, 10, SECOND_MS, "", NULL);
}

static void test_dead_letters_are_shown_oldest_first(void **state)
{
    fixture *f = *state;
    send(f, "g", "1");
    send(f, "h", "2");
    send(f, "g", "3");
    kill_all(f, "1 3 2");
    assert_dead(f, 100, "1 2 3", NULL);
    assert_dead(f, 2, "1 2", NULL);
}

static void test_redrive_puts_a_dead_letter_at_the_end_of_its_group(void **state)
{
    fixture *f = *state;
    kedge_queue_batch dead, batch;
    send(f, "g", "1");
    send(f, "g", "2");
    kill_all(f, "1 2");
    send(f, "g", "3");
    assert_dead(f, 10, "1 2", &dead);
    assert_ok(f->queue.vtable->redrive(f->queue.self, dead.messages[0].receipt, &f->error));
    assert_dead(f, 10, "2", NULL);
    receive(f, 10, LONG_MS, "3 1", &batch);
    assert_int_equal(batch.messages[1].receive_count, 1);
    assert_ok(done(f, &batch, 0));
    assert_ok(done(f, &batch, 1));
    assert_status(f->queue.vtable->redrive(f->queue.self, dead.messages[0].receipt, &f->error),
                  KEDGE_CONFLICT);
    receive(f, 10, LONG_MS, "", NULL);
    kedge_queue_batch_free(&dead);
    kedge_queue_batch_free(&batch);
}

/* ---- limits ---- */

static void assert_refused(fixture *f, kedge_bytes owner, kedge_bytes group,
                           kedge_bytes deduplication, kedge_bytes body, kedge_status expected)
{
    const kedge_queue *queue = &f->queue;
    assert_status(queue->vtable->send(queue->self, owner, group, deduplication, body, &f->error),
                  expected);
}

static void assert_carried(fixture *f, kedge_bytes owner, kedge_bytes group,
                           kedge_bytes deduplication, kedge_bytes body)
{
    kedge_queue_batch batch = {0};
    const kedge_queue *queue = &f->queue;
    assert_ok(queue->vtable->send(queue->self, owner, group, deduplication, body, &f->error));
    receive_batch(f, 1, LONG_MS, is_clocked() ? 0 : SECOND_MS, &batch);
    assert_int_equal(batch.count, 1);
    assert_true(kedge_bytes_equal(batch.messages[0].group, group));
    assert_true(kedge_bytes_equal(batch.messages[0].body, body));
    assert_ok(done(f, &batch, 0));
    kedge_queue_batch_free(&batch);
}

static void test_messages_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    static char text[KEDGE_QUEUE_BODY_BYTES_MAX + 1];
    memset(text, 'x', sizeof text);
    kedge_bytes small = KEDGE_BYTES("x"), none = {0};
    kedge_bytes long_owner = {text, KEDGE_QUEUE_OWNER_BYTES_MAX + 1};
    kedge_bytes long_group = {text, KEDGE_QUEUE_GROUP_BYTES_MAX + 1};
    kedge_bytes long_name = {text, KEDGE_QUEUE_DEDUPLICATION_BYTES_MAX + 1};
    kedge_bytes body = {text, sizeof text};
    assert_refused(f, long_owner, small, small, small, KEDGE_LIMIT_EXCEEDED);
    assert_refused(f, small, long_group, small, small, KEDGE_LIMIT_EXCEEDED);
    assert_refused(f, small, small, long_name, small, KEDGE_LIMIT_EXCEEDED);
    assert_refused(f, small, small, small, body, KEDGE_LIMIT_EXCEEDED);
    assert_refused(f, none, small, small, small, KEDGE_INVALID_ARGUMENT);
    assert_refused(f, small, none, small, small, KEDGE_INVALID_ARGUMENT);
    assert_refused(f, small, small, none, small, KEDGE_INVALID_ARGUMENT);
    assert_refused(f, small, small, small, none, KEDGE_INVALID_ARGUMENT);
    receive(f, 10, LONG_MS, "", NULL);
    long_owner.size--;
    long_group.size--;
    long_name.size--;
    body.size--;
    assert_carried(f, long_owner, long_group, long_name, body);
    text[7] = '\0';
    if (current->any_bytes_max < body.size)
        assert_refused(f, small, small, small, body, KEDGE_LIMIT_EXCEEDED);
    body.size = current->any_bytes_max;
    assert_carried(f, long_owner, long_group, long_name, body);
    receive(f, 10, LONG_MS, "", NULL);
}

static void test_counts_and_times_outside_the_contract_are_refused(void **state)
{
    fixture *f = *state;
    const kedge_queue_vtable *vtable = f->queue.vtable;
    void *self = f->queue.self;
    kedge_queue_batch batch = {0};
    assert_status(vtable->receive(self, 0, 1, 0, NULL, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->receive(self, 11, 1, 0, NULL, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->receive(self, 1, -1, 0, NULL, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    assert_status(
        vtable->receive(self, 1, KEDGE_QUEUE_VISIBILITY_MS_MAX + 1, 0, NULL, &batch, &f->error),
        KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->receive(self, 1, 1, -1, NULL, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->receive(self, 1, 1, KEDGE_QUEUE_WAIT_MS_MAX + 1, NULL, &batch, &f->error),
                  KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->dead_letters(self, 0, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    assert_status(vtable->dead_letters(self, 101, &batch, &f->error), KEDGE_INVALID_ARGUMENT);
    send(f, "g", "1");
    receive(f, 1, 1000, "1", &batch);
    assert_status(extend(f, &batch, -1), KEDGE_INVALID_ARGUMENT);
    kedge_queue_batch_free(&batch);
}

/* ---- threads ---- */

static void test_threads_receive_each_group_in_order_and_one_at_a_time(void **state)
{
    fixture *f = *state;
    queue_race_run(&f->queue);
}

/* ---- running ---- */

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    *state = &f;
    kedge_status status = current->open(&f.around, &f.queue, &f.error);
    if (status != KEDGE_OK) print_error("%s: %s\n", current->name, f.error.message);
    return status == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    if (current->close != NULL)
        current->close(&f->queue);
    else
        f->queue.vtable->close(f->queue.self);
    world_end(&f->around);
    return 0;
}

#define contract(test) cmocka_unit_test_setup_teardown(test, start, end)

static int run(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_messages_of_a_group_come_in_the_order_sent),
        contract(test_a_message_in_flight_blocks_its_group_and_no_other),
        contract(test_one_of_two_messages_in_flight_still_blocks_the_group),
        contract(test_a_message_comes_again_when_its_visibility_ends),
        contract(test_the_order_of_a_group_stands_after_a_redelivery),
        contract(test_extend_counts_from_now),
        contract(test_extend_by_nothing_gives_the_message_back_at_once),
        contract(test_several_deliveries_are_extended_at_once_where_the_engine_can),
        contract(test_the_receipt_of_an_older_delivery_is_a_conflict),
        contract(test_what_is_no_receipt_is_refused),
        contract(test_a_second_send_within_five_minutes_does_nothing),
        contract(test_a_message_received_too_often_is_dead_and_its_group_goes_on),
        contract(test_dead_letters_are_shown_oldest_first),
        contract(test_redrive_puts_a_dead_letter_at_the_end_of_its_group),
        contract(test_messages_outside_the_contract_are_refused),
        contract(test_counts_and_times_outside_the_contract_are_refused),
        contract(test_threads_receive_each_group_in_order_and_one_at_a_time),
    };
    const struct CMUnitTest clocked[] = {
        contract(test_a_clock_that_was_put_back_hides_no_message),
        contract(test_after_five_minutes_a_name_may_be_sent_again),
    };
    int failed = cmocka_run_group_tests_name(current->name, tests, NULL, NULL);
    if (is_clocked()) failed += cmocka_run_group_tests_name(current->name, clocked, NULL, NULL);
    return failed;
}

int main(void)
{
    int failed = queue_engine == NULL ? 0 : engines_missing(queue_engine);
    if (failed != 0) return failed;
    for (current = queue_implementations; current->name != NULL; current++) {
        failed += run();
    }
    return failed == 0 ? 0 : 1;
}
