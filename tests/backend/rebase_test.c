/* Rebases: the mutations of one project replayed on top of another, once each, in their order. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/versioned/projects/fork.h"
#include "backend/versioned/projects/rebase.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY(world) HANDLE((world)->backend, &copy)

static const kedge_project_ref copy = {{"acme", 4}, {"copy", 4}};

static push_builder builder;

/* ---- a story of two users ---- */

#define STORY     12
#define FORKED_AT 4

/* Pushes version i of the story. Ann and Bob edit in turn. The fifth edit is rejected, the sixth
 * tests the value that is there, and the ninth has a large body. */
static void tell_story(test_world *world, int i)
{
    kedge_push_result result = {0};
    char item[16];
    snprintf(item, sizeof item, "a%d", i % 3);
    push_begin(&builder);
    const char *client = i % 2 == 1 ? "ann1" : "bob1";
    int64_t id = (i + 1) / 2;
    if (i == 5) {
        push_add_call(&builder, client, id, "no.such.mutator", "{\"n\":1}");
    } else if (i == 6) {
        push_add_call(&builder, client, id, "kedge.patch",
                      "{\"collection\":\"items\",\"id\":\"a0\",\"patch\":[{\"op\":\"test\","
                      "\"path\":\"/v\",\"value\":3},{\"op\":\"add\",\"path\":\"/seen\","
                      "\"value\":true}]}");
    } else if (i == 9) {
        push_add_large(&builder, client, id, item, i, 20000);
    } else {
        push_add(&builder, client, id, item, i);
    }
    const kedge_identity *who = i % 2 == 1 ? &ann : &bob;
    assert_int_equal(push_send(&builder, world->backend, who, &result), KEDGE_OK);
    assert_int_equal(result.version, i);
}

static void fork_at(test_world *world, int64_t version)
{
    kedge_fork fork = {.done = false};
    assert_int_equal(kedge_fork_project(NOTES(world), version, COPY(world), &fork, NULL), KEDGE_OK);
    assert_true(fork.done);
}

static void make_projects(test_world *world)
{
    for (int i = 1; i <= STORY; i++)
        tell_story(world, i);
    fork_at(world, FORKED_AT);
}

/* ---- running a job ---- */

typedef struct report {
    char text[4000]; /* "id outcome, " for each mutation */
    size_t size;
    int applied;
    int rejected;
    int duplicates;
    int left_out;
    int parts;
    int64_t last_version;
} report;

static kedge_status note(void *context, const kedge_rebase_outcome *outcome, kedge_error *error)
{
    (void)error;
    report *told = context;
    assert_true(outcome->from_version >= told->last_version);
    told->last_version = outcome->from_version;
    if (outcome->decided == NULL) {
        told->left_out++;
        return KEDGE_OK;
    }
    assert_int_equal(outcome->decided->id, outcome->id);
    assert_memory_equal(outcome->decided->digest, outcome->from->digest, KEDGE_DIGEST_SIZE);
    static const char *const names[] = {"applied", "rejected", "duplicate"};
    int *const counts[] = {&told->applied, &told->rejected, &told->duplicates};
    ++*counts[outcome->decided->outcome];
    if (told->size < sizeof told->text - 64) {
        told->size +=
            (size_t)snprintf(told->text + told->size, sizeof told->text - told->size, "%lld %s, ",
                             (long long)outcome->id, names[outcome->decided->outcome]);
    }
    return KEDGE_OK;
}

static kedge_rebase_job job_of(const char *name, int64_t from, int64_t to)
{
    return (kedge_rebase_job){
        .from_version = from, .to_version = to, .job = kedge_bytes_of(name), .role = "admin"};
}

static kedge_status run_job(kedge_backend *backend, kedge_rebase_job job, report *told,
                            kedge_error *error)
{
    kedge_project from = kedge_project_of(backend, &notes);
    kedge_project to = kedge_project_of(backend, &copy);
    if (job.from == NULL) job.from = &from;
    if (job.to == NULL) job.to = &to;
    memset(told, 0, sizeof *told);
    for (;;) {
        kedge_rebase_place next;
        int64_t version = 0;
        kedge_status status = kedge_rebase_run(&job, note, told, &next, &version, error);
        if (status != KEDGE_OK) return status;
        told->parts++;
        if (next.version == 0) return KEDGE_OK;
        job.resume = next;
    }
}

