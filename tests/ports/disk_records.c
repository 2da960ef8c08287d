/* Records on a failing disk: single writes, and transactions of which both parts are there or
 * none. */
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/disk_subject.h"

#include <stdio.h>
#include <string.h>

#define STEPS_MAX   40
#define STEPS       12
#define BYTES_MAX   390000
#define LARGE_BYTES 380000

/* Step n writes "a{n}" (n % 3 = 0), "b{n}" in two partitions (1), or writes "c{n}" and deletes
 * "a{n-2}" (2). */
static struct {
    kedge_records port;
    bool open;
    int steps;
    size_t bytes;
    kedge_status said[STEPS_MAX];
} story;

static kedge_record_write record_of(const char *partition, char letter, int number, char sort[16],
                                    kedge_attribute *attribute)
{
    static const char bytes[BYTES_MAX];
    snprintf(sort, 16, "%c%02d", letter, number);
    *attribute = (kedge_attribute){
        .name = "b", .type = KEDGE_ATTRIBUTE_BINARY, .bytes = {bytes, story.bytes}};
    return (kedge_record_write){
        .record = {{kedge_bytes_of(partition), kedge_bytes_of(sort)}, attribute, 1}};
}

static kedge_status write_step(int number)
{
    const kedge_records_vtable *vtable = story.port.vtable;
    char sorts[2][16];
    kedge_attribute attribute;
    kedge_record_write writes[2];
    switch (number % 3) {
    case 0:
        writes[0] = record_of("p", 'a', number, sorts[0], &attribute);
        writes[0].condition = KEDGE_IF_ABSENT;
        return vtable->write(story.port.self, writes, NULL);
    case 1:
        writes[0] = record_of("p", 'b', number, sorts[0], &attribute);
        writes[1] = record_of("q", 'b', number, sorts[1], &attribute);
        break;
    default:
        writes[0] = record_of("p", 'c', number, sorts[0], &attribute);
        writes[1] = record_of("p", 'a', number - 2, sorts[1], &attribute);
        writes[1].kind = KEDGE_WRITE_DELETE;
        break;
    }
    return vtable->transact(story.port.self, writes, 2, NULL);
}

static kedge_status get(const char *partition, char letter, int number)
{
    char sort[16];
    kedge_record_set set = {0};
    snprintf(sort, sizeof sort, "%c%02d", letter, number);
    kedge_record_key key = {kedge_bytes_of(partition), kedge_bytes_of(sort)};
    kedge_status status = story.port.vtable->get(story.port.self, &key, true, &set, NULL);
    if (status == KEDGE_OK) {
        assert_int_equal(set.count, 1);
        assert_int_equal(set.records[0].attributes[0].bytes.size, story.bytes);
    }
    kedge_record_set_free(&set);
    return status;
}

static kedge_status open_port(disk *self)
{
    kedge_status status =
        kedge_sqlite_records_open(&self->around.environment, self->path, &story.port, NULL);
    story.open = status == KEDGE_OK;
    return status;
}

static void run_steps(disk *self, int steps, size_t bytes)
{
    memset(&story, 0, sizeof story);
    story.steps = steps;
    story.bytes = bytes;
    for (int i = 0; i < steps; i++)
        story.said[i] = KEDGE_IO; /* not tried */
    if (disk_note(self, open_port(self)) != KEDGE_OK) return;
    for (int i = 0; i < steps; i++) {
        story.said[i] = disk_note(self, write_step(i));
        if (story.said[i] == KEDGE_OK && i % 3 == 1) disk_note(self, get("q", 'b', i));
    }
}

static void run(disk *self)
{
    run_steps(self, STEPS, 3000);
}

/* Enough for the log to be copied back into the database. */
static void run_large(disk *self)
{
    run_steps(self, 27, LARGE_BYTES);
}

/* ---- afterwards ---- */

static bool is_there(const char *partition, char letter, int number)
{
    kedge_status status = get(partition, letter, number);
    assert_true(status == KEDGE_OK || status == KEDGE_NOT_FOUND);
    return status == KEDGE_OK;
}

/* Whether what step n wrote is there, which must fit what it said. */
static bool check_step(const char *partition, char letter, int number)
{
    bool there = is_there(partition, letter, number);
    if (story.said[number] == KEDGE_OK) assert_true(there);
    if (story.said[number] != KEDGE_OK && story.said[number] != KEDGE_UNAVAILABLE)
        assert_false(there);
    return there;
}

static void check_deletion(int number)
{
    bool deleted = check_step("p", 'c', number);
    bool there = is_there("p", 'a', number - 2);
    if (deleted)
        assert_false(there);
    else if (story.said[number - 2] == KEDGE_OK)
        assert_true(there);
    else if (story.said[number - 2] != KEDGE_UNAVAILABLE)
        assert_false(there);
}

static void check(disk *self)
{
    if (!story.open) assert_ok(open_port(self));
    for (int i = 0; i < story.steps; i++) {
        if (i % 3 == 1) assert_int_equal(check_step("p", 'b', i), check_step("q", 'b', i));
        if (i % 3 == 2) check_deletion(i);
    }
    char sort[16];
    kedge_attribute attribute;
    kedge_record_write last = record_of("p", 'z', 0, sort, &attribute);
    assert_ok(story.port.vtable->write(story.port.self, &last, NULL));
    assert_true(is_there("p", 'z', 0));
}

static void close_port(disk *self)
{
    (void)self;
    if (story.open) story.port.vtable->close(story.port.self);
    story.open = false;
}

const disk_subject disk_records = {
    .name = "records", .run = run, .check = check, .close = close_port};
const disk_subject disk_large_records = {
    .name = "large records", .run = run_large, .check = check, .close = close_port};
