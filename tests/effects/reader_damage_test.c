/* Checkpoints of a stream's reader that are damaged: the shard is read again, and told. */
#include "tests/effects/reader_world.h"

#include <stdio.h>

typedef enum damage {
    NO_REVISION,
    NUMBER_AS_POSITION,
    LONG_OWNER,
    WRONG_FINISHED,
    NO_SUCH_POSITION
} damage;
#define DAMAGES (NO_SUCH_POSITION + 1)

static kedge_attribute text_attribute(const char *name, const char *text)
{
    return (kedge_attribute){
        .name = name, .type = KEDGE_ATTRIBUTE_TEXT, .bytes = kedge_bytes_of(text)};
}

static kedge_attribute number_attribute(const char *name, int64_t number)
{
    return (kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = number};
}

static void write_damaged(fixture *f, kedge_bytes sort, int64_t revision, damage how)
{
    static const char long_owner[] = "0123456789012345678901234567890123456789";
    kedge_attribute attributes[3];
    size_t count = 0;
    if (how != NO_REVISION) attributes[count++] = number_attribute("revision", revision);
    if (how == NUMBER_AS_POSITION) attributes[count++] = number_attribute("position", 7);
    if (how == LONG_OWNER) attributes[count++] = text_attribute("owner", long_owner);
    if (how == WRONG_FINISHED) attributes[count++] = number_attribute("finished", 3);
    if (how == NO_SUCH_POSITION) attributes[count++] = text_attribute("position", "?");
    if (count == 0) attributes[count++] = number_attribute("until", 0);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{KEDGE_BYTES("Stream#test"), sort}, attributes, count}};
    assert_ok(f->ports.records.vtable->write(f->ports.records.self, &write, &f->error));
}

/* Damages all checkpoints; gives how many. */
static size_t damage_checkpoints(fixture *f, damage how)
{
    kedge_record_set set = {0};
    kedge_records_query query = {.partition = KEDGE_BYTES("Stream#test"),
                                 .sort_from = KEDGE_BYTES("Shard#"),
                                 .sort_to = KEDGE_BYTES("Shard$"),
                                 .limit = 100,
                                 .consistent = true};
    assert_ok(f->ports.records.vtable->query(f->ports.records.self, &query, &set, &f->error));
    for (size_t i = 0; i < set.count; i++)
        write_damaged(f, set.records[i].key.sort,
                      kedge_record_attribute(&set.records[i], "revision")->number, how);
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

/* By the reader that was at it, and by another one. Only the shards of which something was read
 * were begun, so nothing is lost, and each is reported once. */
static void test_from_a_damaged_checkpoint_the_shard_is_read_again(void **state)
{
    fixture *f = *state;
    size_t reported = 0;
    f->batch = 1000;
    for (int how = 0; how < 2 * DAMAGES; how++) {
        kedge_stream_reader *reader = make_reader(f);
        put(f, 0);
        pass_time(f, 1001);
        read_all(f, reader);
        if (how % 2 == 0) {
            kedge_stream_reader_free(reader);
            pass_time(f, 1001);
            reader = make_reader(f);
        }
        size_t repeated = f->seen.repeated;
        put(f, 1);
        reported += damage_checkpoints(f, (damage)(how / 2));
        read_all(f, reader);
        assert_int_equal(f->seen.damaged, reported);
        assert_int_equal(f->seen.expired, reported);
        assert_int_equal(count_expired_records(f), reported);
        assert_true(f->seen.repeated > repeated);
        kedge_stream_reader_free(reader);
    }
    assert_true(reported >= 2 * DAMAGES);
}

static void test_a_key_that_names_no_shard_is_told(void **state)
{
    fixture *f = *state;
    static const char shard[] = "0123456789012345678901234567890123456789"
                                "0123456789012345678901234567890123456789x";
    char key[sizeof "Shard#" + sizeof shard];
    kedge_stream_round round;
    kedge_stream_reader *reader = make_reader(f);
    snprintf(key, sizeof key, "Shard#%s", shard);
    write_damaged(f, kedge_bytes_of(key), 1, NO_REVISION);
    assert_status(kedge_stream_reader_round(reader, &round, &f->error), KEDGE_CORRUPT);
    assert_string_equal(f->error.code, "checkpoint-corrupt");
    kedge_stream_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER(test_from_a_damaged_checkpoint_the_shard_is_read_again),
        READER(test_a_key_that_names_no_shard_is_told),
    };
    return reader_run(tests, sizeof tests / sizeof tests[0]);
}
