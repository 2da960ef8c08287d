/* The checkpoints of a stream's reader as records. */
#include "backend/effects/checkpoint.h"

#include "common/assert.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PARTITION    "Stream#"
#define SHARD        "Shard#"
#define BEHIND_SHARD "Shard$" /* after every key that starts with SHARD */
#define EXPIRED      "Expired#"
#define KEY_SIZE     (sizeof EXPIRED + 24 + KEDGE_STREAM_SHARD_BYTES_MAX)
#define ATTRIBUTES   7

typedef struct row_key {
    char partition[sizeof PARTITION + KEDGE_READER_NAME_BYTES_MAX];
    char sort[KEY_SIZE];
} row_key;

static void make_partition(const kedge_stream_reader_options *options, row_key *key)
{
    int size = snprintf(key->partition, sizeof key->partition, PARTITION "%s", options->name);
    KEDGE_ASSERT(size > 0 && (size_t)size < sizeof key->partition);
}

static void make_shard_key(const kedge_stream_reader_options *options, const char *shard,
                           row_key *key)
{
    make_partition(options, key);
    snprintf(key->sort, sizeof key->sort, SHARD "%s", shard);
}

static kedge_record_key record_key(const row_key *key)
{
    return (kedge_record_key){kedge_bytes_of(key->partition), kedge_bytes_of(key->sort)};
}

/* ---- the list ---- */

void kedge_reader_checkpoints_free(kedge_reader_checkpoints *checkpoints)
{
    kedge_release(checkpoints->allocator, checkpoints->of);
    *checkpoints = (kedge_reader_checkpoints){.allocator = checkpoints->allocator};
}

kedge_reader_checkpoint *kedge_reader_checkpoints_find(const kedge_reader_checkpoints *checkpoints,
                                                       const char *shard)
{
    for (size_t i = 0; i < checkpoints->count; i++) {
        if (strcmp(checkpoints->of[i].shard, shard) == 0) return &checkpoints->of[i];
    }
    return NULL;
}

static kedge_reader_checkpoint *append(kedge_reader_checkpoints *checkpoints)
{
    if (checkpoints->count == checkpoints->capacity) {
        size_t capacity = checkpoints->capacity == 0 ? 8 : 2 * checkpoints->capacity;
        kedge_reader_checkpoint *larger =
            kedge_allocate(checkpoints->allocator, capacity * sizeof *larger);
        if (larger == NULL) return NULL;
        if (checkpoints->count > 0)
            memcpy(larger, checkpoints->of, checkpoints->count * sizeof *larger);
        kedge_release(checkpoints->allocator, checkpoints->of);
        checkpoints->of = larger;
        checkpoints->capacity = capacity;
    }
    kedge_reader_checkpoint *added = &checkpoints->of[checkpoints->count++];
    *added = (kedge_reader_checkpoint){.revision = 0};
    return added;
}

kedge_reader_checkpoint *kedge_reader_checkpoints_add(kedge_reader_checkpoints *checkpoints,
                                                      const kedge_stream_shard *shard)
{
    kedge_reader_checkpoint *added = append(checkpoints);
    if (added == NULL) return NULL;
    snprintf(added->shard, sizeof added->shard, "%s", shard->id);
    snprintf(added->parent, sizeof added->parent, "%s", shard->parent);
    return added;
}

/* ---- reading ---- */

static int64_t number_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    bool there = attribute != NULL && attribute->type == KEDGE_ATTRIBUTE_NUMBER;
    return there ? attribute->number : 0;
}

/* Absent: "". */
static bool text_of(const kedge_record *record, const char *name, char *out, size_t out_size)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    out[0] = '\0';
    if (attribute == NULL) return true;
    if (attribute->type != KEDGE_ATTRIBUTE_TEXT || attribute->bytes.size >= out_size) return false;
    memcpy(out, attribute->bytes.data, attribute->bytes.size);
    out[attribute->bytes.size] = '\0';
    return true;
}

static bool read_attributes(const kedge_record *record, kedge_reader_checkpoint *checkpoint)
{
    int64_t finished = number_of(record, "finished");
    checkpoint->until_ms = number_of(record, "until");
    checkpoint->at_ms = number_of(record, "at");
    checkpoint->finished = finished != 0;
    return (finished == 0 || finished == 1) && checkpoint->revision > 0 &&
           text_of(record, "owner", checkpoint->owner, sizeof checkpoint->owner) &&
           text_of(record, "parent", checkpoint->parent, sizeof checkpoint->parent) &&
           text_of(record, "position", checkpoint->position, sizeof checkpoint->position);
}

/* The key tells the shard also of a record that is damaged. */
static kedge_status read_row(const kedge_record *record, kedge_reader_checkpoint *checkpoint,
                             kedge_error *error)
{
    kedge_bytes sort = record->key.sort;
    size_t prefix = sizeof SHARD - 1;
    int64_t revision = number_of(record, "revision");
    if (sort.size <= prefix || sort.size - prefix >= sizeof checkpoint->shard)
        return kedge_fail(error, KEDGE_CORRUPT, "checkpoint-corrupt",
                          "the key %.*s of a stream's checkpoint names no shard", (int)sort.size,
                          sort.data);
    checkpoint->revision = revision > 0 ? revision : 0;
    if (!read_attributes(record, checkpoint))
        *checkpoint = (kedge_reader_checkpoint){.revision = checkpoint->revision, .damaged = true};
    memcpy(checkpoint->shard, sort.data + prefix, sort.size - prefix);
    return KEDGE_OK;
}

