/* Messages that cannot be decided: found out, left behind, buried with their reason, put back. */
#include "tests/backend/queue_world.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    *state = queue_world_new();
    return 0;
}

static int tear_down(void **state)
{
    queue_world_free(*state);
    return 0;
}

static const kedge_records *records(const queue_world *world)
{
    return &world->base->store_records;
}

static void check_buried(queue_world *world, const char *code)
{
    assert_int_equal(queue_dead_letter_count(world), 1);
    assert_string_equal(queue_dead_letter_code(world), code);
    assert_string_equal(world->failure, code);
    world_check(world->base);
}

/* ---- one that is nothing ---- */

static void test_a_message_of_another_format_holds_up_nobody(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_raw(world, "{\"format\":2,\"organization\":\"acme\",\"project\":\"notes\"}");
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    round_result round = queue_round(world);
    assert_int_equal(round.received, 3);
    assert_int_equal(round.left, 1);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    queue_put(world, &ann, "g1", "c1", 3, 3, "a");
    queue_world_pass(5000);
    assert_int_equal(queue_round(world).received, 2);
    assert_int_equal(world_lmid(world->base, "c1"), 3);
    queue_drain(world);
    assert_int_equal(world->failures, QUEUE_DELIVERIES);
    check_buried(world, "message-unreadable");
    assert_int_equal(queue_metric(world, "kedge_poison_messages_total"), QUEUE_DELIVERIES);
}

static void test_what_is_no_message_of_ours_is_never_taken_for_one(void **state)
{
    static const char *const bodies[] = {
        "x",
        "null",
        "[]",
        "{",
        "{}",
        "{\"format\":1}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"no/tes\",\"claim\":\"00\"}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"claim\":\"00\"}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"push\":{}}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"role\":"
        "\"\","
        "\"push\":[]}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"role\":"
        "\"\","
        "\"push\":{\"pushVersion\":1,\"clientGroupID\":\"g\"}}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"role\":"
        "\"\","
        "\"push\":{\"pushVersion\":2,\"clientGroupID\":\"g\",\"mutations\":[]}}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"role\":"
        "\"\","
        "\"push\":{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"id\":1}]}}",
        "{\"format\":1,\"organization\":\"acme\",\"project\":\"notes\",\"user\":\"a\",\"role\":"
        "\"\","
        "\"push\":{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[]}} and more",
    };
    queue_world *world = *state;
    size_t count = sizeof bodies / sizeof bodies[0];
    for (size_t i = 0; i < count; i++)
        queue_raw(world, bodies[i]);
    queue_drain(world);
    assert_int_equal(queue_dead_letter_count(world), count);
    assert_int_equal(world_head(world->base), 0);
}

static void test_a_message_of_a_project_that_is_gone_is_buried(void **state)
{
    queue_world *world = *state;
    static const char push[] =
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"x\",\"id\":1,"
        "\"name\":\"kedge.noop\",\"args\":{},\"timestamp\":1}]}";
    assert_int_equal(kedge_queued_enqueue(world->queued, KEDGE_BYTES("acme"), KEDGE_BYTES("gone"),
                                          &ann, kedge_bytes_of(push), NULL),
                     KEDGE_OK);
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_drain(world);
    assert_int_equal(world_lmid(world->base, "c1"), 1);
    check_buried(world, "project-not-found");
}

/* It holds up its group while it is tried. */
static void test_what_cannot_be_decided_is_buried_within_a_minute(void **state)
{
    const int64_t step_ms = 250;
    queue_world *world = *state;
    int64_t passed_ms = 0;
    queue_raw(world, "x");
    while (queue_dead_letter_count(world) == 0) {
        (void)queue_round(world);
        queue_world_pass(step_ms);
        passed_ms += step_ms;
        assert_true(passed_ms <= 60000);
    }
    assert_int_equal(world->failures, QUEUE_DELIVERIES);
    check_buried(world, "message-unreadable");
}

/* ---- claim checks ---- */

static void with_the_claim(queue_world *world, const char *replacement)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->base->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/notes/pushes/"),
                                         (kedge_bytes){NULL, 0}, 10, &list, NULL),
                     KEDGE_OK);
    assert_int_equal(list.count, 1);
    kedge_bytes key = kedge_bytes_of(list.blobs[0].key);
    assert_int_equal(blobs->vtable->remove(blobs->self, key, NULL), KEDGE_OK);
    if (replacement != NULL) {
        assert_int_equal(
            blobs->vtable->put_if_absent(blobs->self, key, kedge_bytes_of(replacement), NULL),
            KEDGE_OK);
    }
    kedge_blob_list_free(&list);
}

