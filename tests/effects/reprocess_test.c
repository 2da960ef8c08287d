/* Going through the logs themselves: after changes that expired unread, from a time on, after a
 * run that ended in between, around what cannot be read. */
#include "tests/effects/effects_world.h"

#include "backend/effects/reprocess.h"

#include <stdio.h>
#include <string.h>

#define LOGS 3

static const char *const names[LOGS] = {"journal", "ledger", "zebra"};

static kedge_status reprocess(effects_world *here, int64_t since_s, kedge_reprocess_result *result,
                              kedge_error *error)
{
    kedge_project project = kedge_project_of(here->world->backend, &notes);
    return kedge_reprocess_logs(&here->effects, &project, since_s, result, error);
}

static void must_reprocess(effects_world *here, int64_t since_s, kedge_reprocess_result *result)
{
    kedge_error error = {0};
    if (reprocess(here, since_s, result, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
}

static bool has_progress(effects_world *here)
{
    const kedge_records *records = &here->world->store_records;
    kedge_record_set set = {0};
    const kedge_records_query query = {
        .partition = KEDGE_BYTES("Reprocess#acme/notes"), .limit = 1, .consistent = true};
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    bool found = set.count > 0;
    kedge_record_set_free(&set);
    return found;
}

/* Three logs: a body whose tag stayed, entries for two pages, two Snapshot entries. */
static void write_logs(effects_world *here)
{
    for (size_t i = 0; i < LOGS; i++) {
        bool created;
        kedge_log_append_result result;
        const kedge_log *log = log_named(here->world, names[i]);
        assert_int_equal(kedge_log_create(log, &created, NULL), KEDGE_OK);
        world_arm(here->world, WORLD_FAULT_BEFORE, 5, false, false); /* the removal of the tag */
        assert_int_equal(log_add_at(log, KEDGE_LOG_AT_END, effects_large(), &result, NULL),
                         KEDGE_OK);
        world_disarm(here->world);
        for (int n = 0; n < KEDGE_REPROCESS_PAGE + 50; n++)
            log_add(log, "1");
        effects_ask(log);
    }
    assert_int_equal(effects_tagged(here), LOGS);
}

static void assert_done(effects_world *here)
{
    assert_int_equal(effects_tagged(here), 0);
    for (size_t i = 0; i < LOGS; i++) {
        const char *text = effects_text(log_named(here->world, names[i]));
        assert_non_null(strstr(text, "0 Snapshot*|1 set|"));
        assert_non_null(strstr(text, "|152 Snapshot*"));
        assert_null(strstr(text, "pending"));
    }
}

/* The stream's records are gone; what the logs and the bucket have in the end is the same. */
static void test_changes_that_expired_unread_are_made_up_for(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    effects_begin(&here, *state);
    effects_read(&here); /* it is at the stream's beginning */
    write_logs(&here);
    effects_expire(&here);
    effects_read(&here);
    assert_int_equal(effects_work(&here), 0);
    assert_int_equal(effects_tagged(&here), LOGS);
    must_reprocess(&here, 1, &result);
    assert_false(result.continued);
    assert_int_equal(result.logs, LOGS);
    assert_int_equal(result.entries, LOGS * 153);
    assert_int_equal(result.bodies, LOGS);
    assert_int_equal(result.snapshots, LOGS * 2);
    assert_int_equal(effects_work(&here), LOGS * 2);
    assert_done(&here);
    assert_false(has_progress(&here));
    /* Again: there is nothing to do. */
    must_reprocess(&here, 1, &result);
    assert_int_equal(result.snapshots, 0);
    assert_int_equal(effects_work(&here), 0);
    assert_done(&here);
    effects_end(&here);
}

/* A run ends at each call of a port in turn; another one goes on. */
static void test_a_run_that_ended_at_any_call_is_gone_on_with(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    kedge_error error = {0};
    effects_begin(&here, *state);
    write_logs(&here);
    size_t crashes = 0, continued = 0;
    for (uint64_t point = 1;; point += 1 + point / 16) {
        world_arm(here.world, point % 2 == 0 ? WORLD_FAULT_BEFORE : WORLD_FAULT_AFTER, point, true,
                  false);
        kedge_status status = reprocess(&here, 1, &result, &error);
        world_disarm(here.world);
        if (status == KEDGE_OK) break;
        crashes++;
        world_restart(here.world);
        effects_rebind(&here);
        must_reprocess(&here, 1, &result);
        continued += result.continued;
        effects_work(&here);
        assert_done(&here);
        assert_false(has_progress(&here));
    }
    assert_true(crashes > 10);
    assert_true(continued > 3);
    effects_end(&here);
}

/* It goes on at the log and the page where it stood, and does not begin anew. */
static void test_a_run_goes_on_where_another_one_stood(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    kedge_error error = {0};
    effects_begin(&here, *state);
    write_logs(&here);
    uint64_t point = 1;
    do {
        world_arm(here.world, WORLD_FAULT_BEFORE, point++, true, false);
        assert_int_not_equal(reprocess(&here, 1, &result, &error), KEDGE_OK);
        world_disarm(here.world);
    } while (result.logs < 1 && result.entries < 153 + KEDGE_REPROCESS_PAGE);
    must_reprocess(&here, 1, &result);
    assert_true(result.continued);
    assert_true(result.entries < LOGS * 153);
    effects_work(&here);
    assert_done(&here);
    effects_end(&here);
}

static void test_entries_from_before_the_time_are_left_out(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    effects_begin(&here, *state);
    write_logs(&here);
    int64_t now_s = here.environment.now_ms(here.environment.context) / 1000;
    must_reprocess(&here, now_s + KEDGE_REPROCESS_SKEW_S + 1000, &result);
    assert_int_equal(result.logs, LOGS);
    assert_int_equal(result.entries, 0);
    assert_int_equal(effects_tagged(&here), LOGS);
    must_reprocess(&here, now_s, &result);
    assert_int_equal(result.entries, LOGS * 153);
    assert_int_equal(effects_tagged(&here), 0);
    effects_end(&here);
}

/* An entry that no program knows is told; what stands after it is done. */
static void test_an_entry_that_cannot_be_read_is_passed_over(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    effects_begin(&here, *state);
    here.effects.passed = NULL;
    const kedge_log *log = journal_new(here.world);
    log_add(log, "1");
    const kedge_log_entry odd = {.at = {.segment = 0, .num = 2},
                                 .created_s = 1,
                                 .type = KEDGE_BYTES("End Segment"),
                                 .version = 7,
                                 .id = {1}};
    log_put_entry(here.world, log, &odd);
    const kedge_log_entry behind = {.at = {.segment = 0, .num = 3},
                                    .created_s = 1,
                                    .type = KEDGE_BYTES("Snapshot"),
                                    .version = 1,
                                    .id = {2}};
    log_put_entry(here.world, log, &behind);
    must_reprocess(&here, 1, &result);
    assert_int_equal(result.passed, 1);
    assert_int_equal(result.entries, 3);
    assert_int_equal(result.snapshots, 2);
    effects_end(&here);
}

/* The record of its segment is none: what the logs behind it lack is made up for. */
static void test_a_log_that_is_damaged_holds_up_no_other(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    effects_begin(&here, *state);
    write_logs(&here);
    const kedge_log *damaged = log_named(here.world, names[0]);
    const kedge_records *records = &here.world->store_records;
    kedge_log_key partition = kedge_log_key_segments(damaged), sort = kedge_log_key_num(0);
    const kedge_attribute nothing = {"C", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES("?"), 0};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_log_key_bytes(&partition), kedge_log_key_bytes(&sort)}, &nothing, 1}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    must_reprocess(&here, 1, &result);
    assert_int_equal(result.passed, 1);
    assert_int_equal(here.passed, 1);
    assert_int_equal(result.logs, LOGS - 1);
    assert_int_equal(effects_tagged(&here), 1);
    assert_false(has_progress(&here));
    effects_end(&here);
}

