/* Queued mode: what becomes of messages that arrive together, split, twice, late, or in the wrong
 * order. */
#include "tests/backend/queue_world.h"

#include "tests/support/project.h"

#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    *state = queue_world_new();
    return 0;
}

static kedge_consumer *second; /* of a test that has one */

static int tear_down(void **state)
{
    kedge_consumer_free(second);
    second = NULL;
    queue_world_free(*state);
    return 0;
}

static kedge_version *head(queue_world *world)
{
    const kedge_version *version = NULL;
    assert_int_equal(kedge_version_load(HANDLE(world->base->backend, &notes), 0, &version, NULL),
                     KEDGE_OK);
    return (kedge_version *)(uintptr_t)version;
}

static void check_empty(queue_world *world)
{
    queue_world_pass(200000);
    assert_int_equal(queue_round(world).received, 0);
    assert_int_equal(queue_dead_letter_count(world), 0);
    world_check(world->base);
}

/* ---- merging ---- */

static void test_a_push_is_decided_by_the_consumer(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 3, "a");
    assert_int_equal(world_head(world->base), 0);
    round_result round = queue_round(world);
    assert_int_equal(round.received, 1);
    assert_int_equal(round.left, 0);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":3}");
    assert_int_equal(world_head(world->base), 1);
    check_empty(world);
}

/* A minute passes while the consumer works on a message. */
static queue_world *busy;
static double age_while_busy;

static double age(queue_world *world)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_consumers_write_age(world->queued, &out);
    const char *line = strstr(out.data, "\nkedge_queue_age_seconds ");
    assert_non_null(line);
    double seconds = strtod(line + strlen("\nkedge_queue_age_seconds "), NULL);
    kedge_buffer_free(&out);
    return seconds;
}

static void pass_a_minute(test_world *world)
{
    (void)world;
    queue_world_pass(60000);
    age_while_busy = age(busy);
}

static void test_the_age_of_the_queue_grows_while_a_message_is_worked_on(void **state)
{
    queue_world *world = *state;
    busy = world;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    world->base->meddle = pass_a_minute;
    world->base->meddle_at = world->base->calls + 3;
    assert_int_equal(queue_round(world).received, 1);
    assert_true(age_while_busy >= 60);
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    assert_int_equal(queue_round(world).received, 1);
    assert_true(age(world) < 1);
}

static void test_messages_of_several_senders_become_one_version(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_put(world, &bob, "g2", "c2", 1, 1, "b");
    queue_put(world, &ann, "g3", "c3", 1, 1, "c");
    assert_int_equal(queue_round(world).received, 3);
    kedge_version *version = head(world);
    assert_int_equal(version->number, 1);
    assert_int_equal(version->run_count, 3);
    assert_true(kedge_bytes_equal_text(version->runs[1].user, "bob"));
    assert_true(kedge_bytes_equal_text(version->runs[1].group, "g2"));
    assert_true(kedge_bytes_equal_text(version->runs[2].group, "g3"));
    kedge_version_release(version);
    assert_int_equal(queue_metric(world, "kedge_merged_messages_total"), 3);
    check_empty(world);
}

static void test_a_client_split_over_messages_keeps_its_order(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_put(world, &bob, "g2", "c2", 1, 1, "a");
    queue_put(world, &ann, "g1", "c1", 3, 5, "a");
    assert_int_equal(queue_round(world).received, 3);
    assert_int_equal(world_head(world->base), 1);
    assert_int_equal(world_lmid(world->base, "c1"), 5);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":5}");
    check_empty(world);
}

static void test_more_messages_than_a_receive_gives_are_several_rounds(void **state)
{
    queue_world *world = *state;
    for (int64_t id = 1; id <= 25; id++)
        queue_put(world, &ann, "g1", "c1", id, id, "a");
    assert_int_equal(queue_drain(world), 3);
    assert_int_equal(world_head(world->base), 3);
    assert_int_equal(world_lmid(world->base, "c1"), 25);
    check_empty(world);
}

