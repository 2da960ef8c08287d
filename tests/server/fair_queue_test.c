/* Which job of which tenant is next, with simulated time. */
#include "backend/http/fair_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define THREADS    16
#define SHARE      (THREADS / KEDGE_WORKERS_TENANTS_SHARE)
#define FREE       (THREADS / KEDGE_WORKERS_FREE_SHARE)
#define PROCESSORS 4

typedef struct fixture {
    kedge_fair_queue queue;
    int64_t now_us;
} fixture;

static void nothing(void *argument)
{
    (void)argument;
}

static kedge_workers_admission add(fixture *at, const char *organization, const char *project)
{
    const kedge_tenant_name name = {.kind = organization[0] == '?' ? KEDGE_TENANT_SERVER
                                                                   : KEDGE_TENANT_ORGANIZATION,
                                    .organization = kedge_bytes_of(organization),
                                    .project = kedge_bytes_of(project)};
    /* The job says whose it is. */
    return kedge_fair_queue_add(&at->queue, &name, at->now_us, nothing, (void *)(uintptr_t)project);
}

static kedge_workers_admission go_on(fixture *at, const char *organization)
{
    const kedge_tenant_name name = {.organization = kedge_bytes_of(organization)};
    return kedge_fair_queue_go_on(&at->queue, &name, at->now_us, nothing,
                                  (void *)(uintptr_t)organization);
}

static void add_many(fixture *at, const char *organization, const char *project, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(add(at, organization, project), KEDGE_WORKERS_TAKEN);
}

static const char *take(fixture *at, kedge_fair_job *job)
{
    return kedge_fair_queue_take(&at->queue, at->now_us, job) ? job->argument : NULL;
}

static void run(fixture *at, const char *expected, int64_t took_us)
{
    kedge_fair_job job;
    const char *project = take(at, &job);
    assert_non_null(project);
    assert_string_equal(project, expected);
    at->now_us += took_us;
    kedge_fair_queue_finished(&at->queue, &job, took_us, 0);
}

static kedge_environment environment;

static fixture make(uint32_t threads)
{
    fixture made = {.now_us = 1000000};
    kedge_fair_queue_open(&made.queue, environment.allocator, threads, PROCESSORS);
    return made;
}

/* Runs what is left. */
static void close_fixture(fixture *at)
{
    kedge_fair_job job;
    while (take(at, &job) != NULL)
        kedge_fair_queue_finished(&at->queue, &job, 1, 0);
    assert_int_equal(at->queue.waiting, 0);
    kedge_fair_queue_close(&at->queue);
}

static void test_jobs_of_one_project_run_in_their_order(void **state)
{
    (void)state;
    fixture at = make(1);
    const char *names[] = {"1", "2", "3"};
    for (int i = 0; i < 3; i++) {
        const kedge_tenant_name name = {KEDGE_TENANT_ORGANIZATION, KEDGE_BYTES("a"),
                                        KEDGE_BYTES("p")};
        assert_int_equal(
            kedge_fair_queue_add(&at.queue, &name, at.now_us, nothing, (void *)(uintptr_t)names[i]),
            KEDGE_WORKERS_TAKEN);
    }
    for (int i = 0; i < 3; i++)
        run(&at, names[i], 10);
    close_fixture(&at);
}

static void test_projects_of_one_organization_take_turns(void **state)
{
    (void)state;
    fixture at = make(1);
    add_many(&at, "a", "busy", 100);
    add_many(&at, "a", "calm", 2);
    run(&at, "busy", 10);
    run(&at, "calm", 10);
    run(&at, "busy", 10);
    run(&at, "calm", 10);
    close_fixture(&at);
}

static void test_another_organization_waits_for_one_job_whatever_stands_in_front(void **state)
{
    (void)state;
    fixture at = make(1);
    kedge_fair_job first;
    add_many(&at, "evil", "evil", KEDGE_WORKERS_TENANT_MAX);
    run(&at, "evil", 250000);
    assert_non_null(take(&at, &first)); /* runs when the other comes */
    add_many(&at, "good", "good", 1);
    kedge_fair_queue_finished(&at.queue, &first, 250000, 0);
    run(&at, "good", 1000);
    close_fixture(&at);
}

/* Time counts, not jobs. */
static void test_who_has_used_less_time_is_next(void **state)
{
    (void)state;
    fixture at = make(1);
    int cheap = 0;
    add_many(&at, "dear", "dear", 20);
    add_many(&at, "cheap", "cheap", 200);
    for (int i = 0; i < 60; i++) {
        kedge_fair_job job;
        const char *project = take(&at, &job);
        bool is_cheap = strcmp(project, "cheap") == 0;
        kedge_fair_queue_finished(&at.queue, &job, is_cheap ? 1000 : 20000, 0);
        cheap += is_cheap;
    }
    assert_in_range(cheap, 50, 59); /* one of the dear takes as long as 20 of the cheap */
    close_fixture(&at);
}