static void must_run(test_world *world, const char *name, int64_t from, int64_t to, report *told)
{
    kedge_error error = {0};
    if (run_job(world->backend, job_of(name, from, to), told, &error) != KEDGE_OK) {
        fail_msg("rebase: %s: %s", error.code, error.message);
    }
}

static int64_t head_of_copy(test_world *world)
{
    const kedge_version *head = NULL;
    assert_int_equal(kedge_version_load(COPY(world), 0, &head, NULL), KEDGE_OK);
    int64_t number = head->number;
    kedge_version_release(head);
    return number;
}

static void dump(test_world *world, const kedge_project_ref *ref, kedge_buffer *out)
{
    kedge_buffer_clear(out);
    world_dump_project(world, ref, 0, out);
}

static void check_same_as_notes(test_world *world)
{
    kedge_buffer a = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer b = kedge_buffer_make(&kedge_allocator_default);
    dump(world, &notes, &a);
    dump(world, &copy, &b);
    assert_string_equal(a.data, b.data);
    kedge_buffer_free(&a);
    kedge_buffer_free(&b);
    world_check_project(world, &copy);
}

static kedge_status push_to_copy(kedge_backend *backend, kedge_push_result *result)
{
    return kedge_processor_push(HANDLE(backend, &copy), &builder.push, result, NULL);
}

static void put_to_copy(test_world *world, const char *client, int64_t id, const char *item, int v)
{
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, client, id, item, v);
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
}

/* ---- what a rebase does ---- */

static void test_the_rest_of_a_history_on_a_fork_gives_the_same_state(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    assert_string_equal(told.text, "1 rejected, 2 applied, 3 applied, 4 applied, 5 applied, "
                                   "6 applied, 7 applied, 8 applied, ");
    check_same_as_notes(world);
    world_check(world);
    assert_int_equal(world_head(world), STORY);
}

static void test_replayed_mutations_keep_user_time_and_first_name(void **state)
{
    test_world *world = *state;
    report told;
    const kedge_version *version = NULL;
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    assert_int_equal(kedge_version_load(COPY(world), 2, &version, NULL), KEDGE_OK);
    assert_int_equal(version->mutation_count, STORY - FORKED_AT);
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        int k = FORKED_AT + 1 + (int)i;
        assert_true(kedge_bytes_equal_text(mutation->client, "rebase-j1"));
        assert_int_equal(mutation->id, i + 1);
        assert_true(kedge_bytes_equal_text(mutation->user, k % 2 == 1 ? "ann" : "bob"));
        assert_true(kedge_bytes_equal_text(mutation->origin_client, k % 2 == 1 ? "ann1" : "bob1"));
        assert_int_equal(mutation->origin_id, (k + 1) / 2);
        assert_int_equal(mutation->timestamp_ms, 1700000000000 + (k + 1) / 2);
    }
    kedge_version_release(version);
}

static void test_mutations_are_decided_anew_on_another_start(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    put_to_copy(world, "own", 1, "a0", 100); /* the sixth tests for 3 */
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    assert_int_equal(told.rejected, 2);
    assert_string_equal(told.text, "1 rejected, 2 rejected, 3 applied, 4 applied, 5 applied, "
                                   "6 applied, 7 applied, 8 applied, ");
    world_check_project(world, &copy);
}

static void test_a_job_run_twice_applies_once(void **state)
{
    test_world *world = *state;
    report told;
    report again;
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    put_to_copy(world, "own", 1, "a1", 100);
    int64_t head = head_of_copy(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &again);
    assert_string_equal(told.text, again.text);
    assert_int_equal(head_of_copy(world), head);
    world_restart(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &again);
    assert_string_equal(told.text, again.text);
    assert_int_equal(head_of_copy(world), head);
}

static void test_another_job_finds_what_the_first_has_replayed(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, 8, &told);
    must_run(world, "j2", FORKED_AT + 1, STORY, &told);
    assert_int_equal(told.duplicates, 4);
    assert_int_equal(told.applied, 4);
    check_same_as_notes(world);
}

static void test_a_job_goes_on_with_a_longer_range(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, 8, &told);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    assert_int_equal(told.duplicates, 0);
    check_same_as_notes(world);
}

static void test_a_rebase_onto_an_empty_project_is_a_replay_of_everything(void **state)
{
    test_world *world = *state;
    report told;
    bool created = false;
    int64_t created_ms = 0;
    for (int i = 1; i <= STORY; i++)
        tell_story(world, i);
    assert_int_equal(kedge_project_create(COPY(world), &created, &created_ms, NULL), KEDGE_OK);
    must_run(world, "all", 1, STORY, &told);
    assert_int_equal(told.applied, STORY - 1);
    check_same_as_notes(world);
}

