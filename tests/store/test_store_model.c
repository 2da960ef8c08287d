/* Random histories against the naive server: after each step what is read is the canonical state
 * with the pending edits on it, and in the end every edit that was acknowledged counts exactly
 * once.
 *
 * Each edit adds 1 to a note of its own, so that a lost one shows as absent and a doubled one as 2.
 * Every history is a seed; KEDGE_STORE_SEED runs one alone. */
#include "tests/store/fixture.h"
#include "tests/support/sampling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EDITS_MAX 400

typedef enum fate {
    MADE,
    CANCELLED,
    GONE /* the folder was put back to a moment before it was sent: nobody can know of it */
} fate;

typedef struct model {
    fixture f;
    uint64_t seed;
    fate fates[EDITS_MAX];
    int edits;
    int backup_edits; /* how many there were when the backup was made */
    bool has_backup;
    bool restored;  /* the folder was, so that its tail may lack what the server has */
    int twin_edits; /* how many there were when the folder was copied; -1: no twin */
    char paths[2][160];
    bool verbose;
} model;

static uint64_t draw(model *m, uint64_t below)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (m->seed >> 33) % below;
}

/* ---- steps ---- */

static void edit(model *m)
{
    char args[128];
    if (m->edits == EDITS_MAX) return;
    snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1}", m->edits);
    fixture_mutate(&m->f, "add", args);
    m->fates[m->edits++] = MADE;
}

/* Edits of a few shared notes, which others edit too, and some of which the server will refuse. */
static void edit_shared(model *m)
{
    char args[128];
    kedge_error error = {0};
    static const char *const forms[] = {
        "{\"id\":\"s%d\",\"by\":7}",
        "{\"id\":\"s%d\",\"value\":[%d]}",
        "{\"id\":\"s%d\"}",
        "{\"id\":\"s%d\",\"limit\":%d}",
        "{}",
    };
    static const char *const names[] = {"add", "set", "remove", "refuse-over", "count-all"};
    size_t which = (size_t)draw(m, 5);
    snprintf(args, sizeof args, forms[which], (int)draw(m, 4), (int)draw(m, 50));
    kedge_status status = kedge_store_mutate(m->f.store, kedge_bytes_of(names[which]),
                                             kedge_bytes_of(args), NULL, &m->f.changes, &error);
    assert_true(status == KEDGE_OK || status == KEDGE_REJECTED);
}

static void edit_elsewhere(model *m)
{
    char args[64];
    if (m->f.server->version > NAIVE_VERSIONS - 100) return;
    snprintf(args, sizeof args, "{\"id\":\"s%d\",\"by\":%d}", (int)draw(m, 4), (int)draw(m, 60));
    naive_server_edit(m->f.server, "add", args);
}

static int64_t random_of(model *m,
                         kedge_status (*open)(kedge_store *, kedge_mutation_list **, kedge_error *),
                         int *note)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    int64_t found = 0;
    uint64_t seen = 0;
    *note = -1;
    assert_int_equal(open(m->f.store, &list, &m->f.error), KEDGE_OK);
    while (kedge_store_list_next(list, &mutation, &m->f.error) == KEDGE_OK) {
        if (draw(m, ++seen) != 0) continue;
        found = mutation.sequence;
        *note = -1;
        (void)sscanf(mutation.args, "{\"by\":1,\"id\":\"e%d\"}", note);
    }
    kedge_store_list_close(list);
    return found;
}

static void cancel(model *m)
{
    int note;
    int64_t sequence = random_of(m, kedge_store_pending_open, &note);
    if (sequence == 0) return;
    kedge_status status = kedge_store_cancel(m->f.store, sequence, &m->f.changes, &m->f.error);
    assert_true(status == KEDGE_OK || status == KEDGE_CONFLICT);
    if (status != KEDGE_OK || note < 0) return;
    /* The twin may have the same edit, and keep it; a folder put back may not know that it was
     * sent. */
    bool elsewhere = note < m->twin_edits || (m->restored && note < m->backup_edits);
    m->fates[note] = elsewhere ? GONE : CANCELLED;
}

