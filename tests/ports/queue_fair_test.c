/* The contract of the queue port, continued: which owner is next. Run against every implementation
 * of the table that it is linked with; SQS knows of no owners. */
#include "tests/ports/queue_table.h"

#include <stdio.h>
#include <string.h>

#define LONG_MS 60000
#define OWNERS  6
#define GROUPS  5 /* of an owner */
#define STEPS   3000

static const queue_implementation *current;

typedef struct fixture {
    world around;
    kedge_queue queue;
    int sent;
    uint64_t seed;
} fixture;

/* ---- short forms ---- */

static void send(fixture *f, const char *owner, const char *group)
{
    char body[16];
    snprintf(body, sizeof body, "%d", ++f->sent);
    kedge_bytes text = kedge_bytes_of(body);
    assert_ok(f->queue.vtable->send(f->queue.self, kedge_bytes_of(owner), kedge_bytes_of(group),
                                    text, text, NULL));
}

/* So many messages of the owner in each of so many groups. */
static void send_many(fixture *f, const char *owner, int groups, int messages)
{
    for (int i = 0; i < groups * messages; i++) {
        char group[32];
        snprintf(group, sizeof group, "%s/%d", owner, i % groups);
        send(f, owner, group);
    }
}

static void receive(fixture *f, uint32_t count, kedge_queue_batch *batch)
{
    *batch = (kedge_queue_batch){0};
    assert_ok(f->queue.vtable->receive(f->queue.self, count, LONG_MS, 0, NULL, batch, NULL));
}

static void done(fixture *f, const kedge_queue_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        assert_ok(f->queue.vtable->done(f->queue.self, batch->messages[i].receipt, NULL));
}

/* The groups of a batch, joined by spaces, each once. */
static void groups_of(const kedge_queue_batch *batch, char *seen, size_t size)
{
    size_t used = 0;
    seen[0] = '\0';
    for (size_t i = 0; i < batch->count; i++) {
        kedge_bytes group = batch->messages[i].group;
        if (i > 0 && kedge_bytes_equal(group, batch->messages[i - 1].group)) continue;
        used += (size_t)snprintf(seen + used, size - used, "%s%.*s", used == 0 ? "" : " ",
                                 (int)group.size, group.data);
    }
}

/* Receives up to ten messages, of these groups, and is done with them. */
static void take(fixture *f, const char *expected)
{
    char seen[256];
    kedge_queue_batch batch;
    receive(f, 10, &batch);
    groups_of(&batch, seen, sizeof seen);
    assert_string_equal(seen, expected);
    done(f, &batch);
    kedge_queue_batch_free(&batch);
}

/* Which receive gives a message of the group; those before it stay in flight. */
static int receives_until(fixture *f, const char *group)
{
    for (int receives = 1;; receives++) {
        kedge_queue_batch batch;
        receive(f, 10, &batch);
        assert_true(batch.count > 0);
        bool found = kedge_bytes_equal_text(batch.messages[0].group, group);
        kedge_queue_batch_free(&batch);
        if (found) return receives;
    }
}

/* ---- owners ---- */

static void test_a_message_waits_for_one_turn_of_another_owner(void **state)
{
    fixture *f = *state;
    send_many(f, "noisy", 200, 2);
    send(f, "quiet", "q");
    assert_in_range(receives_until(f, "q"), 1, 2);
}

static void test_so_it_does_when_all_messages_are_of_one_group(void **state)
{
    fixture *f = *state;
    kedge_queue_batch batch;
    send_many(f, "noisy", 1, 400);
    send(f, "quiet", "q");
    receive(f, 10, &batch);
    done(f, &batch);
    kedge_queue_batch_free(&batch);
    assert_int_equal(receives_until(f, "q"), 1);
}

static void test_owners_take_turns(void **state)
{
    fixture *f = *state;
    send_many(f, "a", 3, 1);
    send_many(f, "b", 1, 15);
    send_many(f, "c", 2, 1);
    take(f, "a/0");
    take(f, "b/0");
    take(f, "c/0");
    take(f, "a/1");
    take(f, "b/0");
    take(f, "c/1");
    take(f, "a/2");
    take(f, "");
}

static void test_the_only_owner_that_waits_fills_a_receive(void **state)
{
    fixture *f = *state;
    send_many(f, "a", 4, 2);
    take(f, "a/0 a/1 a/2 a/3");
    send_many(f, "a", 4, 2);
    send(f, "b", "b");
    take(f, "a/0");
    take(f, "b");
    take(f, "a/1 a/2 a/3");
}