static void test_a_claim_check_whose_push_is_gone_is_buried(void **state)
{
    queue_world *world = *state;
    queue_put_large(world, "c1", 1, "a", 9000);
    with_the_claim(world, NULL);
    queue_put(world, &bob, "g2", "c2", 1, 1, "b");
    queue_drain(world);
    assert_int_equal(world_lmid(world->base, "c2"), 1);
    check_buried(world, "claim-check-missing");
}

static void test_a_claim_check_whose_push_is_damaged_is_buried(void **state)
{
    queue_world *world = *state;
    queue_put_large(world, "c1", 1, "a", 9000);
    with_the_claim(world, "garbage");
    queue_put(world, &bob, "g2", "c2", 1, 1, "b");
    queue_drain(world);
    assert_int_equal(world_lmid(world->base, "c2"), 1);
    check_buried(world, "claim-check-damaged");
    /* Its client still holds the push. */
    queue_put_large(world, "c1", 1, "a", 9000);
    queue_drain(world);
    assert_int_equal(world_lmid(world->base, "c1"), 1);
}

typedef struct claims {
    size_t count;
    kedge_key last;
} claims;

static kedge_status keep_claim(void *context, kedge_bytes key, kedge_error *error)
{
    claims *kept = context;
    (void)error;
    kept->count++;
    assert_true(key.size < sizeof kept->last.text);
    memcpy(kept->last.text, key.data, key.size);
    kept->last.size = key.size;
    return KEDGE_OK;
}

static size_t claims_of_the_dead(queue_world *world, const kedge_project_ref *ref, bool *whole,
                                 kedge_key *last)
{
    claims kept = {0};
    assert_int_equal(kedge_dead_letter_claims(&world->queue, ref, keep_claim, &kept, whole, NULL),
                     KEDGE_OK);
    if (last != NULL) *last = kept.last;
    return kept.count;
}

static void test_the_claim_checks_of_dead_letters_are_known_while_a_queue_shows_all(void **state)
{
    queue_world *world = *state;
    const kedge_project_ref other = {KEDGE_BYTES("acme"), KEDGE_BYTES("other")};
    const kedge_queue none = {NULL, NULL};
    bool whole = false;
    kedge_key key;
    claims kept = {0};
    assert_int_equal(claims_of_the_dead(world, &notes, &whole, NULL), 0);
    assert_true(whole);
    for (int64_t id = 1; id < KEDGE_QUEUE_DEAD_LETTERS_OF_GROUP; id++) {
        queue_put_large(world, "c1", 1, "a", 9000 + (size_t)id);
        with_the_claim(world, "garbage");
        queue_drain(world);
        assert_int_equal(claims_of_the_dead(world, &notes, &whole, &key), id);
        assert_true(whole);
        bool present = false;
        const kedge_blobs *blobs = &world->base->store_blobs;
        kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
        present = blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &body, NULL) == KEDGE_OK;
        kedge_buffer_free(&body);
        assert_true(present);
        assert_int_equal(blobs->vtable->remove(blobs->self, kedge_key_bytes(&key), NULL), KEDGE_OK);
    }
    assert_int_equal(claims_of_the_dead(world, &other, &whole, NULL), 0);
    assert_true(whole);
    /* One more, and SQS may hide others after it. */
    queue_put_large(world, "c1", 1, "a", 9000);
    with_the_claim(world, "garbage");
    queue_drain(world);
    (void)claims_of_the_dead(world, &notes, &whole, NULL);
    assert_false(whole);
    assert_int_equal(claims_of_the_dead(world, &other, &whole, NULL), 0);
    assert_true(whole);
    assert_int_equal(kedge_dead_letter_claims(&none, &notes, keep_claim, &kept, &whole, NULL),
                     KEDGE_OK);
    assert_false(whole);
    assert_int_equal(kept.count, 0);
}

static kedge_status show_no_more(void *self, uint32_t count, kedge_queue_batch *batch,
                                 kedge_error *error)
{
    (void)self;
    (void)count;
    (void)error;
    *batch = (kedge_queue_batch){.more = true};
    return KEDGE_OK;
}

static void test_a_queue_that_has_more_dead_letters_than_it_shows_tells_not_all_claims(void **state)
{
    (void)state;
    static const kedge_queue_vtable vtable = {.dead_letters = show_no_more};
    const kedge_queue queue = {&vtable, NULL};
    claims kept = {0};
    bool whole = true;
    assert_int_equal(kedge_dead_letter_claims(&queue, &notes, keep_claim, &kept, &whole, NULL),
                     KEDGE_OK);
    assert_false(whole);
}

/* ---- among others ---- */