/* As another process that has the folder open for a moment. */
static void edit_beside(model *m)
{
    kedge_store *ours = m->f.store;
    assert_int_equal(fixture_try_open(&m->f, m->f.path, &m->f.store), KEDGE_OK);
    for (uint64_t i = draw(m, 3); i < 3; i++)
        (draw(m, 2) == 0 ? edit : edit_shared)(m);
    if (draw(m, 5) == 0) cancel(m);
    kedge_store_close(m->f.store);
    m->f.store = ours;
}

static void dismiss_through(model *m, int64_t sequence)
{
    size_t dismissed = 0;
    int64_t before = fixture_position(&m->f).rejected;
    assert_int_equal(kedge_store_dismiss_through(m->f.store, sequence, &dismissed, &m->f.error),
                     KEDGE_OK);
    assert_in_range(dismissed, 1, before);
    assert_int_equal(fixture_position(&m->f).rejected, before - (int64_t)dismissed);
    assert_int_equal(kedge_store_dismiss(m->f.store, sequence, &m->f.error), KEDGE_NOT_FOUND);
}

static void clear_inbox(model *m)
{
    int note;
    int64_t sequence = random_of(m, kedge_store_rejected_open, &note);
    if (sequence == 0) return;
    int way = (int)draw(m, 3);
    if (way == 0) {
        dismiss_through(m, sequence);
    } else if (way == 1) {
        assert_int_equal(kedge_store_dismiss(m->f.store, sequence, &m->f.error), KEDGE_OK);
        assert_int_equal(kedge_store_dismiss(m->f.store, sequence, &m->f.error), KEDGE_NOT_FOUND);
    } else {
        kedge_status status =
            kedge_store_resubmit(m->f.store, sequence, NULL, &m->f.changes, &m->f.error);
        assert_true(status == KEDGE_OK || status == KEDGE_REJECTED);
    }
}

static void pull(model *m)
{
    m->f.server->paged = draw(m, 2) == 0;
    fixture_pull(&m->f);
}

static void push(model *m)
{
    if (m->f.server->version > NAIVE_VERSIONS - 100) return;
    naive_response response = fixture_push(&m->f);
    if (response == NAIVE_OK || response == NAIVE_GAP) return;
    assert_int_equal(fixture_try_rotate(&m->f), KEDGE_OK);
}

static void back_up(model *m)
{
    char path[200];
    if (m->twin_edits >= 0) return;
    snprintf(path, sizeof path, "%s/backup", m->f.folder);
    fixture_remove_tree(path);
    fixture_close(&m->f);
    fixture_copy_tree(m->f.path, path);
    fixture_open(&m->f);
    m->has_backup = true;
    m->backup_edits = m->edits;
}