static void test_a_long_range_is_replayed_in_parts(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    for (int i = 7; i <= 160; i++)
        world_put(world, "ann1", i, i % 2 == 0 ? "x" : "y", i);
    int64_t head = world_head(world);
    must_run(world, "j1", FORKED_AT + 1, head, &told);
    assert_int_equal(told.parts, (head - FORKED_AT + 63) / 64);
    assert_int_equal(told.applied + told.rejected, head - FORKED_AT);
    check_same_as_notes(world);
}

static void test_a_place_that_was_not_reached_is_refused(void **state)
{
    test_world *world = *state;
    report told;
    kedge_error error = {0};
    make_projects(world);
    kedge_rebase_job job = job_of("j1", FORKED_AT + 1, STORY);
    job.resume = (kedge_rebase_place){8, 4};
    assert_int_equal(run_job(world->backend, job, &told, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "rebase-invalid");
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    job.resume = (kedge_rebase_place){8, 5};
    assert_int_equal(run_job(world->backend, job, &told, &error), KEDGE_CONFLICT);
    assert_string_equal(error.code, "job-mismatch");
    check_same_as_notes(world);
}

/* ---- clients and origins ---- */

static void test_retired_clients_and_duplicates_of_the_source_are_left_out(void **state)
{
    test_world *world = *state;
    report told;
    const kedge_version *at = NULL;
    kedge_push_result result = {0};
    make_projects(world);
    /* ann1 is retired; its sixth mutation comes again as an origin, and a new one. */
    assert_int_equal(kedge_processor_retire(NOTES(world), &ann, KEDGE_BYTES("g1"),
                                            KEDGE_BYTES("ann1"), &at, NULL),
                     KEDGE_OK);
    kedge_version_release(at);
    push_begin(&builder);
    push_add(&builder, "ann2", 1, "a2", 11);
    push_set_origin(&builder, "ann1", 6);
    push_add(&builder, "ann2", 2, "a2", 77);
    push_set_origin(&builder, "ann1", 7);
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    must_run(world, "j1", FORKED_AT + 1, world_head(world), &told);
    assert_int_equal(told.left_out, 1);
    assert_int_equal(told.applied, 8);
    check_same_as_notes(world);
    /* The origin of the second one is its first client and id. */
    const kedge_version *head = NULL;
    assert_int_equal(kedge_version_load(COPY(world), 0, &head, NULL), KEDGE_OK);
    const kedge_version_mutation *last = &head->mutations[head->mutation_count - 1];
    assert_true(kedge_bytes_equal_text(last->origin_client, "ann1"));
    assert_int_equal(last->origin_id, 7);
    kedge_version_release(head);
}

static void test_a_client_that_the_target_knows_cannot_push_the_same_again(void **state)
{
    test_world *world = *state;
    report told;
    kedge_push_result result = {0};
    make_projects(world);
    /* ann1 went over to the copy with its first two decided, and has the rest pending. */
    put_to_copy(world, "ann1", 1, "a1", 1);
    put_to_copy(world, "ann1", 2, "a0", 3);
    put_to_copy(world, "stays", 1, "z", 1);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    int64_t head = head_of_copy(world);
    push_begin(&builder);
    push_add_call(&builder, "ann1", 3, "no.such.mutator", "{\"n\":1}");
    push_add(&builder, "ann1", 4, "a1", 7);
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_RETIRED);
    assert_int_equal(head_of_copy(world), head);
    put_to_copy(world, "stays", 2, "z", 2);
    world_check_project(world, &copy);
}