static void test_who_comes_anew_goes_behind_those_who_wait(void **state)
{
    fixture *f = *state;
    send_many(f, "a", 8, 1);
    send_many(f, "b", 8, 1);
    for (int i = 0; i < 4; i++) {
        char group[8];
        send(f, "c", "c");
        snprintf(group, sizeof group, "a/%d", i);
        take(f, group);
        group[0] = 'b';
        take(f, group);
        take(f, "c");
    }
}

/* ---- admission ---- */

typedef struct asked {
    char owners[32];   /* that were asked about, in order */
    const char *taken; /* those that may be */
} asked;

static bool may_take(void *context, kedge_bytes owner)
{
    asked *self = context;
    size_t used = strlen(self->owners);
    snprintf(self->owners + used, sizeof self->owners - used, "%.*s", (int)owner.size, owner.data);
    char name[2] = {owner.data[0], '\0'};
    return strstr(self->taken, name) != NULL;
}

static void take_of(fixture *f, const char *taken, const char *owners, const char *expected)
{
    char seen[256];
    asked self = {.taken = taken};
    kedge_queue_admission admission = {may_take, &self};
    kedge_queue_batch batch = {0};
    assert_ok(f->queue.vtable->receive(f->queue.self, 10, LONG_MS, 0, &admission, &batch, NULL));
    groups_of(&batch, seen, sizeof seen);
    assert_string_equal(seen, expected);
    assert_string_equal(self.owners, owners);
    done(f, &batch);
    kedge_queue_batch_free(&batch);
}

static void test_a_receive_takes_from_the_owners_that_it_may(void **state)
{
    fixture *f = *state;
    take_of(f, "abc", "", "");
    send_many(f, "a", 2, 1);
    take_of(f, "bc", "a", "");
    send_many(f, "b", 2, 1);
    send_many(f, "c", 2, 1);
    take_of(f, "bc", "ab", "b/0");
    take_of(f, "", "acb", "");
    take_of(f, "abc", "a", "a/0"); /* who was refused has kept its place */
    take_of(f, "ab", "cb", "b/1");
    take_of(f, "a", "ca", "a/1");
    take_of(f, "c", "c", "c/0 c/1");
}

static void test_no_more_owners_are_asked_than_the_bound(void **state)
{
    fixture *f = *state;
    for (char owner[2] = "A"; owner[0] <= 'Z'; owner[0]++)
        send_many(f, owner, 1, 1);
    take_of(f, "YZ", "ABCDEFGHIJKLMNOPQRSTUVWX", "");
    take_of(f, "X", "ABCDEFGHIJKLMNOPQRSTUVWX", "X/0");
}

/* ---- groups ---- */

static void test_groups_of_an_owner_take_turns(void **state)
{
    fixture *f = *state;
    send_many(f, "a", 1, 40);
    send(f, "a", "other");
    send_many(f, "b", 1, 40); /* so that each receive serves one group */
    take(f, "a/0");
    take(f, "b/0");
    take(f, "other");
    take(f, "b/0");
    take(f, "a/0");
}

static void test_a_group_with_new_messages_goes_behind_those_that_wait(void **state)
{
    fixture *f = *state;
    send_many(f, "a", 3, 1);
    send_many(f, "b", 9, 1);
    take(f, "a/0");
    send(f, "a", "a/0");
    take(f, "b/0");
    take(f, "a/1");
    take(f, "b/1");
    take(f, "a/2");
    take(f, "b/2");
    take(f, "a/0");
}

/* ---- any order ---- */