/* Makes version 1, which put broken/x, unreadable or readable again. */
static void damage(queue_world *world, kedge_record_set *kept)
{
    kedge_key partition = kedge_key_partition(&notes);
    kedge_key sort = kedge_key_version(1);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_attribute attributes[32];
    bool repair = kept->count > 0;
    if (!repair) {
        assert_int_equal(records(world)->vtable->get(records(world)->self, &key, true, kept, NULL),
                         KEDGE_OK);
    }
    const kedge_record *record = &kept->records[0];
    memcpy(attributes, record->attributes, record->attribute_count * sizeof *attributes);
    for (size_t i = 0; i < record->attribute_count && !repair; i++) {
        if (strcmp(attributes[i].name, "delta") == 0) attributes[i].bytes = KEDGE_BYTES("{\"x");
    }
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {key, attributes, record->attribute_count}};
    assert_int_equal(records(world)->vtable->write(records(world)->self, &write, NULL), KEDGE_OK);
    if (repair) kedge_record_set_free(kept);
    queue_world_restart(world);
}

static void put_broken(queue_world *world, const char *client, int64_t id)
{
    queue_call(world, client, id, "kedge.put",
               "{\"collection\":\"broken\",\"id\":\"x\",\"value\":1}");
}

static void test_a_message_that_cannot_be_decided_is_parted_from_its_batch(void **state)
{
    queue_world *world = *state;
    kedge_record_set kept = {0};
    put_broken(world, "c0", 1);
    queue_drain(world);
    damage(world, &kept);
    for (int64_t id = 1; id <= 4; id++)
        queue_put(world, &ann, "g1", "c1", id, id, "a");
    put_broken(world, "c2", 1);
    queue_put(world, &ann, "g1", "c1", 5, 5, "a");
    put_broken(world, "c0", 2);
    queue_put(world, &ann, "g1", "c1", 6, 8, "a");
    round_result round = queue_round(world);
    assert_int_equal(round.received, 8);
    assert_int_equal(round.left, 2);
    assert_int_equal(world_lmid(world->base, "c1"), 8);
    queue_drain(world);
    assert_int_equal(queue_dead_letter_count(world), 2);
    /* The records are repaired, and the dead letters put back. */
    damage(world, &kept);
    kedge_queue_batch batch = {0};
    assert_int_equal(world->store.vtable->dead_letters(world->store.self, 10, &batch, NULL),
                     KEDGE_OK);
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(kedge_dead_letter_redrive(world->queued, &batch.messages[i], NULL),
                         KEDGE_OK);
    }
    kedge_queue_batch_free(&batch);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_lmid(world->base, "c2"), 1);
    assert_int_equal(world_lmid(world->base, "c0"), 2);
    assert_int_equal(queue_dead_letter_count(world), 0);
    assert_int_equal(queue_reasons(world), 0);
    world_check(world->base);
}

static void
test_a_dead_letter_that_was_decided_meanwhile_changes_nothing_when_it_is_put_back(void **state)
{
    queue_world *world = *state;
    kedge_record_set kept = {0};
    kedge_queue_batch batch = {0};
    put_broken(world, "c0", 1);
    queue_drain(world);
    damage(world, &kept);
    put_broken(world, "c2", 1);
    queue_drain(world);
    assert_int_equal(queue_dead_letter_count(world), 1);
    damage(world, &kept);
    put_broken(world, "c2", 1); /* its client, again */
    queue_put(world, &ann, "g1", "c2", 2, 2, "a");
    queue_drain(world);
    int64_t version = world_head(world->base);
    assert_int_equal(world->store.vtable->dead_letters(world->store.self, 10, &batch, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_dead_letter_redrive(world->queued, &batch.messages[0], NULL), KEDGE_OK);
    assert_int_equal(kedge_dead_letter_redrive(world->queued, &batch.messages[0], NULL),
                     KEDGE_CONFLICT);
    kedge_queue_batch_free(&batch);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_head(world->base), version);
    assert_int_equal(queue_dead_letter_count(world), 0);
    world_check(world->base);
}

/* ---- killers ---- */

/* The consumer's process ends in the middle; the queue gives its messages out again in time. */
static size_t rounds_with_deaths(queue_world *world)
{
    size_t deaths = 0;
    for (size_t empty = 0; empty < 2;) {
        uint64_t before = world->base->deaths;
        round_result round = queue_round(world);
        world_disarm(world->base);
        if (world->base->deaths > before) {
            deaths++;
            queue_world_restart(world);
        } else {
            assert_int_equal(round.status, KEDGE_OK);
        }
        empty = round.received == 0 ? empty + 1 : 0;
        queue_world_pass(KEDGE_QUEUED_VISIBILITY_MS + 1000);
    }
    return deaths;
}

