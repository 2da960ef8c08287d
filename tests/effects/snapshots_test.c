/* Snapshots in the background: one at a time for a log and in order, repeated requests, workers
 * that end at any call, that hand over, that are overtaken. */
#include "tests/log/log_world.h"

#include "backend/effects/consume.h"
#include "backend/memory/memory_ports.h"

#include <stdio.h>
#include <string.h>

#define RUN_MAX_MS 60000
#define PIECES     3

/* What the snapshots' function did. */
static struct {
    int pieces;
    int restarts; /* pieces that began from nothing */
    int64_t order[64];
    size_t completed;
    int fail_at;     /* the piece that fails; 0: none */
    int64_t left_ms; /* that the last piece had */
    void (*meddle)(void);
} made;

static test_world *here;
static kedge_queue queue;
static kedge_environment queue_environment;

static kedge_status make(void *context, const kedge_log *log, const kedge_log_place *at,
                         kedge_buffer *progress, bool *complete, kedge_error *error)
{
    (void)context;
    made.pieces++;
    made.left_ms = kedge_deadline_left_ms(INT64_MAX);
    if (made.meddle != NULL) made.meddle();
    if (made.pieces == made.fail_at) {
        *error = (kedge_error){.status = KEDGE_UNAVAILABLE, .code = "piece"};
        return KEDGE_UNAVAILABLE;
    }
    made.restarts += progress->size == 0;
    kedge_buffer_append_byte(progress, '.');
    *complete = progress->size == PIECES;
    if (!*complete) return KEDGE_OK;
    char id[KEDGE_SHA256_HEX];
    kedge_snapshot_id(log, at, id);
    kedge_buffer_clear(progress);
    kedge_buffer_append_text(progress, id);
    made.order[made.completed++ % 64] = at->number;
    return KEDGE_OK;
}

static kedge_snapshot_worker worker_of(kedge_backend *backend)
{
    return (kedge_snapshot_worker){
        .backend = backend, .make = make, .run_max_ms = RUN_MAX_MS, .reserve_ms = 10};
}

static int64_t later(int64_t ms)
{
    return here->environment.monotonic_ms(here->environment.context) + ms;
}

static kedge_status work_until(const kedge_log *log, int64_t deadline_ms,
                               kedge_snapshot_outcome *outcome, kedge_error *error)
{
    char message[128];
    (void)log;
    snprintf(message, sizeof message,
             "{\"log\":\"journal\",\"organization\":\"acme\",\"project\":\"notes\"}");
    const kedge_snapshot_worker worker = worker_of(here->backend);
    return kedge_snapshot_work(&worker, kedge_bytes_of(message), deadline_ms, outcome, error);
}

static void begin(test_world *world)
{
    memset(&made, 0, sizeof made);
    here = world;
    queue_environment = world->environment;
    assert_int_equal(kedge_memory_queue_open(&queue_environment, 100, &queue, NULL), KEDGE_OK);
}

static void end(void)
{
    queue.vtable->close(queue.self);
}

/* Appends a Snapshot entry; gives its place. */
static kedge_log_place ask(const kedge_log *log)
{
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOG_SNAPSHOT),
                                              .version = KEDGE_LOG_SYSTEM_VERSION,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    return result.at;
}