static void test_projects_of_one_batch_are_decided_each_by_itself(void **state)
{
    queue_world *world = *state;
    bool created;
    int64_t created_ms;
    kedge_project_ref other = {KEDGE_BYTES("acme"), KEDGE_BYTES("other")};
    const kedge_version *version = NULL;
    assert_int_equal(
        kedge_project_create(HANDLE(world->base->backend, &other), &created, &created_ms, NULL),
        KEDGE_OK);
    static const char push[] =
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"x\",\"id\":1,"
        "\"name\":\"kedge.put\",\"args\":{\"collection\":\"items\",\"id\":\"o\",\"value\":1},"
        "\"timestamp\":1}]}";
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    assert_int_equal(kedge_queued_enqueue(world->queued, other.organization, other.project, &bob,
                                          kedge_bytes_of(push), NULL),
                     KEDGE_OK);
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    assert_int_equal(queue_round(world).received, 3);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    assert_int_equal(world_head(world->base), 1);
    assert_int_equal(kedge_version_load(HANDLE(world->base->backend, &other), 0, &version, NULL),
                     KEDGE_OK);
    assert_int_equal(version->number, 1);
    kedge_version_release(version);
    check_empty(world);
}

/* ---- ids decide ---- */

static void test_a_message_that_comes_twice_is_decided_once(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    assert_int_equal(queue_round(world).received, 2);
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    assert_int_equal(queue_round(world).received, 1);
    assert_int_equal(world_head(world->base), 1);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    check_empty(world);
}

static void test_a_message_behind_a_direct_push_of_more_is_nothing_new(void **state)
{
    queue_world *world = *state;
    push_builder *builder = malloc(sizeof *builder);
    kedge_push_result result = {0};
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_round(world);
    assert_non_null(builder);
    push_begin(builder);
    push_add(builder, "c1", 2, "a", 20);
    assert_int_equal(push_send(builder, world->base->backend, &ann, &result), KEDGE_OK);
    queue_put(world, &ann, "g1", "c1", 1, 1, "a"); /* late */
    assert_int_equal(queue_round(world).received, 1);
    assert_int_equal(world_head(world->base), 2);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":20}");
    queue_put(world, &ann, "g1", "c1", 3, 3, "a");
    assert_int_equal(queue_round(world).left, 0);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":3}");
    free(builder);
    check_empty(world);
}

static void test_a_message_behind_a_gap_is_dropped_and_others_are_not(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_put(world, &ann, "g1", "c1", 3, 4, "a");
    queue_put(world, &bob, "g2", "c2", 1, 1, "b");
    round_result round = queue_round(world);
    assert_int_equal(round.received, 3);
    assert_int_equal(round.left, 0);
    assert_int_equal(world_lmid(world->base, "c1"), 1);
    assert_int_equal(world_lmid(world->base, "c2"), 1);
    assert_int_equal(queue_metric(world, "kedge_dropped_mutations_total{reason=\"gap\"}"), 2);
    queue_put(world, &ann, "g1", "c1", 2, 4, "a"); /* as its client does after a while */
    queue_round(world);
    assert_int_equal(world_lmid(world->base, "c1"), 4);
    check_empty(world);
}

/* Merged with others it is decided as it would be by itself. */
static void test_a_gap_or_a_mismatch_in_one_message_does_not_touch_the_next(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 2, "a");
    queue_put(world, &ann, "g1", "c1", 9, 9, "x");
    queue_put(world, &ann, "g1", "c1", 3, 3, "a");
    queue_put(world, &ann, "g1", "c1", 2, 2, "y"); /* a twin's */
    queue_put(world, &ann, "g1", "c1", 4, 5, "a");
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_head(world->base), 1);
    assert_int_equal(world_lmid(world->base, "c1"), 5);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":5}");
    assert_string_equal(world_value(world->base, "y"), "absent");
    check_empty(world);
}

static void test_a_message_of_an_unknown_client_that_does_not_begin_with_1_is_dropped(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_head(world->base), 0);
    assert_int_equal(queue_metric(world, "kedge_dropped_mutations_total{reason=\"unknown\"}"), 1);
    check_empty(world);
}

static void test_a_message_of_a_retired_client_is_dropped(void **state)
{
    queue_world *world = *state;
    const kedge_version *at = NULL;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_round(world);
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    assert_int_equal(kedge_processor_retire(HANDLE(world->base->backend, &notes), &ann,
                                            KEDGE_BYTES("g1"), KEDGE_BYTES("c1"), &at, NULL),
                     KEDGE_OK);
    kedge_version_release(at);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_lmid(world->base, "c1"), 1);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":1}");
    assert_int_equal(queue_metric(world, "kedge_dropped_mutations_total{reason=\"retired\"}"), 1);
    check_empty(world);
}