static kedge_status read_rows(const kedge_record_set *set, kedge_reader_checkpoints *checkpoints,
                              kedge_error *error)
{
    for (size_t i = 0; i < set->count; i++) {
        if (checkpoints->count == KEDGE_READER_SHARDS_MAX)
            return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-shards",
                              "a stream has more than %d shards", KEDGE_READER_SHARDS_MAX);
        kedge_reader_checkpoint *checkpoint = append(checkpoints);
        if (checkpoint == NULL) return kedge_fail_no_memory(error);
        kedge_status status = read_row(&set->records[i], checkpoint, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

kedge_status kedge_reader_checkpoints_load(const kedge_stream_reader_options *options,
                                           kedge_reader_checkpoints *checkpoints,
                                           kedge_error *error)
{
    row_key key, after = {.sort = SHARD};
    const kedge_records *records = options->records;
    bool more = true;
    kedge_status status = KEDGE_OK;
    make_partition(options, &key);
    while (more && status == KEDGE_OK) {
        kedge_record_set set = {0};
        kedge_records_query query = {.partition = kedge_bytes_of(key.partition),
                                     .after = kedge_bytes_of(after.sort),
                                     .sort_to = KEDGE_BYTES(BEHIND_SHARD),
                                     .limit = 100,
                                     .consistent = true};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        status = read_rows(&set, checkpoints, error);
        more = set.more && set.count > 0;
        if (status == KEDGE_OK && set.count > 0)
            make_shard_key(options, checkpoints->of[checkpoints->count - 1].shard, &after);
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- writing ---- */

static kedge_attribute text(const char *name, const char *value)
{
    return (kedge_attribute){
        .name = name, .type = KEDGE_ATTRIBUTE_TEXT, .bytes = kedge_bytes_of(value)};
}

static kedge_attribute number(const char *name, int64_t value)
{
    return (kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = value};
}

static void set_condition(const kedge_reader_checkpoint *checkpoint, kedge_record_write *write)
{
    write->condition = checkpoint->revision == 0 ? KEDGE_IF_ABSENT : KEDGE_IF_EQUAL;
    if (checkpoint->revision == 0 && checkpoint->damaged) write->condition = KEDGE_IF_ANY;
    write->expected = number("revision", checkpoint->revision);
}

kedge_status kedge_reader_checkpoint_save(const kedge_stream_reader_options *options,
                                          kedge_reader_checkpoint *checkpoint,
                                          const kedge_stream_expired *expired, kedge_error *error)
{
    const kedge_environment *environment = options->environment;
    const kedge_records *records = options->records;
    row_key key, expired_key;
    size_t count = 0;
    kedge_attribute attributes[ATTRIBUTES], missing[2];
    make_shard_key(options, checkpoint->shard, &key);
    attributes[count++] = number("revision", checkpoint->revision + 1);
    attributes[count++] = number("until", checkpoint->until_ms);
    attributes[count++] = number("at", checkpoint->at_ms);
    attributes[count++] = number("finished", checkpoint->finished ? 1 : 0);
    if (checkpoint->owner[0] != '\0') attributes[count++] = text("owner", checkpoint->owner);
    if (checkpoint->parent[0] != '\0') attributes[count++] = text("parent", checkpoint->parent);
    if (checkpoint->position[0] != '\0')
        attributes[count++] = text("position", checkpoint->position);
    kedge_record_write writes[2] = {
        {.kind = KEDGE_WRITE_PUT, .record = {record_key(&key), attributes, count}}};
    set_condition(checkpoint, &writes[0]);
    if (expired != NULL) {
        make_partition(options, &expired_key);
        snprintf(expired_key.sort, sizeof expired_key.sort, EXPIRED "%020" PRId64 "#%s",
                 environment->now_ms(environment->context), expired->shard);
        missing[0] = number("since", expired->since_ms);
        missing[1] = text("shard", expired->shard);
        writes[1] = (kedge_record_write){.kind = KEDGE_WRITE_PUT,
                                         .record = {record_key(&expired_key), missing, 2}};
    }
    kedge_status status =
        records->vtable->transact(records->self, writes, expired == NULL ? 1 : 2, error);
    if (status != KEDGE_OK) return status;
    checkpoint->revision++;
    checkpoint->damaged = false;
    return KEDGE_OK;
}

kedge_status kedge_reader_checkpoint_remove(const kedge_stream_reader_options *options,
                                            const kedge_reader_checkpoint *checkpoint,
                                            kedge_error *error)
{
    row_key key;
    make_shard_key(options, checkpoint->shard, &key);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = record_key(&key)}};
    set_condition(checkpoint, &write);
    const kedge_records *records = options->records;
    return records->vtable->write(records->self, &write, error);
}
