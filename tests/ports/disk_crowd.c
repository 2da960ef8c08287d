/* Records on a failing disk, written by several threads at once, so that one commit serves several
 * transactions: each is there as a whole or not at all, as its own thread was told. */
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/disk_subject.h"

#include <stdio.h>
#include <string.h>

#define THREADS 6
#define ROUNDS  4

static struct {
    kedge_records port;
    bool open;
    atomic_int next;
    kedge_status said[THREADS][ROUNDS];
    kedge_status refused[THREADS][ROUNDS]; /* of a write whose condition cannot hold */
} story;

static kedge_record_write write_of(const char *partition, int thread, int round, char sort[32],
                                   kedge_attribute *attribute)
{
    snprintf(sort, 32, "%d-%d", thread, round);
    *attribute = (kedge_attribute){.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = round};
    return (kedge_record_write){
        .record = {{kedge_bytes_of(partition), kedge_bytes_of(sort)}, attribute, 1},
        .condition = KEDGE_IF_ABSENT};
}

static void *write_pairs(void *argument)
{
    (void)argument;
    const kedge_records_vtable *vtable = story.port.vtable;
    int me = atomic_fetch_add(&story.next, 1);
    for (int round = 0; round < ROUNDS; round++) {
        char sorts[2][32];
        kedge_attribute attribute;
        kedge_record_write writes[2] = {write_of("p", me, round, sorts[0], &attribute),
                                        write_of("q", me, round, sorts[1], &attribute)};
        story.said[me][round] = vtable->transact(story.port.self, writes, 2, NULL);
        story.refused[me][round] = vtable->write(story.port.self, &writes[0], NULL);
    }
    return NULL;
}

static kedge_status open_port(disk *self)
{
    kedge_status status =
        kedge_sqlite_records_open(&self->around.environment, self->path, &story.port, NULL);
    story.open = status == KEDGE_OK;
    return status;
}

static void run(disk *self)
{
    memset(&story, 0, sizeof story);
    for (int i = 0; i < THREADS * ROUNDS; i++)
        story.said[i / ROUNDS][i % ROUNDS] = story.refused[i / ROUNDS][i % ROUNDS] = KEDGE_IO;
    if (disk_note(self, open_port(self)) != KEDGE_OK) return;
    world_run_threads(write_pairs, NULL, THREADS);
    for (int i = 0; i < THREADS * ROUNDS; i++) {
        disk_note(self, story.said[i / ROUNDS][i % ROUNDS]);
        if (story.refused[i / ROUNDS][i % ROUNDS] != KEDGE_CONFLICT)
            disk_note(self, story.refused[i / ROUNDS][i % ROUNDS]);
    }
}

static bool is_there(const char *partition, int thread, int round)
{
    char sort[32];
    kedge_record_set set = {0};
    snprintf(sort, sizeof sort, "%d-%d", thread, round);
    kedge_record_key key = {kedge_bytes_of(partition), kedge_bytes_of(sort)};
    kedge_status status = story.port.vtable->get(story.port.self, &key, true, &set, NULL);
    kedge_record_set_free(&set);
    assert_true(status == KEDGE_OK || status == KEDGE_NOT_FOUND);
    return status == KEDGE_OK;
}

/* The write after a pair tells about it as well: it conflicts with what is there, and where the
 * pair is not, it may be what is there in the first partition. */
static void check_pair(int thread, int round)
{
    kedge_status pair = story.said[thread][round], single = story.refused[thread][round];
    bool first = is_there("p", thread, round), second = is_there("q", thread, round);
    if (pair == KEDGE_OK) assert_true(first && second);
    if (pair != KEDGE_OK && pair != KEDGE_UNAVAILABLE) assert_false(second);
    if (second) assert_true(first);
    if (single == KEDGE_OK || single == KEDGE_CONFLICT) assert_true(first);
    if (first && !second) assert_true(single == KEDGE_OK || single == KEDGE_UNAVAILABLE);
}

static void check(disk *self)
{
    char sort[32];
    kedge_attribute attribute;
    if (!story.open) assert_ok(open_port(self));
    for (int i = 0; i < THREADS * ROUNDS; i++)
        check_pair(i / ROUNDS, i % ROUNDS);
    kedge_record_write last = write_of("z", 0, 0, sort, &attribute);
    last.condition = KEDGE_IF_ANY;
    assert_ok(story.port.vtable->write(story.port.self, &last, NULL));
}

static void close_port(disk *self)
{
    (void)self;
    if (story.open) story.port.vtable->close(story.port.self);
    story.open = false;
}

const disk_subject disk_crowd = {
    .name = "records of a crowd", .run = run, .check = check, .close = close_port};