static int64_t server_has(model *m, int note)
{
    char key[32];
    const char *state = m->f.server->states[m->f.server->version];
    snprintf(key, sizeof key, "\"notes/e%d\":", note);
    const char *at = strstr(state, key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void restore_folder(model *m)
{
    char path[200];
    if (!m->has_backup || m->twin_edits >= 0) return;
    m->restored = true;
    snprintf(path, sizeof path, "%s/backup", m->f.folder);
    fixture_close(&m->f);
    fixture_remove_tree(m->f.path);
    fixture_copy_tree(path, m->f.path);
    fixture_open(&m->f);
    for (int i = m->backup_edits; i < m->edits; i++)
        if (server_has(m, i) == 0) m->fates[i] = GONE;
    /* A cancel that the backup does not know: the edit may come back. */
    for (int i = 0; i < m->backup_edits; i++)
        if (m->fates[i] == CANCELLED) m->fates[i] = GONE;
}

/* The folder is copied, and both copies live on; or the other copy has its turn. */
static void twin(model *m)
{
    fixture_close(&m->f);
    if (m->twin_edits < 0) {
        memcpy(m->paths[0], m->f.path, sizeof m->f.path);
        snprintf(m->paths[1], sizeof m->paths[1], "%s/twin", m->f.folder);
        fixture_copy_tree(m->paths[0], m->paths[1]);
        m->twin_edits = m->edits;
    }
    bool second = strcmp(m->f.path, m->paths[0]) == 0;
    memcpy(m->f.path, m->paths[second], sizeof m->f.path);
    fixture_open(&m->f);
}

static void restore_server(model *m)
{
    bool had[EDITS_MAX];
    if (m->f.server->version < 3) return;
    for (int i = 0; i < m->edits; i++)
        had[i] = server_has(m, i) > 0;
    naive_server_restore(m->f.server, m->f.server->version - 1 - (int64_t)draw(m, 3));
    /* Nobody has what only a folder knew that is no more. */
    for (int i = 0; i < m->edits; i++)
        if (m->restored && had[i] && server_has(m, i) == 0) m->fates[i] = GONE;
}

static void snapshot(model *m)
{
    m->f.server->snapshot = m->f.server->version;
    m->f.server->entries_max = 1 + (uint32_t)draw(m, 5);
}

static void lose_cache(model *m)
{
    char path[200];
    fixture_close_flat(&m->f);
    snprintf(path, sizeof path, "%s/cache.db", m->f.path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fputs("this is no database at all", file);
    fclose(file);
    fixture_open(&m->f);
    assert_true(fixture_position(&m->f).resyncing);
}

/* ---- a history ---- */

static void step(model *m)
{
    static const struct {
        uint32_t weight;
        const char *name;
        void (*run)(model *m);
    } steps[] = {
        {30, "edit", edit},
        {20, "edit shared", edit_shared},
        {15, "elsewhere", edit_elsewhere},
        {20, "push", push},
        {25, "pull", pull},
        {8, "cancel", cancel},
        {6, "inbox", clear_inbox},
        {3, "back up", back_up},
        {2, "restore folder", restore_folder},
        {4, "twin", twin},
        {2, "restore server", restore_server},
        {2, "lose cache", lose_cache},
        {15, "beside", edit_beside},
        {5, "snapshot", snapshot}, /* of a log project */
    };
    uint64_t at = draw(m, m->f.server->log ? 157 : 152);
    size_t i = 0;
    while (at >= steps[i].weight)
        at -= steps[i++].weight;
    if (m->verbose) print_message("%s\n", steps[i].name);
    steps[i].run(m);
}

static void reopen_sometimes(model *m)
{
    if (draw(m, 10) == 0) fixture_reopen(&m->f);
}

static void check_end(model *m)
{
    for (int i = 0; i < 4 && m->twin_edits >= 0; i++) {
        fixture_sync(&m->f);
        twin(m);
    }
    fixture_sync(&m->f);
    fixture_check(&m->f);
    char *visible = fixture_dump(m->f.store, false);
    assert_string_equal(visible, m->f.server->states[m->f.server->version]);
    free(visible);
    for (int i = 0; i < m->edits; i++) {
        int64_t count = server_has(m, i);
        if (m->fates[i] == MADE && count != 1)
            fail_msg("edit %d counts %lld times", i, (long long)count);
        if (m->fates[i] == CANCELLED) assert_int_equal(count, 0);
        if (m->fates[i] == GONE) assert_true(count <= 1);
    }
}

static void run_history(uint64_t seed, int steps, bool verbose, bool log)
{
    model *m = calloc(1, sizeof *m);
    fixture_begin(&m->f);
    m->f.server->log = log;
    m->seed = seed;
    m->verbose = verbose;
    m->twin_edits = -1;
    m->f.seed = seed;
    m->f.options.observer = fixture_in_company;
    fixture_open(&m->f);
    for (int i = 0; i < steps; i++) {
        step(m);
        reopen_sometimes(m);
        /* A cache that was lost shows less than the server's state until it is back. */
        fixture_check(&m->f);
    }
    check_end(m);
    fixture_end(&m->f);
    free(m);
}

static void run_histories(bool log)
{
    const char *one = getenv("KEDGE_STORE_SEED");
    const char *many = getenv("KEDGE_STORE_SEEDS");
    uint64_t seeds = many ? strtoull(many, NULL, 10) : 25 / SAMPLING_FEWER;
    if (one) {
        run_history(strtoull(one, NULL, 10), 120, true, log);
        return;
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run_history(seed, 120, false, log);
    }
}

static void test_any_history_reads_canonical_and_pending_and_counts_each_edit_once(void **state)
{
    (void)state;
    run_histories(false);
}

/* The server's states are the fold of all its entries. The client replays them, from the start or
 * after a snapshot, and in pieces of any size. */
static void test_any_history_of_a_log_project_reads_the_replay_of_its_entries(void **state)
{
    (void)state;
    run_histories(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_history_reads_canonical_and_pending_and_counts_each_edit_once),
        cmocka_unit_test(test_any_history_of_a_log_project_reads_the_replay_of_its_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