static void test_clients_cannot_use_the_name_of_a_job(void **state)
{
    test_world *world = *state;
    report told;
    const kedge_version *at = NULL;
    kedge_push_result result = {0};
    make_projects(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    int64_t head = head_of_copy(world);
    push_begin(&builder);
    push_add(&builder, "rebase-j1", 9, "a0", 5);
    push_add(&builder, "rebase-j9", 1, "a0", 5);
    builder.sender.group = KEDGE_BYTES("rebase-j1");
    assert_int_equal(push_to_copy(world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_CLIENT_FOREIGN);
    assert_int_equal(kedge_processor_retire(COPY(world), &ann, KEDGE_BYTES("rebase-j1"),
                                            KEDGE_BYTES("rebase-j1"), &at, NULL),
                     KEDGE_NOT_FOUND);
    assert_int_equal(head_of_copy(world), head);
}

static void test_what_was_malformed_stays_rejected_with_its_code(void **state)
{
    test_world *world = *state;
    report told;
    kedge_push_result result = {0};
    const kedge_version *version = NULL;
    make_projects(world);
    push_begin(&builder);
    push_add_call(&builder, "odd", 1, "", "null");
    builder.mutations[0].invalid_code = "mutation-invalid";
    snprintf(builder.mutations[0].invalid_message, 64, "name is not a string");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    must_run(world, "j1", STORY + 1, STORY + 1, &told);
    assert_int_equal(told.rejected, 1);
    assert_int_equal(kedge_version_load(COPY(world), 0, &version, NULL), KEDGE_OK);
    assert_true(kedge_bytes_equal_text(version->mutations[0].code, "mutation-invalid"));
    assert_true(kedge_bytes_equal_text(version->mutations[0].message, "name is not a string"));
    kedge_version_release(version);
}

/* ---- refusals ---- */

static void test_what_makes_no_sense_is_refused_and_named(void **state)
{
    test_world *world = *state;
    report told;
    make_projects(world);
    char long_name[128];
    memset(long_name, 'x', 122);
    long_name[122] = '\0';
    kedge_project_ref none = {KEDGE_BYTES("acme"), KEDGE_BYTES("none")};
    kedge_rebase_job onto_itself = job_of("j1", 5, STORY);
    kedge_project itself = kedge_project_of(world->backend, &notes);
    onto_itself.to = &itself;
    kedge_rebase_job from_nowhere = job_of("j1", 5, STORY);
    kedge_project nowhere = kedge_project_of(world->backend, &none);
    from_nowhere.from = &nowhere;
    kedge_rebase_job to_nowhere = job_of("j1", 5, STORY);
    to_nowhere.to = &nowhere;
    const struct {
        kedge_rebase_job job;
        kedge_status status;
        const char *code;
    } rows[] = {
        {job_of("", 5, STORY), KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {job_of("a b", 5, STORY), KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {job_of(long_name, 5, STORY), KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {job_of("j1", 6, 5), KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {job_of("j1", 0, 5), KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {job_of("j1", 5, STORY + 1), KEDGE_NOT_FOUND, "version-not-found"},
        {job_of("j1", FORKED_AT, STORY), KEDGE_CONFLICT, "rebase-range-in-base"},
        {onto_itself, KEDGE_INVALID_ARGUMENT, "rebase-invalid"},
        {from_nowhere, KEDGE_NOT_FOUND, "project-not-found"},
        {to_nowhere, KEDGE_NOT_FOUND, "project-not-found"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kedge_error error = {0};
        assert_int_equal(run_job(world->backend, rows[i].job, &told, &error), rows[i].status);
        assert_string_equal(error.code, rows[i].code);
    }
    assert_int_equal(head_of_copy(world), 1);
}

static void test_a_backend_without_a_mutator_does_not_reject_for_it(void **state)
{
    test_world *world = *state;
    report told;
    kedge_error error = {0};
    kedge_push_result result = {0};
    kedge_registry *full = world->registry;
    kedge_registry *bare = NULL;
    make_projects(world);
    push_begin(&builder);
    push_add_call(&builder, "ann1", 7, "test.fill", "{\"from\":0,\"count\":3}");
    assert_int_equal(push_send(&builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, NULL, 0, &bare, NULL), KEDGE_OK);
    world->registry = bare;
    world_restart(world);
    assert_int_equal(run_job(world->backend, job_of("j1", FORKED_AT + 1, STORY + 1), &told, &error),
                     KEDGE_CONFLICT);
    assert_string_equal(error.code, "mutator-unknown");
    assert_int_equal(head_of_copy(world), 1);
    world->registry = full;
    world_restart(world);
    must_run(world, "j1", FORKED_AT + 1, STORY + 1, &told);
    check_same_as_notes(world);
    kedge_registry_free(bare);
}

/* ---- crashes and races ---- */

static void run_broken_off(test_world *world, world_fault fault, uint64_t at, bool goes_on,
                           bool *ended)
{
    report told;
    kedge_error error = {0};
    world_restart(world);
    world_arm(world, fault, at, goes_on, false);
    run_job(world->backend, job_of("j1", FORKED_AT + 1, STORY), &told, &error);
    *ended = world->faults == 0;
    world_disarm(world);
    world_restart(world);
    must_run(world, "j1", FORKED_AT + 1, STORY, &told);
    assert_int_equal(told.applied, 7);
    assert_int_equal(told.rejected, 1);
    check_same_as_notes(world);
}

static void test_a_job_broken_off_at_any_port_call_goes_on(void **state)
{
    (void)state;
    int (*setups[])(void **) = {world_setup_memory, world_setup_seed};
    for (size_t i = 0; i < 4; i++) {
        for (int fault = WORLD_FAULT_BEFORE; fault <= WORLD_FAULT_AFTER; fault++) {
            bool ended = false;
            uint64_t at = 1;
            for (; !ended; at += WORLD_STRIDE) {
                void *made = NULL;
                setups[i % 2](&made);
                make_projects(made);
                run_broken_off(made, (world_fault)fault, at, i < 2, &ended);
                world_teardown(&made);
            }
            assert_true(at > 20);
        }
    }
}

static void push_of_another(test_world *world)
{
    kedge_backend *other = world_new_backend(world);
    static push_builder others;
    kedge_push_result result = {0};
    push_begin(&others);
    push_add(&others, "own", 1, "own", 1);
    assert_int_equal(kedge_processor_push(HANDLE(other, &copy), &others.push, &result, NULL),
                     KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    kedge_backend_free(other);
}

static void job_of_another(test_world *world, const char *name, int64_t to)
{
    kedge_backend *other = world_new_backend(world);
    report told;
    kedge_error error = {0};
    if (run_job(other, job_of(name, FORKED_AT + 1, to), &told, &error) != KEDGE_OK) {
        fail_msg("the other rebase: %s", error.message);
    }
    kedge_backend_free(other);
}

static void same_job_of_another(test_world *world)
{
    job_of_another(world, "j1", STORY);
}

static void other_job_of_another(test_world *world)
{
    job_of_another(world, "j2", 8);
}

static void test_somebody_else_between_any_two_calls_doubles_nothing(void **state)
{
    (void)state;
    void (*meddles[])(test_world *) = {push_of_another, same_job_of_another, other_job_of_another};
    for (size_t i = 0; i < 3; i++) {
        bool ended = false;
        for (uint64_t at = 1; !ended; at += WORLD_STRIDE) {
            void *made = NULL;
            report told;
            world_setup_memory(&made);
            test_world *world = made;
            make_projects(world);
            world_restart(world);
            world_arm(world, WORLD_FAULT_NONE, 0, false, false);
            world->meddle = meddles[i];
            world->meddle_at = at;
            must_run(world, "j1", FORKED_AT + 1, STORY, &told);
            ended = world->meddle != NULL;
            world_disarm(world);
            assert_int_equal(told.applied + told.rejected + told.duplicates, STORY - FORKED_AT);
            world_check_project(world, &copy);
            if (i > 0 || ended) check_same_as_notes(world);
            world_teardown(&made);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_ALL(test_the_rest_of_a_history_on_a_fork_gives_the_same_state),
        OVER_MEMORY(test_replayed_mutations_keep_user_time_and_first_name),
        OVER_ALL(test_mutations_are_decided_anew_on_another_start),
        OVER_ALL(test_a_job_run_twice_applies_once),
        OVER_ALL(test_another_job_finds_what_the_first_has_replayed),
        OVER_ALL(test_a_job_goes_on_with_a_longer_range),
        OVER_BOTH(test_a_rebase_onto_an_empty_project_is_a_replay_of_everything),
        OVER_ALL(test_a_long_range_is_replayed_in_parts),
        OVER_MEMORY(test_a_place_that_was_not_reached_is_refused),
        OVER_ALL(test_retired_clients_and_duplicates_of_the_source_are_left_out),
        OVER_ALL(test_a_client_that_the_target_knows_cannot_push_the_same_again),
        OVER_MEMORY(test_clients_cannot_use_the_name_of_a_job),
        OVER_ALL(test_what_was_malformed_stays_rejected_with_its_code),
        OVER_MEMORY(test_what_makes_no_sense_is_refused_and_named),
        OVER_MEMORY(test_a_backend_without_a_mutator_does_not_reject_for_it),
        cmocka_unit_test(test_a_job_broken_off_at_any_port_call_goes_on),
        cmocka_unit_test(test_somebody_else_between_any_two_calls_doubles_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