/* One that was away has not saved up time. */
static void test_who_comes_anew_starts_where_the_others_stand(void **state)
{
    (void)state;
    fixture at = make(1);
    int old = 0;
    add_many(&at, "old", "old", 100);
    for (int i = 0; i < 50; i++)
        run(&at, "old", 10000);
    add_many(&at, "new", "new", 100);
    for (int i = 0; i < 40; i++) {
        kedge_fair_job job;
        old += strcmp(take(&at, &job), "old") == 0;
        kedge_fair_queue_finished(&at.queue, &job, 10000, 0);
    }
    assert_in_range(old, 15, 25);
    close_fixture(&at);
}

static int take_all(fixture *at, kedge_fair_job jobs[THREADS])
{
    int taken = 0;
    while (taken < THREADS && take(at, &jobs[taken]) != NULL)
        taken++;
    return taken;
}

static void finish_all(fixture *at, const kedge_fair_job *jobs, int count, int64_t computed_us)
{
    for (int i = 0; i < count; i++)
        kedge_fair_queue_finished(&at->queue, &jobs[i], 10000, computed_us);
}

static void test_one_organization_leaves_threads_free_and_among_several_has_a_share(void **state)
{
    (void)state;
    kedge_fair_job jobs[THREADS];
    kedge_fair_job others[THREADS];
    fixture at = make(THREADS);
    add_many(&at, "a", "a", 60);
    int taken = take_all(&at, jobs);
    assert_int_equal(taken, THREADS - THREADS / KEDGE_WORKERS_ALONE_SHARE);
    add_many(&at, "b", "b", 60);
    /* The first one has more than its share, and the second gets what is free. */
    int more = take_all(&at, others);
    assert_int_equal(more, THREADS / KEDGE_WORKERS_ALONE_SHARE);
    finish_all(&at, jobs, taken, 0);
    finish_all(&at, others, more, 0);
    /* From now on half of the threads stay free for others. */
    taken = take_all(&at, jobs);
    assert_in_range(taken, THREADS - FREE, THREADS - SHARE);
    add_many(&at, "c", "c", 20);
    more = take_all(&at, others);
    assert_int_equal(more, SHARE);
    for (int i = 0; i < more; i++)
        assert_string_equal(others[i].argument, "c");
    finish_all(&at, jobs, taken, 0);
    finish_all(&at, others, more, 0);
    at.now_us += (int64_t)KEDGE_WORKERS_SHARED_MS * 1000 + 1;
    close_fixture(&at);
}

static void test_who_computes_has_half_of_the_processors_while_others_are_active(void **state)
{
    (void)state;
    kedge_fair_job jobs[THREADS];
    fixture at = make(THREADS);
    int computing = 0;
    add_many(&at, "computes", "computes", 100);
    finish_all(&at, jobs, take_all(&at, jobs), 6000);
    add_many(&at, "waits", "waits", 100);
    int taken = take_all(&at, jobs);
    for (int i = 0; i < taken; i++)
        computing += strcmp(jobs[i].argument, "computes") == 0;
    assert_int_equal(computing, PROCESSORS / 2);
    assert_true(taken > computing);
    finish_all(&at, jobs, taken, 0);
    close_fixture(&at);
}

static void test_work_that_nobody_waits_for_has_a_share_also_when_it_is_alone(void **state)
{
    (void)state;
    kedge_fair_job jobs[THREADS];
    fixture at = make(THREADS);
    add_many(&at, "?", "", 40);
    int taken = take_all(&at, jobs);
    assert_int_equal(taken, THREADS - FREE);
    finish_all(&at, jobs, taken, 0);
    close_fixture(&at);
}

static void test_a_tenant_that_is_full_leaves_room_for_others(void **state)
{
    (void)state;
    fixture at = make(1);
    const char *names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        add_many(&at, names[i], names[i], KEDGE_WORKERS_TENANT_MAX);
        if (i < 3) assert_int_equal(add(&at, names[i], "x"), KEDGE_WORKERS_TENANT_FULL);
    }
    assert_int_equal(at.queue.waiting, KEDGE_WORKERS_QUEUE_MAX);
    assert_int_equal(add(&at, "e", "e"), KEDGE_WORKERS_FULL);
    /* What goes on with what was begun is taken, and then there is no more room than before. */
    assert_int_equal(go_on(&at, "a"), KEDGE_WORKERS_TAKEN);
    assert_int_equal(go_on(&at, "e"), KEDGE_WORKERS_TAKEN);
    assert_int_equal(at.queue.waiting, KEDGE_WORKERS_QUEUE_MAX + 2);
    assert_int_equal(add(&at, "e", "e"), KEDGE_WORKERS_FULL);
    close_fixture(&at);
}

int main(void)
{
    environment = kedge_environment_system(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_of_one_project_run_in_their_order),
        cmocka_unit_test(test_projects_of_one_organization_take_turns),
        cmocka_unit_test(test_another_organization_waits_for_one_job_whatever_stands_in_front),
        cmocka_unit_test(test_who_has_used_less_time_is_next),
        cmocka_unit_test(test_who_comes_anew_starts_where_the_others_stand),
        cmocka_unit_test(test_one_organization_leaves_threads_free_and_among_several_has_a_share),
        cmocka_unit_test(test_who_computes_has_half_of_the_processors_while_others_are_active),
        cmocka_unit_test(test_work_that_nobody_waits_for_has_a_share_also_when_it_is_alone),
        cmocka_unit_test(test_a_tenant_that_is_full_leaves_room_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
