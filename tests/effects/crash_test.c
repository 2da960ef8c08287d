/* The reader with its handler, the worker and a run over the logs end at each call of a port in
 * turn; others go on. In the end the logs and the blobs are those of a run without faults. */
#include "tests/effects/effects_world.h"

#include "backend/effects/reprocess.h"

#include <stdio.h>
#include <string.h>

#define POINTS 24 /* calls of ports, in four ways, of which every third is taken */

typedef enum victim { READER, WORKER, REPROCESS, VICTIMS } victim;

/* A body whose tag stayed, and two snapshots to be made. */
static const kedge_log *write_log(effects_world *here, const char *name)
{
    bool created;
    kedge_log_append_result result;
    const kedge_log *log = log_named(here->world, name);
    assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
    world_arm(here->world, WORLD_FAULT_BEFORE, 5, false, false); /* the removal of the tag */
    assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, effects_large(), &result, NULL), KEDGE_OK);
    world_disarm(here->world);
    effects_ask(log);
    return log;
}

static kedge_status read_once(effects_world *here)
{
    kedge_stream_reader *reader;
    kedge_stream_round round = {.more = true};
    kedge_error error = {0};
    const kedge_stream_reader_options options = effects_reader_options(here);
    assert_int_equal(kedge_stream_reader_new(&options, &reader, NULL), KEDGE_OK);
    kedge_status status = KEDGE_OK;
    /* The lease of the reader before may have to end first. */
    while (status == KEDGE_OK && (round.more || round.shards == 0))
        status = kedge_stream_reader_round(reader, &round, &error);
    kedge_stream_reader_free(reader);
    return status;
}

static kedge_status work_once(effects_world *here, const char *name)
{
    char message[128];
    kedge_snapshot_outcome outcome;
    const kedge_environment *environment = &here->world->environment;
    const kedge_snapshot_worker worker = effects_worker(here);
    snprintf(message, sizeof message,
             "{\"log\":\"%s\",\"organization\":\"acme\",\"project\":\"notes\"}", name);
    return kedge_snapshot_work(&worker, kedge_bytes_of(message),
                               environment->monotonic_ms(environment->context) + 60000, &outcome,
                               NULL);
}

static kedge_status reprocess_once(effects_world *here)
{
    kedge_reprocess_result result;
    kedge_project project = kedge_project_of(here->world->backend, &notes);
    return kedge_reprocess_logs(&here->effects, &project, 1, &result, NULL);
}

/* Everything stops at a call, or that call alone fails; before it does its work, or after it.
 * Whether the victim succeeded. */
static bool end_at(effects_world *here, victim who, const char *name, uint64_t point)
{
    if (who == WORKER) effects_read(here);
    if (who == REPROCESS) effects_expire(here);
    world_arm(here->world, point % 4 < 2 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, point / 4,
              point % 2 == 0, false);
    kedge_status status = who == READER   ? read_once(here)
                          : who == WORKER ? work_once(here, name)
                                          : reprocess_once(here);
    world_disarm(here->world);
    return status == KEDGE_OK;
}

static void end_at_each_call(effects_world *here, victim who)
{
    size_t ended = 0;
    for (uint64_t point = 4; point < 4 * POINTS; point += 3) {
        char name[32];
        /* The newest is the first by name, which a run over the logs comes to at once. */
        snprintf(name, sizeof name, "log-%d-%d", who, 999 - (int)point);
        const kedge_log *log = write_log(here, name);
        ended += !end_at(here, who, name, point);
        if (who == REPROCESS)
            assert_int_equal(reprocess_once(here), KEDGE_OK);
        else
            effects_read(here);
        effects_work(here);
        assert_string_equal(effects_text(log), "0 Snapshot*|1 set|2 Snapshot*");
        assert_int_equal(log_segment(log, 0).last_snapshot, 2);
        assert_int_equal(effects_tagged(here), 0);
    }
    assert_true(ended > 4);
}

static void test_a_reader_that_ends_at_any_call(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    end_at_each_call(&here, READER);
    effects_end(&here);
}

static void test_a_worker_that_ends_at_any_call(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    end_at_each_call(&here, WORKER);
    effects_end(&here);
}

static void test_a_run_over_the_logs_that_ends_at_any_call(void **state)
{
    effects_world here;
    effects_begin(&here, *state);
    end_at_each_call(&here, REPROCESS);
    effects_end(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_reader_that_ends_at_any_call),
        OVER_BOTH(test_a_worker_that_ends_at_any_call),
        OVER_BOTH(test_a_run_over_the_logs_that_ends_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