static void test_a_message_that_kills_its_consumer_is_found_out_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t place = 0; place < 10; place++) {
        queue_world *world = queue_world_new();
        int64_t id = 0;
        for (size_t i = 0; i < 10; i++) {
            if (i == place)
                queue_call(world, "killer", 1, "test.die", "{}");
            else
                id++, queue_put(world, &ann, "g1", "c1", id, id, "a");
        }
        size_t deaths = rounds_with_deaths(world);
        assert_in_range(deaths, 4, KEDGE_QUEUED_ALONE_COUNT - 1 + KEDGE_QUEUED_ENDED_MAX);
        assert_int_equal(world_lmid(world->base, "c1"), 9);
        assert_int_equal(world_lmid(world->base, "killer"), 0);
        assert_int_equal(queue_dead_letter_count(world), 1);
        assert_string_equal(queue_dead_letter_code(world), "consumer-ended");
        assert_int_equal(queue_reasons(world), 1);
        world_check(world->base);
        queue_world_free(world);
    }
}

static void test_two_that_kill_their_consumers_are_both_buried(void **state)
{
    queue_world *world = *state;
    queue_call(world, "killer", 1, "test.die", "{}");
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_call(world, "other", 1, "test.die", "{}");
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    rounds_with_deaths(world);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    assert_int_equal(queue_dead_letter_count(world), 2);
    world_check(world->base);
}

/* The message as a consumer gets it for the sixth time, after three tries that ended their
 * consumers. */
static void test_tries_that_ended_a_consumer_count_on_while_a_store_is_away(void **state)
{
    for (uint64_t fault_at = 1; fault_at <= 3; fault_at++) { /* read mark, read claim, write mark */
        queue_world *world = queue_world_new();
        kedge_queue_batch batch = {0};
        kedge_consume_outcome outcome;
        uint32_t ended = 0;
        (void)state;
        queue_put_large(world, "c1", 1, "a", 9000);
        assert_int_equal(
            world->store.vtable->receive(world->store.self, 1, 60000, 0, NULL, &batch, NULL),
            KEDGE_OK);
        kedge_queue_message *message = &batch.messages[0];
        message->receive_count = 6;
        assert_int_equal(kedge_dead_letter_mark(world->queued, message, 2, NULL), KEDGE_OK);
        world_arm(world->base, WORLD_FAULT_BEFORE, fault_at, false, false);
        assert_int_equal(
            kedge_consume(world->queued, world->base->backend, message, 1, 1, NULL, &outcome, NULL),
            KEDGE_OK);
        world_disarm(world->base);
        assert_int_equal(outcome.what, KEDGE_CONSUMED_AGAIN);
        assert_int_equal(world->failures, 1);
        assert_int_equal(kedge_dead_letter_read_mark(world->queued, message, &ended, NULL),
                         KEDGE_OK);
        assert_int_equal(ended, 3);
        assert_int_equal(
            kedge_consume(world->queued, world->base->backend, message, 1, 1, NULL, &outcome, NULL),
            KEDGE_OK);
        assert_int_equal(outcome.what, KEDGE_CONSUMED_DECIDED);
        assert_int_equal(queue_reasons(world), 0);
        kedge_queue_batch_free(&batch);
        queue_world_free(world);
    }
}

int main(void)
{
#define QUEUED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        QUEUED(test_a_message_of_another_format_holds_up_nobody),
        QUEUED(test_what_is_no_message_of_ours_is_never_taken_for_one),
        QUEUED(test_a_message_of_a_project_that_is_gone_is_buried),
        QUEUED(test_what_cannot_be_decided_is_buried_within_a_minute),
        QUEUED(test_a_claim_check_whose_push_is_gone_is_buried),
        QUEUED(test_a_claim_check_whose_push_is_damaged_is_buried),
        QUEUED(test_the_claim_checks_of_dead_letters_are_known_while_a_queue_shows_all),
        QUEUED(test_a_queue_that_has_more_dead_letters_than_it_shows_tells_not_all_claims),
        QUEUED(test_a_message_that_cannot_be_decided_is_parted_from_its_batch),
        QUEUED(test_a_dead_letter_that_was_decided_meanwhile_changes_nothing_when_it_is_put_back),
        cmocka_unit_test(test_a_message_that_kills_its_consumer_is_found_out_wherever_it_stands),
        QUEUED(test_two_that_kill_their_consumers_are_both_buried),
        cmocka_unit_test(test_tries_that_ended_a_consumer_count_on_while_a_store_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
