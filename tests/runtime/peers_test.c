/* Leadership and news between processes, with real processes where death matters. */
#include "sdk/runtime/peers.h"

#include "common/error.h"
#include "tests/support/temporary.h"

#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static kedge_environment environment;
static char folder[64];

static kedge_peers *join(void)
{
    kedge_peers *peers = NULL;
    kedge_error error = {0};
    if (kedge_peers_open(&environment, folder, &peers, &error) != KEDGE_OK) {
        fail_msg("%s", error.message);
    }
    return peers;
}

static void test_one_leads_and_another_takes_over_when_it_leaves(void **state)
{
    (void)state;
    kedge_peers *first = join();
    kedge_peers *second = join();
    assert_true(kedge_peers_lead(first));
    assert_true(kedge_peers_lead(first));
    assert_false(kedge_peers_lead(second));
    kedge_peers_resign(first);
    assert_true(kedge_peers_lead(second));
    assert_false(kedge_peers_lead(first));
    kedge_peers_close(second);
    assert_true(kedge_peers_lead(first));
    kedge_peers_close(first);
}

static void test_company_is_seen(void **state)
{
    (void)state;
    kedge_peers *first = join();
    assert_false(kedge_peers_present(first));
    kedge_peers *second = join();
    assert_true(kedge_peers_present(first));
    assert_true(kedge_peers_present(second));
    kedge_peers_close(first);
    assert_false(kedge_peers_present(second));
    kedge_peers_close(second);
}

static bool changed(kedge_peers *peers)
{
    kedge_peers_news news;
    assert_true(kedge_peers_look(peers, &news));
    return news.changed;
}

static void test_a_commit_is_told_to_the_others_and_not_to_oneself(void **state)
{
    (void)state;
    kedge_peers *first = join();
    kedge_peers *second = join();
    kedge_peers *third = join();
    assert_true(kedge_peers_tell(first));
    assert_false(changed(first));
    assert_true(changed(second));
    assert_false(changed(second));
    assert_true(kedge_peers_tell(third)); /* without having looked: it still hears of the first */
    assert_true(changed(third));
    assert_true(changed(first));
    assert_true(changed(second));
    kedge_peers_close(first);
    kedge_peers_close(second);
    kedge_peers_close(third);
}

static void test_news_wake_who_waits(void **state)
{
    (void)state;
    kedge_peers *first = join();
    kedge_peers *second = join();
    struct pollfd set = {.fd = kedge_peers_wake_fd(second), .events = POLLIN};
    assert_true(set.fd >= 0);
    assert_int_equal(poll(&set, 1, 0), 0);
    assert_true(kedge_peers_tell(first));
    assert_int_equal(poll(&set, 1, 10000), 1);
    assert_true(changed(second));
    assert_int_equal(poll(&set, 1, 0), 0);
    kedge_peers_close(first);
    kedge_peers_close(second);
}

static void test_a_ticket_for_a_sync_is_answered(void **state)
{
    kedge_peers_news news;
    uint64_t first_ticket = 0;
    uint64_t second_ticket = 0;
    (void)state;
    kedge_peers *leader = join();
    kedge_peers *follower = join();
    assert_true(kedge_peers_want_sync(follower, &first_ticket));
    assert_true(kedge_peers_want_sync(follower, &second_ticket));
    assert_true(second_ticket > first_ticket);
    assert_true(kedge_peers_look(leader, &news));
    assert_int_equal(news.sync_wanted, second_ticket);
    const kedge_error error = {KEDGE_NETWORK, "unreachable", "no route to the server"};
    assert_true(kedge_peers_sync_done(leader, second_ticket, &error));
    assert_true(kedge_peers_look(follower, &news));
    assert_int_equal(news.sync_done, second_ticket);
    assert_true(kedge_error_equal(&news.sync_error, &error));
    assert_int_equal(news.leader_error.status, KEDGE_OK);
    kedge_peers_close(leader);
    kedge_peers_close(follower);
}

static void test_the_error_of_the_leader_is_told_until_there_is_none(void **state)
{
    kedge_peers_news news;
    kedge_error longest = {.status = KEDGE_UNAUTHORIZED};
    const kedge_error none = {.status = KEDGE_OK};
    (void)state;
    memset(longest.code, 'c', sizeof longest.code - 1);
    memset(longest.message, 'm', sizeof longest.message - 1);
    kedge_peers *leader = join();
    assert_true(kedge_peers_tell_error(leader, &longest));
    kedge_peers *follower = join(); /* later */
    assert_true(kedge_peers_look(follower, &news));
    assert_true(kedge_error_equal(&news.leader_error, &longest));
    assert_true(kedge_peers_tell_error(leader, &none));
    assert_true(kedge_peers_look(follower, &news));
    assert_int_equal(news.leader_error.status, KEDGE_OK);
    assert_string_equal(news.leader_error.code, "");
    kedge_peers_close(leader);
    kedge_peers_close(follower);
}

