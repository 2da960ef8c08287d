/* The queue on a failing disk: messages are sent, received, given back, done, die and are put back;
 * each is there once as long as nobody said that it is done, in order within its group. */
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/disk_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES    10
#define RECEIVE_MAX 2
#define LONG_MS     60000

static struct {
    kedge_queue port;
    bool open;
    kedge_status sent[MESSAGES];
    kedge_status done[MESSAGES]; /* KEDGE_IO: not tried */
    bool redriven[MESSAGES];     /* or tried to be */
    int found[MESSAGES];
    int fresh;
} story;

static int number_of(const kedge_queue_message *message)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)message->body.size, message->body.data);
    return (int)strtol(text, NULL, 10);
}

static kedge_status open_port(disk *self)
{
    kedge_status status = kedge_sqlite_queue_open(&self->around.environment, self->path,
                                                  RECEIVE_MAX, &story.port, NULL);
    story.open = status == KEDGE_OK;
    return status;
}

static void send(disk *self, int number)
{
    char body[16];
    snprintf(body, sizeof body, "%d", number);
    kedge_bytes text = kedge_bytes_of(body);
    kedge_bytes group = number % 2 == 0 ? KEDGE_BYTES("even") : KEDGE_BYTES("odd");
    story.sent[number] = disk_note(
        self, story.port.vtable->send(story.port.self, KEDGE_BYTES("o"), group, text, text, NULL));
}

static void done(disk *self, const kedge_queue_message *message)
{
    int number = number_of(message);
    kedge_status status =
        disk_note(self, story.port.vtable->done(story.port.self, message->receipt, NULL));
    /* What an earlier attempt may have deleted stays unknown. */
    if (status == KEDGE_OK || story.done[number] != KEDGE_UNAVAILABLE) story.done[number] = status;
}

/* Receives, gives the second message back and is done with the first. */
static void work(disk *self, int64_t visibility_ms)
{
    kedge_queue_batch batch = {0};
    const kedge_queue_vtable *vtable = story.port.vtable;
    disk_note(self, vtable->receive(story.port.self, 3, visibility_ms, 0, NULL, &batch, NULL));
    if (batch.count > 1)
        disk_note(self, vtable->extend(story.port.self, batch.messages[1].receipt, 0, NULL));
    if (batch.count > 0) done(self, &batch.messages[0]);
    kedge_queue_batch_free(&batch);
    atomic_fetch_add(&self->around.now_ms, visibility_ms);
}

static void redrive_one(disk *self)
{
    kedge_queue_batch dead = {0};
    const kedge_queue_vtable *vtable = story.port.vtable;
    disk_note(self, vtable->dead_letters(story.port.self, 10, &dead, NULL));
    if (dead.count > 0) {
        story.redriven[number_of(&dead.messages[0])] = true;
        disk_note(self, vtable->redrive(story.port.self, dead.messages[0].receipt, NULL));
    }
    kedge_queue_batch_free(&dead);
}

static void run(disk *self)
{
    memset(&story, 0, sizeof story);
    for (int i = 0; i < MESSAGES; i++)
        story.sent[i] = story.done[i] = KEDGE_IO;
    if (disk_note(self, open_port(self)) != KEDGE_OK) return;
    for (int i = 0; i < 6; i++)
        send(self, i);
    for (int i = 0; i < 4; i++)
        work(self, 1000);
    redrive_one(self);
    for (int i = 6; i < MESSAGES; i++)
        send(self, i);
    work(self, 1000);
    redrive_one(self);
}

/* ---- afterwards ---- */

static void find_living(void)
{
    kedge_queue_batch batch = {0};
    const kedge_queue_vtable *vtable = story.port.vtable;
    int newest[2] = {-1, -1};
    do {
        kedge_queue_batch_free(&batch);
        assert_ok(vtable->receive(story.port.self, 10, LONG_MS, 0, NULL, &batch, NULL));
        for (size_t i = 0; i < batch.count; i++) {
            int number = number_of(&batch.messages[i]);
            story.found[number]++;
            if (!story.redriven[number]) {
                assert_true(number > newest[number % 2]);
                newest[number % 2] = number;
            }
            assert_ok(vtable->done(story.port.self, batch.messages[i].receipt, NULL));
        }
    } while (batch.count > 0);
}

static void find_dead(void)
{
    kedge_queue_batch dead = {0};
    assert_ok(story.port.vtable->dead_letters(story.port.self, 100, &dead, NULL));
    for (size_t i = 0; i < dead.count; i++)
        story.found[number_of(&dead.messages[i])] += 100;
    kedge_queue_batch_free(&dead);
}

/* A message that is found alive is done from now on. */
static void check_message(int number)
{
    int found = story.found[number] % 100 + story.found[number] / 100;
    kedge_status sent = story.sent[number], done_with = story.done[number];
    assert_in_range(found, 0, 1);
    if (done_with == KEDGE_OK || (sent != KEDGE_OK && sent != KEDGE_UNAVAILABLE))
        assert_int_equal(found, 0);
    else if (sent == KEDGE_OK && done_with != KEDGE_UNAVAILABLE)
        assert_int_equal(found, 1);
    if (story.found[number] == 1) story.done[number] = KEDGE_OK;
}

static void check_that_it_works(void)
{
    kedge_queue_batch batch = {0};
    const kedge_queue_vtable *vtable = story.port.vtable;
    char name[24];
    snprintf(name, sizeof name, "fresh %d", ++story.fresh);
    kedge_bytes text = kedge_bytes_of(name), group = KEDGE_BYTES("even");
    assert_ok(vtable->send(story.port.self, KEDGE_BYTES("o"), group, text, text, NULL));
    assert_ok(vtable->receive(story.port.self, 1, LONG_MS, 0, NULL, &batch, NULL));
    assert_int_equal(batch.count, 1);
    assert_ok(vtable->done(story.port.self, batch.messages[0].receipt, NULL));
    kedge_queue_batch_free(&batch);
}

static void check(disk *self)
{
    if (!story.open) assert_ok(open_port(self));
    memset(story.found, 0, sizeof story.found);
    atomic_fetch_add(&self->around.now_ms, LONG_MS);
    find_living();
    find_dead();
    for (int i = 0; i < MESSAGES; i++)
        check_message(i);
    check_that_it_works();
}

static void close_port(disk *self)
{
    (void)self;
    if (story.open) story.port.vtable->close(story.port.self);
    story.open = false;
}

const disk_subject disk_queue = {.name = "queue", .run = run, .check = check, .close = close_port};