static void test_another_mutation_under_a_decided_id_is_dropped(void **state)
{
    queue_world *world = *state;
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_put(world, &ann, "g1", "c1", 1, 2, "b"); /* a twin's */
    assert_int_equal(queue_round(world).left, 0);
    assert_string_equal(world_value(world->base, "b"), "absent");
    assert_int_equal(queue_metric(world, "kedge_dropped_mutations_total{reason=\"mismatch\"}"), 2);
    check_empty(world);
}

static void test_a_message_under_the_id_of_anothers_client_is_dropped(void **state)
{
    queue_world *world = *state;
    queue_put(world, &bob, "g2", "c1", 1, 1, "a");
    queue_put(world, &ann, "g1", "c1", 1, 2, "b");
    queue_put(world, &bob, "g2", "c1", 2, 2, "a");
    assert_int_equal(queue_round(world).left, 0);
    assert_string_equal(world_value(world->base, "a"), "{\"v\":2}");
    assert_string_equal(world_value(world->base, "b"), "absent");
    assert_int_equal(queue_metric(world, "kedge_dropped_mutations_total{reason=\"foreign\"}"), 2);
    check_empty(world);
}

/* ---- claim checks ---- */

static void test_a_large_push_goes_through_blobs_and_leaves_nothing(void **state)
{
    queue_world *world = *state;
    queue_put_large(world, "c1", 1, "a", 50000);
    queue_put_large(world, "c1", 2, "b", 50);
    assert_int_equal(queue_claims(world), 1);
    assert_int_equal(queue_metric(world, "kedge_queued_claims_total"), 1);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    assert_int_equal(queue_claims(world), 0);
    check_empty(world);
}

/* Whoever set up the queue may have given it less room than --claim-bytes counts on. */
static void test_a_push_that_the_queue_itself_finds_too_large_goes_through_blobs(void **state)
{
    queue_world *world = *state;
    world->queue_bytes_max = 1000;
    queue_put_large(world, "c1", 1, "a", 2000);
    queue_put_large(world, "c1", 2, "b", 50);
    queue_put_large(world, "c1", 3, "c", 50000);
    assert_int_equal(queue_claims(world), 2);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_lmid(world->base, "c1"), 3);
    assert_int_equal(queue_claims(world), 0);
    check_empty(world);
}

static void test_the_same_large_push_twice_has_two_claim_checks(void **state)
{
    queue_world *world = *state;
    queue_put_large(world, "c1", 1, "a", 50000);
    queue_put_large(world, "c1", 1, "a", 50000);
    assert_int_equal(queue_claims(world), 2);
    assert_int_equal(queue_round(world).left, 0);
    assert_int_equal(world_head(world->base), 1);
    assert_int_equal(queue_claims(world), 0);
    check_empty(world);
}

static void test_bytes_that_no_queue_of_text_holds_go_through_blobs(void **state)
{
    queue_world *world = *state;
    queue_call(world, "c1", 1, "kedge.put", "\"\xff\xfe\"");
    queue_call(world, "c1", 2, "kedge.put", "\"\xef\xbf\xbf\"");
    assert_int_equal(queue_claims(world), 2);
    assert_int_equal(queue_round(world).left, 0);
    kedge_version *version = head(world);
    assert_int_equal(version->mutation_count, 2);
    assert_true(kedge_bytes_equal_text(version->mutations[0].code, "mutation-invalid"));
    kedge_version_release(version);
    check_empty(world);
}

/* ---- owners ---- */

static void put_elsewhere(queue_world *world, const char *organization, const char *project)
{
    bool created;
    int64_t created_ms;
    kedge_project_ref ref = {kedge_bytes_of(organization), kedge_bytes_of(project)};
    kedge_identity who = {.user = "eve", .role = "", .organization = organization};
    static const char push[] =
        "{\"pushVersion\":1,\"clientGroupID\":\"g\",\"mutations\":[{\"clientID\":\"x\",\"id\":1,"
        "\"name\":\"kedge.put\",\"args\":{\"collection\":\"items\",\"id\":\"o\",\"value\":1},"
        "\"timestamp\":1}]}";
    assert_int_equal(
        kedge_project_create(HANDLE(world->base->backend, &ref), &created, &created_ms, NULL),
        KEDGE_OK);
    assert_int_equal(kedge_queued_enqueue(world->queued, ref.organization, ref.project, &who,
                                          kedge_bytes_of(push), NULL),
                     KEDGE_OK);
}

static size_t received_by_second[3];