/* A bit of the file has flipped; an app shows both texts. */
static void test_an_error_in_a_damaged_record_is_clean_text(void **state)
{
    kedge_peers_news news;
    const kedge_error error = {KEDGE_NETWORK, "a\377b", "\x80 and \x01"};
    (void)state;
    kedge_peers *leader = join();
    assert_true(kedge_peers_tell_error(leader, &error));
    kedge_peers *follower = join();
    assert_true(kedge_peers_look(follower, &news));
    kedge_peers_close(leader);
    kedge_peers_close(follower);
    assert_int_equal(news.leader_error.status, KEDGE_NETWORK);
    assert_string_equal(news.leader_error.code, "a?b");
    assert_string_equal(news.leader_error.message, "? and ?");
}

/* Five numbers, as releases before the texts have written them; the rest of the file stays. */
static void test_a_record_of_an_earlier_release_is_read(void **state)
{
    static const uint64_t numbers[] = {0x6B65646765303031u, 7, 3, 3, KEDGE_NETWORK};
    kedge_peers_news news;
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/leader.lock", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(numbers, sizeof numbers, 1, file), 1);
    fclose(file);
    kedge_peers *follower = join();
    assert_true(kedge_peers_look(follower, &news));
    assert_int_equal(news.sync_done, 3);
    assert_int_equal(news.sync_error.status, KEDGE_NETWORK);
    assert_string_equal(news.sync_error.code, "");
    assert_int_equal(news.leader_error.status, KEDGE_OK);
    kedge_peers_close(follower);
}

/* A disk that takes nothing. */
static void set_file_size_limit(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_what_cannot_be_written_is_said_so_that_it_is_done_again(void **state)
{
    kedge_peers_news news;
    uint64_t ticket = 0;
    struct rlimit before;
    (void)state;
    kedge_peers *first = join();
    kedge_peers *second = join();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    set_file_size_limit(0);
    bool told = kedge_peers_tell(first);
    bool wanted = kedge_peers_want_sync(first, &ticket);
    bool done = kedge_peers_sync_done(first, 7, &(kedge_error){.status = KEDGE_OK});
    set_file_size_limit(before.rlim_cur);
    assert_false(told || wanted || done);
    assert_int_equal(ticket, 0);
    assert_true(kedge_peers_look(second, &news));
    assert_false(news.changed);
    assert_true(kedge_peers_tell(first));
    assert_true(changed(second));
    assert_false(changed(first));
    kedge_peers_close(first);
    kedge_peers_close(second);
}

/* The child has the same open file, and with it the same locks. */
static void test_closing_gives_up_the_lead_though_a_child_was_forked(void **state)
{
    (void)state;
    kedge_peers *leader = join();
    assert_true(kedge_peers_lead(leader));
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0) {
        pause();
    }
    kedge_peers_close(leader);
    kedge_peers *next = join();
    bool leads = kedge_peers_lead(next);
    bool company = kedge_peers_present(next);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(leads);
    assert_false(company);
    kedge_peers_close(next);
}

static void test_what_is_no_record_counts_as_an_empty_one(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/leader.lock", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("garbage that is long enough to be a record of five eight-byte words", file);
    fclose(file);
    kedge_peers *first = join();
    kedge_peers *second = join();
    assert_true(kedge_peers_tell(first));
    assert_true(changed(second));
    kedge_peers_close(first);
    kedge_peers_close(second);
}

static void test_a_killed_leader_is_succeeded(void **state)
{
    int ready[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kedge_peers *mine = NULL;
        if (kedge_peers_open(&environment, folder, &mine, NULL) != KEDGE_OK ||
            !kedge_peers_lead(mine) || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kedge_peers *follower = join();
    assert_false(kedge_peers_lead(follower));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(kedge_peers_lead(follower));
    assert_false(kedge_peers_present(follower));
    kedge_peers_close(follower);
    close(ready[0]);
    close(ready[1]);
}

static void test_a_folder_that_is_not_there_is_an_error(void **state)
{
    kedge_peers *peers = NULL;
    kedge_error error = {0};
    (void)state;
    assert_int_equal(kedge_peers_open(&environment, "/nowhere/at/all", &peers, &error), KEDGE_IO);
    assert_null(peers);
    assert_string_equal(error.code, "lock-failed");
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_leads_and_another_takes_over_when_it_leaves),
        cmocka_unit_test(test_company_is_seen),
        cmocka_unit_test(test_a_commit_is_told_to_the_others_and_not_to_oneself),
        cmocka_unit_test(test_news_wake_who_waits),
        cmocka_unit_test(test_a_ticket_for_a_sync_is_answered),
        cmocka_unit_test(test_the_error_of_the_leader_is_told_until_there_is_none),
        cmocka_unit_test(test_an_error_in_a_damaged_record_is_clean_text),
        cmocka_unit_test(test_a_record_of_an_earlier_release_is_read),
        cmocka_unit_test(test_what_cannot_be_written_is_said_so_that_it_is_done_again),
        cmocka_unit_test(test_closing_gives_up_the_lead_though_a_child_was_forked),
        cmocka_unit_test(test_what_is_no_record_counts_as_an_empty_one),
        cmocka_unit_test(test_a_killed_leader_is_succeeded),
        cmocka_unit_test(test_a_folder_that_is_not_there_is_an_error),
    };
    environment = kedge_environment_system(NULL);
    if (!temporary_folder(folder, sizeof folder, "peers")) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