/* Nobody can be at work with a record without a revision: everything is gone through anew. */
static void test_a_damaged_record_of_progress_is_replaced(void **state)
{
    effects_world here;
    kedge_reprocess_result result;
    effects_begin(&here, *state);
    write_logs(&here);
    const kedge_records *records = &here.world->store_records;
    const kedge_attribute attributes[] = {
        {.name = "since", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1},
        {.name = "next", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 7},
        {.name = "log", .type = KEDGE_ATTRIBUTE_TEXT, .bytes = KEDGE_BYTES("nowhere")},
        {.name = "revision", .type = KEDGE_ATTRIBUTE_TEXT, .bytes = KEDGE_BYTES("?")}};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("Reprocess#acme/notes"), KEDGE_BYTES("Logs")}, attributes, 4}};
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    must_reprocess(&here, 1, &result);
    assert_false(result.continued);
    assert_int_equal(result.logs, LOGS);
    effects_work(&here);
    assert_done(&here);
    assert_false(has_progress(&here));
    effects_end(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_changes_that_expired_unread_are_made_up_for),
        OVER_BOTH(test_a_run_that_ended_at_any_call_is_gone_on_with),
        OVER_BOTH(test_a_run_goes_on_where_another_one_stood),
        OVER_BOTH(test_entries_from_before_the_time_are_left_out),
        OVER_BOTH(test_a_log_that_is_damaged_holds_up_no_other),
        OVER_BOTH(test_a_damaged_record_of_progress_is_replaced),
        OVER_BOTH(test_an_entry_that_cannot_be_read_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