static void let_second_work(test_world *base)
{
    size_t left;
    (void)base;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(kedge_consumer_round(second, 0, &received_by_second[i], &left, NULL),
                         KEDGE_OK);
}

static void test_one_organization_never_has_all_consumers(void **state)
{
    queue_world *world = *state;
    size_t received, left;
    assert_int_equal(kedge_consumer_new(world->queued, world->base->backend, &second, NULL),
                     KEDGE_OK);
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    put_elsewhere(world, "acme", "other");
    put_elsewhere(world, "zeta", "one");
    put_elsewhere(world, "zeta", "two");
    world->base->meddle = let_second_work;
    world->base->meddle_at = world->base->calls + 3;
    assert_int_equal(queue_round(world).received, 1); /* acme's first project */
    assert_int_equal(received_by_second[0], 1);
    assert_int_equal(received_by_second[1], 1);
    assert_int_equal(received_by_second[2], 0); /* acme has the other consumer */
    assert_int_equal(kedge_consumer_round(second, 0, &received, &left, NULL), KEDGE_OK);
    assert_int_equal(received, 1);
    check_empty(world);
}

/* ---- messages from elsewhere ---- */

static void
test_messages_that_were_received_by_somebody_else_are_decided_without_a_queue(void **state)
{
    queue_world *world = *state;
    kedge_queue_batch batch = {0};
    kedge_consume_outcome outcomes[10];
    kedge_error error = {0};
    queue_put(world, &ann, "g1", "c1", 1, 1, "a");
    queue_raw(world, "{}");
    queue_put(world, &ann, "g1", "c1", 2, 2, "a");
    assert_int_equal(
        world->store.vtable->receive(world->store.self, 10, 1000, 0, NULL, &batch, &error),
        KEDGE_OK);
    assert_int_equal(batch.count, 3);
    assert_int_equal(kedge_consume(world->queued, world->base->backend, batch.messages, batch.count,
                                   batch.count, NULL, outcomes, &error),
                     KEDGE_OK);
    assert_int_equal(outcomes[0].what, KEDGE_CONSUMED_DECIDED);
    assert_int_equal(outcomes[1].what, KEDGE_CONSUMED_FAILED);
    assert_string_equal(outcomes[1].error.code, "message-unreadable");
    assert_int_equal(outcomes[2].what, KEDGE_CONSUMED_DECIDED);
    assert_int_equal(world_lmid(world->base, "c1"), 2);
    assert_int_equal(kedge_consume(world->queued, world->base->backend, batch.messages, 11, 11,
                                   NULL, outcomes, &error),
                     KEDGE_INVALID_ARGUMENT);
    kedge_queue_batch_free(&batch);
}

int main(void)
{
#define QUEUED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        QUEUED(test_a_push_is_decided_by_the_consumer),
        QUEUED(test_the_age_of_the_queue_grows_while_a_message_is_worked_on),
        QUEUED(test_messages_of_several_senders_become_one_version),
        QUEUED(test_a_client_split_over_messages_keeps_its_order),
        QUEUED(test_more_messages_than_a_receive_gives_are_several_rounds),
        QUEUED(test_projects_of_one_batch_are_decided_each_by_itself),
        QUEUED(test_a_message_that_comes_twice_is_decided_once),
        QUEUED(test_a_message_behind_a_direct_push_of_more_is_nothing_new),
        QUEUED(test_a_message_behind_a_gap_is_dropped_and_others_are_not),
        QUEUED(test_a_gap_or_a_mismatch_in_one_message_does_not_touch_the_next),
        QUEUED(test_a_message_of_an_unknown_client_that_does_not_begin_with_1_is_dropped),
        QUEUED(test_a_message_of_a_retired_client_is_dropped),
        QUEUED(test_another_mutation_under_a_decided_id_is_dropped),
        QUEUED(test_a_message_under_the_id_of_anothers_client_is_dropped),
        QUEUED(test_a_large_push_goes_through_blobs_and_leaves_nothing),
        QUEUED(test_a_push_that_the_queue_itself_finds_too_large_goes_through_blobs),
        QUEUED(test_the_same_large_push_twice_has_two_claim_checks),
        QUEUED(test_bytes_that_no_queue_of_text_holds_go_through_blobs),
        QUEUED(test_one_organization_never_has_all_consumers),
        QUEUED(test_messages_that_were_received_by_somebody_else_are_decided_without_a_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