static uint64_t draw(fixture *f, uint64_t bound)
{
    uint64_t z = (f->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
}

/* What waits, and how often others were served since it waits or was served itself. */
typedef struct ledger {
    int waiting[OWNERS][GROUPS];
    bool in_flight[OWNERS][GROUPS];
    int others[OWNERS][OWNERS];               /* of the second since the first waits */
    int other_groups[OWNERS][GROUPS][GROUPS]; /* the same in an owner */
} ledger;

static bool group_waits(const ledger *all, size_t owner, size_t group)
{
    return all->waiting[owner][group] > 0 && !all->in_flight[owner][group];
}

static bool owner_waits(const ledger *all, size_t owner)
{
    for (size_t group = 0; group < GROUPS; group++)
        if (group_waits(all, owner, group)) return true;
    return false;
}

static void note_served(ledger *all, size_t owner, size_t group)
{
    for (size_t other = 0; other < OWNERS; other++) {
        if (other == owner || !owner_waits(all, other)) continue;
        assert_in_range(++all->others[other][owner], 1, 1);
    }
    memset(all->others[owner], 0, sizeof all->others[owner]);
    for (size_t other = 0; other < GROUPS; other++) {
        if (other == group || !group_waits(all, owner, other)) continue;
        assert_in_range(++all->other_groups[owner][other][group], 1, 1);
    }
    memset(all->other_groups[owner][group], 0, sizeof all->other_groups[owner][group]);
}

static void forget_what_does_not_wait(ledger *all)
{
    for (size_t owner = 0; owner < OWNERS; owner++) {
        if (!owner_waits(all, owner)) memset(all->others[owner], 0, sizeof all->others[owner]);
        for (size_t group = 0; group < GROUPS; group++) {
            if (!group_waits(all, owner, group))
                memset(all->other_groups[owner][group], 0, sizeof all->other_groups[owner][group]);
        }
    }
}

static void group_name(size_t owner, size_t group, char name[16])
{
    snprintf(name, 16, "%zu%zu", owner, group);
}

static void send_to(fixture *f, ledger *all, size_t owner, size_t group)
{
    char name[16], of[2] = {(char)('0' + owner), '\0'};
    group_name(owner, group, name);
    send(f, of, name);
    all->waiting[owner][group]++;
}

static void receive_one(fixture *f, ledger *all, kedge_queue_batch *batch)
{
    receive(f, 1 + (uint32_t)draw(f, 3), batch);
    size_t owners = 0;
    for (size_t owner = 0; owner < OWNERS; owner++)
        owners += owner_waits(all, owner);
    if (batch->count == 0) {
        assert_int_equal(owners, 0);
        return;
    }
    size_t owner = (size_t)(batch->messages[0].group.data[0] - '0');
    size_t group = (size_t)(batch->messages[0].group.data[1] - '0');
    assert_true(group_waits(all, owner, group));
    note_served(all, owner, group);
    for (size_t i = 0; i < batch->count; i++) {
        kedge_bytes name = batch->messages[i].group;
        assert_int_equal(name.data[0] - '0', owner);
        if (owners > 1) assert_int_equal(name.data[1] - '0', group);
        all->in_flight[owner][name.data[1] - '0'] = true;
        all->waiting[owner][name.data[1] - '0']--;
    }
    forget_what_does_not_wait(all);
}

static void finish(fixture *f, ledger *all, kedge_queue_batch *batch)
{
    done(f, batch);
    for (size_t i = 0; i < batch->count; i++) {
        kedge_bytes name = batch->messages[i].group;
        all->in_flight[name.data[0] - '0'][name.data[1] - '0'] = false;
    }
    kedge_queue_batch_free(batch);
}

static void test_whatever_waits_has_its_turn_after_one_of_each_other(void **state)
{
    fixture *f = *state;
    static ledger all;
    kedge_queue_batch hands[3] = {{0}};
    memset(&all, 0, sizeof all);
    f->seed = 1;
    for (int i = 0; i < STEPS; i++) {
        kedge_queue_batch *hand = &hands[draw(f, 3)];
        size_t owner = (size_t)draw(f, OWNERS), group = (size_t)draw(f, GROUPS);
        if (draw(f, 2) == 0)
            send_to(f, &all, owner < OWNERS / 2 ? 0 : owner,
                    group); /* one sends more than others */
        else if (hand->count > 0)
            finish(f, &all, hand);
        else
            receive_one(f, &all, hand);
    }
    for (size_t i = 0; i < 3; i++)
        kedge_queue_batch_free(&hands[i]);
}

/* ---- running ---- */

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    *state = &f;
    return current->open(&f.around, &f.queue, NULL) == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    f->queue.vtable->close(f->queue.self);
    world_end(&f->around);
    return 0;
}

#define contract(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        contract(test_a_message_waits_for_one_turn_of_another_owner),
        contract(test_so_it_does_when_all_messages_are_of_one_group),
        contract(test_owners_take_turns),
        contract(test_the_only_owner_that_waits_fills_a_receive),
        contract(test_who_comes_anew_goes_behind_those_who_wait),
        contract(test_a_receive_takes_from_the_owners_that_it_may),
        contract(test_no_more_owners_are_asked_than_the_bound),
        contract(test_groups_of_an_owner_take_turns),
        contract(test_a_group_with_new_messages_goes_behind_those_that_wait),
        contract(test_whatever_waits_has_its_turn_after_one_of_each_other),
    };
    int failed = 0;
    for (current = queue_implementations; current->name != NULL; current++)
        failed += cmocka_run_group_tests_name(current->name, tests, NULL, NULL);
    return failed == 0 ? 0 : 1;
}
