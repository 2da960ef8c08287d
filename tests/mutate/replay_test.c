/* Replay decides as the entry says, or as the mutator says, or not at all; and the hash of a state
 * has the same bytes everywhere. */
#include "mutate/replay.h"
#include "mutate/state_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/mutate/tx_fixture.h"

static kedge_status set(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                        kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "cells", "a", 1, args, args_size, error);
}

static kedge_status refuse(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                           kedge_error *error)
{
    kedge_status status = kedge_tx_put(tx, "cells", "b", 1, args, args_size, error);
    (void)userdata;
    return status == KEDGE_OK ? kedge_tx_reject(tx, "no-way", "not today", error) : status;
}

static kedge_status read_cell(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    const char *value;
    size_t size;
    (void)args;
    (void)args_size;
    (void)userdata;
    return kedge_tx_get(tx, "cells", "a", 1, &value, &size, error);
}

static const kedge_mutator mutators[] = {
    {"set", 2, set, NULL}, {"refuse", 1, refuse, NULL}, {"read", 1, read_cell, NULL}};

static void open_fixture(tx_fixture *fixture)
{
    assert_true(tx_fixture_open(fixture, &kedge_allocator_default, mutators, 3));
}

static kedge_replay_mutation mutation_of(const char *name, int64_t version)
{
    return (kedge_replay_mutation){
        .call = {.name = kedge_bytes_of(name),
                 .args = KEDGE_BYTES("7"),
                 .args_are_canonical = true,
                 .caller = {.user = "u", .role = "editor", .client = "c", .now_ms = 1}},
        .mutator = version};
}

static kedge_status decide(tx_fixture *fixture, const kedge_replay_mutation *mutation,
                           kedge_replay_decision *decision)
{
    return kedge_replay_decide(fixture->tx, fixture->registry, mutation, decision, &fixture->error);
}

static void test_an_open_mutation_is_decided_by_its_mutator(void **state)
{
    tx_fixture fixture;
    kedge_replay_decision decision;
    kedge_replay_mutation mutation = mutation_of("set", 1);
    (void)state;
    open_fixture(&fixture);
    assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_OK);
    assert_int_equal(decision.outcome, KEDGE_REPLAY_APPLIED);
    assert_string_equal(decision.code, "");
    assert_string_equal(tx_fixture_item(&fixture, "cells", "a"), "7");
    mutation = mutation_of("refuse", 1);
    assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_OK);
    assert_int_equal(decision.outcome, KEDGE_REPLAY_REJECTED);
    assert_string_equal(decision.code, "no-way");
    assert_string_equal(decision.message, "not today");
    assert_null(tx_fixture_item(&fixture, "cells", "b"));
    tx_fixture_close(&fixture);
}

static void test_what_the_entry_decides_is_not_run(void **state)
{
    static const kedge_replay_outcome decided[] = {KEDGE_REPLAY_REJECTED, KEDGE_REPLAY_DUPLICATE,
                                                   KEDGE_REPLAY_DUPLICATE_REJECTED};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        tx_fixture fixture;
        kedge_replay_decision decision;
        kedge_replay_mutation mutation = mutation_of("set", 9);
        mutation.decided = decided[i];
        bool rejected = decided[i] != KEDGE_REPLAY_DUPLICATE;
        if (rejected) mutation.code = KEDGE_BYTES("bad");
        open_fixture(&fixture);
        assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_OK);
        assert_int_equal(decision.outcome, decided[i]);
        assert_string_equal(decision.code, rejected ? "bad" : "");
        assert_null(tx_fixture_item(&fixture, "cells", "a"));
        tx_fixture_close(&fixture);
    }
}

static void test_a_mutator_that_is_missing_or_older_decides_nothing(void **state)
{
    static const struct {
        const char *name;
        int64_t version;
    } cases[] = {{"nobody", 1}, {"set", 3}, {"", 1}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        tx_fixture fixture;
        kedge_replay_decision decision = {.outcome = KEDGE_REPLAY_OPEN};
        kedge_replay_mutation mutation = mutation_of(cases[i].name, cases[i].version);
        open_fixture(&fixture);
        assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_UNSUPPORTED);
        assert_string_equal(fixture.error.code, "update-required");
        assert_non_null(strstr(fixture.error.message, cases[i].name));
        assert_int_equal(decision.outcome, KEDGE_REPLAY_OPEN);
        assert_null(tx_fixture_item(&fixture, "cells", "a"));
        tx_fixture_close(&fixture);
    }
}

static void test_a_read_that_fails_decides_nothing(void **state)
{
    tx_fixture fixture;
    kedge_replay_decision decision = {.outcome = KEDGE_REPLAY_OPEN};
    kedge_replay_mutation mutation = mutation_of("read", 1);
    (void)state;
    open_fixture(&fixture);
    fixture.fail_read = 1;
    assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_IO);
    assert_string_equal(fixture.error.code, "read-failed");
    assert_int_equal(decision.outcome, KEDGE_REPLAY_OPEN);
    tx_fixture_close(&fixture);
}

static void test_a_long_message_is_cut_at_a_character(void **state)
{
    tx_fixture fixture;
    kedge_replay_decision decision;
    kedge_replay_mutation mutation = mutation_of("set", 1);
    char message[300];
    (void)state;
    memset(message, 'm', sizeof message);
    memcpy(message + 254, "\xc3\xa9", 2);
    mutation.decided = KEDGE_REPLAY_REJECTED;
    mutation.message = (kedge_bytes){message, sizeof message};
    open_fixture(&fixture);
    assert_int_equal(decide(&fixture, &mutation, &decision), KEDGE_OK);
    assert_int_equal(strlen(decision.message), 254);
    assert_string_equal(decision.code, "rejected");
    tx_fixture_close(&fixture);
}

/* Computed with Python: hashlib.sha256 over struct.pack("<I", …) and the texts. */
static void test_the_hash_of_a_state_has_these_bytes(void **state)
{
    kedge_state_hash hash;
    uint8_t bytes[KEDGE_SHA256_SIZE];
    char hex[KEDGE_SHA256_HEX];
    (void)state;
    kedge_state_hash_begin(&hash);
    kedge_state_hash_end(&hash, bytes);
    kedge_hex_encode(bytes, sizeof bytes, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    kedge_state_hash_begin(&hash);
    kedge_state_hash_add(&hash, KEDGE_BYTES(""), KEDGE_BYTES(""), KEDGE_BYTES("{\"name\":\"x\"}"));
    kedge_state_hash_add(&hash, KEDGE_BYTES("cells"), KEDGE_BYTES(""), KEDGE_BYTES("1"));
    kedge_state_hash_add(&hash, KEDGE_BYTES("cells"), KEDGE_BYTES("a/b"), KEDGE_BYTES("[1,2]"));
    kedge_state_hash_end(&hash, bytes);
    kedge_hex_encode(bytes, sizeof bytes, hex);
    assert_string_equal(hex, "bc5a4b65c53c2a19cff326e7d75edc306edacbee0bcbbc6be68c3f61c607179e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_open_mutation_is_decided_by_its_mutator),
        cmocka_unit_test(test_what_the_entry_decides_is_not_run),
        cmocka_unit_test(test_a_mutator_that_is_missing_or_older_decides_nothing),
        cmocka_unit_test(test_a_read_that_fails_decides_nothing),
        cmocka_unit_test(test_a_long_message_is_cut_at_a_character),
        cmocka_unit_test(test_the_hash_of_a_state_has_these_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