static void request(const kedge_log *log, const kedge_log_place *at)
{
    kedge_error error = {0};
    if (kedge_snapshot_request(log, &queue, at, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
}

/* Receives the messages and works them off, until there is none; gives how many came. */
static int drain(const kedge_log *log)
{
    int came = 0;
    for (;;) {
        kedge_queue_batch batch = {0};
        kedge_error error = {0};
        assert_int_equal(queue.vtable->receive(queue.self, 1, 1, 0, NULL, &batch, NULL), KEDGE_OK);
        if (batch.count == 0) return came;
        kedge_snapshot_outcome outcome;
        const kedge_snapshot_worker worker = worker_of(log->project->backend);
        kedge_status status =
            kedge_snapshot_work(&worker, batch.messages[0].body, later(10000), &outcome, &error);
        if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
        assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
        assert_int_equal(queue.vtable->done(queue.self, batch.messages[0].receipt, NULL), KEDGE_OK);
        kedge_queue_batch_free(&batch);
        came++;
    }
}

/* The entry has the snapshot that belongs to it. */
static void assert_snapshot(const kedge_log *log, const kedge_log_place *at)
{
    char id[KEDGE_SHA256_HEX];
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(log->project->allocator);
    kedge_snapshot_id(log, at, id);
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, at->number, false, &reader, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_log_read(&reader, 1, &page, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal_text(page.entries[0].snapshot, id));
    kedge_log_page_free(&page);
}

static bool is_pending(const kedge_log *log)
{
    kedge_pending_snapshot pending = {.progress = kedge_buffer_make(log->project->allocator)};
    kedge_status status = kedge_pending_snapshot_first(log, true, &pending, NULL);
    kedge_buffer_free(&pending.progress);
    return status == KEDGE_OK;
}

/* ---- tests ---- */

static void test_snapshots_are_made_in_the_order_of_their_entries(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_log_place at[80];
    for (int i = 0; i < 80; i++) {
        at[i] = ask(log);
        if (i % 20 == 0) {
            log_snap(log, at[i].number, "s");
            log_roll(log);
        }
    }
    for (int i = 80; i > 0; i -= 7)
        request(log, &at[i - 1]);
    drain(log);
    assert_true(made.completed >= 8);
    for (size_t i = 1; i < made.completed; i++)
        assert_true(made.order[i - 1] < made.order[i]);
    assert_false(is_pending(log));
    assert_snapshot(log, &at[79]);
    assert_int_equal(log_segment(log, at[79].segment).last_snapshot, at[79].num);
    end();
}

static void test_a_request_that_is_repeated_makes_one_snapshot(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_log_place at = ask(log);
    request(log, &at);
    request(log, &at);
    assert_int_equal(drain(log), 2);
    assert_int_equal(made.completed, 1);
    /* Also when the message of the first one was worked off already: its name is not known. */
    request(log, &at);
    assert_int_equal(drain(log), 1);
    assert_int_equal(made.completed, 1);
    assert_false(is_pending(log));
    assert_snapshot(log, &at);
    end();
}

static void test_a_younger_worker_waits_and_an_older_one_is_taken_over(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_snapshot_outcome outcome;
    kedge_error error = {0};
    kedge_log_place at = ask(log);
    request(log, &at);
    kedge_pending_snapshot pending = {.progress = kedge_buffer_make(log->project->allocator)};
    assert_int_equal(kedge_pending_snapshot_first(log, true, &pending, &error), KEDGE_OK);
    int64_t now_ms = here->environment.now_ms(here->environment.context);
    snprintf(pending.owner, sizeof pending.owner, "somebody");
    pending.since_ms = now_ms - RUN_MAX_MS + 10000;
    assert_int_equal(kedge_pending_snapshot_save(log, &pending, &error), KEDGE_OK);
    assert_int_equal(work_until(log, later(1000), &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_WAIT);
    assert_int_equal(made.pieces, 0);
    pending.since_ms = now_ms - RUN_MAX_MS - 1;
    assert_int_equal(kedge_pending_snapshot_save(log, &pending, &error), KEDGE_OK);
    assert_int_equal(work_until(log, later(1000), &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
    assert_snapshot(log, &at);
    /* The one that was taken over writes nothing any more. */
    assert_int_equal(kedge_pending_snapshot_save(log, &pending, &error), KEDGE_CONFLICT);
    assert_int_equal(kedge_pending_snapshot_remove(log, &pending, &error), KEDGE_CONFLICT);
    kedge_buffer_free(&pending.progress);
    end();
}

static void test_a_worker_whose_time_ends_hands_over_what_it_has(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_snapshot_outcome outcome;
    kedge_error error = {0};
    kedge_log_place at = ask(log);
    request(log, &at);
    made.fail_at = 3;
    assert_int_equal(work_until(log, later(1000), &outcome, &error), KEDGE_UNAVAILABLE);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_RETURN);
    /* No time at all: nothing is begun. */
    assert_int_equal(work_until(log, later(-1), &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_RETURN);
    assert_int_equal(made.pieces, 3);
    assert_int_equal(work_until(log, later(1000), &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
    assert_int_equal(made.restarts, 1); /* it went on where the first one stood */
    assert_snapshot(log, &at);
    end();
}

/* ---- a queue that gives a message up ---- */

#define FUNCTION_RUN_MS 900000 /* as a function of Lambda may take */
#define STEP_MS         500

static int64_t (*clock_ms)(void *context);
static int64_t passed_ms;

static int64_t moved_ms(void *context)
{
    return clock_ms(context) + passed_ms;
}

static void move_clock(void)
{
    passed_ms = 0;
    clock_ms = here->environment.now_ms;
    here->environment.now_ms = queue_environment.now_ms = moved_ms;
}

/* The response to the taking of the item is lost: it is taken, and nobody is at it. Its message
 * comes until another worker may take it over. */
static void test_a_message_outlives_a_worker_that_has_ended(void **state)
{
    begin(*state);
    end();
    move_clock();
    assert_int_equal(
        kedge_memory_queue_open(&queue_environment, KEDGE_QUEUE_DELIVERIES, &queue, NULL),
        KEDGE_OK);
    const kedge_log *log = journal_new(here);
    kedge_log_place at = ask(log);
    request(log, &at);
    kedge_snapshot_worker worker = worker_of(here->backend);
    worker.run_max_ms = FUNCTION_RUN_MS;
    const kedge_snapshot_consumer consumer = {
        .worker = &worker, .queue = &queue, .visibility_ms = FUNCTION_RUN_MS, .work_ms = 10000};
    bool received, done;
    world_arm(here, WORLD_FAULT_AFTER, 1, false, true);
    assert_int_equal(kedge_snapshot_round(&consumer, 0, &received, &done, NULL), KEDGE_UNAVAILABLE);
    world_disarm(here);
    assert_int_equal(made.pieces, 0);
    for (done = false; !done && passed_ms < 3 * FUNCTION_RUN_MS; passed_ms += STEP_MS)
        assert_int_equal(kedge_snapshot_round(&consumer, 0, &received, &done, NULL), KEDGE_OK);
    assert_true(done);
    assert_snapshot(log, &at);
    end();
}

/* A piece that takes longer than it should must not go on when another worker has taken over. */
static void test_a_piece_stops_before_another_worker_takes_over(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_log_place at = ask(log);
    request(log, &at);
    const kedge_snapshot_worker worker = worker_of(here->backend);
    const kedge_snapshot_consumer consumer = {
        .worker = &worker, .queue = &queue, .visibility_ms = RUN_MAX_MS, .work_ms = RUN_MAX_MS / 2};
    bool received, done;
    assert_int_equal(kedge_snapshot_round(&consumer, 0, &received, &done, NULL), KEDGE_OK);
    assert_true(done);
    assert_int_equal(made.pieces, PIECES);
    assert_true(made.left_ms > 0 && made.left_ms <= RUN_MAX_MS - KEDGE_SNAPSHOT_MARGIN_MS);
    assert_int_equal(kedge_deadline_left_ms(INT64_MAX), INT64_MAX);
    end();
}

/* ---- damage ---- */

static const char *const damaged_names[] = {"number", "revision", "since",
                                            "owner",  "progress", NULL};

/* Over the pending snapshot of the entry, or, without a name, under a key that names no entry. */
static void damage_item(const kedge_log *log, const kedge_log_place *at, const char *name)
{
    const kedge_records *records = &here->store_records;
    kedge_log_key partition = kedge_log_key_pending(log);
    kedge_log_key num = kedge_log_key_num(at->num), sort = kedge_log_key_num(at->segment);
    memcpy(sort.text + sort.size, num.text, num.size + 1);
    sort.size += num.size;
    const bool is_text = name != NULL && strcmp(name, "owner") != 0;
    const bool no_number = name != NULL && strcmp(name, "number") == 0;
    const bool no_revision = name != NULL && strcmp(name, "revision") == 0;
    const kedge_attribute attributes[] = {
        {name == NULL ? "n" : name, is_text ? KEDGE_ATTRIBUTE_TEXT : KEDGE_ATTRIBUTE_NUMBER,
         is_text ? KEDGE_BYTES("?") : (kedge_bytes){NULL, 0}, 7},
        {no_number ? "n" : "number", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, at->number},
        {no_revision ? "m" : "revision", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1}};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_log_key_bytes(&partition),
                    name == NULL ? KEDGE_BYTES("0") : kedge_log_key_bytes(&sort)},
                   attributes,
                   3}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

/* Each of its attributes in turn is of another type, and then its key is none. */
static void test_an_item_that_is_damaged_is_put_anew_and_made(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    for (size_t i = 0; i < sizeof damaged_names / sizeof damaged_names[0]; i++) {
        kedge_snapshot_outcome outcome;
        kedge_error error = {0};
        kedge_log_place at = ask(log);
        request(log, &at);
        damage_item(log, &at, damaged_names[i]);
        kedge_status status = work_until(log, later(1000), &outcome, &error);
        if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
        assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
        assert_false(is_pending(log));
        assert_snapshot(log, &at);
    }
    end();
}

static void test_a_message_without_a_pending_snapshot_is_done_with(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_snapshot_outcome outcome;
    kedge_error error = {0};
    assert_int_equal(work_until(log, later(1000), &outcome, &error), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
    end();
}

/* The item is too young for a read that is not consistent. */
static void test_a_miss_is_looked_at_again_consistently(void **state)
{
    begin(*state);
    const kedge_log *log = journal_new(here);
    kedge_log_place at = ask(log);
    world_lag(here);
    request(log, &at);
    assert_int_equal(drain(log), 1);
    assert_int_equal(made.completed, 1);
    here->stale = false;
    assert_snapshot(log, &at);
    end();
}

static void test_a_message_that_names_no_log_is_refused(void **state)
{
    static const char *const messages[] = {
        "", "5", "{}", "{\"log\":\"a\",\"organization\":\"b\"}",
        "{\"log\":\"a/b\",\"organization\":\"b\",\"project\":\"c\"}"};
    begin(*state);
    const kedge_snapshot_worker worker = worker_of(here->backend);
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        kedge_snapshot_outcome outcome;
        assert_int_equal(
            kedge_snapshot_work(&worker, kedge_bytes_of(messages[i]), later(1000), &outcome, NULL),
            KEDGE_INVALID_ARGUMENT);
        assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
    }
    end();
}

/* A worker ends at each call of a port in turn, or the call alone fails; another one goes on. In
 * the end everything is as without a crash. */
static void crash_at_any_call(bool damages)
{
    const kedge_log *log = journal_new(here);
    size_t crashes = 0;
    for (uint64_t point = 1; point <= 24; point++) {
        for (int kind = 0; kind < 4; kind++) {
            kedge_snapshot_outcome outcome;
            kedge_error error = {0};
            kedge_log_place at = ask(log);
            size_t completed = made.completed;
            request(log, &at);
            if (damages) damage_item(log, &at, "revision");
            world_arm(here, kind % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, point, kind < 2,
                      false);
            kedge_status status = work_until(log, later(1000), &outcome, &error);
            world_disarm(here);
            crashes += status != KEDGE_OK;
            /* The other worker sees the item as one whose worker ended long ago. */
            kedge_snapshot_worker next = worker_of(here->backend);
            next.run_max_ms = -1;
            const char *message =
                "{\"log\":\"journal\",\"organization\":\"acme\",\"project\":\"notes\"}";
            assert_int_equal(
                kedge_snapshot_work(&next, kedge_bytes_of(message), later(1000), &outcome, &error),
                KEDGE_OK);
            assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
            assert_false(is_pending(log));
            assert_snapshot(log, &at);
            assert_int_equal(log_segment(log, at.segment).last_snapshot, at.num);
            /* A piece may be made twice, and gives the same id. */
            assert_in_range(made.completed - completed, 1, 2);
        }
    }
    assert_true(crashes > 20);
}

static void test_a_crash_at_any_call_leaves_a_snapshot_that_is_made_once(void **state)
{
    begin(*state);
    crash_at_any_call(false);
    end();
}

static void test_a_crash_at_any_call_leaves_a_damaged_item_to_be_made(void **state)
{
    begin(*state);
    crash_at_any_call(true);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_snapshots_are_made_in_the_order_of_their_entries),
        OVER_BOTH(test_a_request_that_is_repeated_makes_one_snapshot),
        OVER_BOTH(test_an_item_that_is_damaged_is_put_anew_and_made),
        OVER_BOTH(test_a_younger_worker_waits_and_an_older_one_is_taken_over),
        OVER_BOTH(test_a_worker_whose_time_ends_hands_over_what_it_has),
        OVER_BOTH(test_a_message_outlives_a_worker_that_has_ended),
        OVER_BOTH(test_a_piece_stops_before_another_worker_takes_over),
        OVER_BOTH(test_a_message_without_a_pending_snapshot_is_done_with),
        OVER_REPLICA(test_a_miss_is_looked_at_again_consistently),
        OVER_BOTH(test_a_message_that_names_no_log_is_refused),
        OVER_BOTH(test_a_crash_at_any_call_leaves_a_snapshot_that_is_made_once),
        OVER_BOTH(test_a_crash_at_any_call_leaves_a_damaged_item_to_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
