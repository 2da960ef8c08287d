/* Writes the archive of a segment. */
#include "backend/log/archive.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"

_Static_assert(
    KEDGE_LOG_ARCHIVE_PART_BYTES + KEDGE_LOG_INLINE_BYTES_MAX + 65536 <
        KEDGE_LOG_ARCHIVE_PART_BYTES_MAX,
    "a part ends behind the entry that passes its size; of a larger body it has the name");

typedef struct archiving {
    const kedge_log *log;
    const kedge_log_segment *segment;
    kedge_buffer part; /* the text of the part that is open */
    kedge_json_writer writer;
    kedge_log_archive_part open; /* its hash comes last */
    kedge_buffer root;
    kedge_json_writer root_writer;
    int64_t entries;
} archiving;

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

static void write_text(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    if (text.size == 0) return;
    kedge_json_key(writer, name);
    kedge_json_text(writer, text);
}

static void write_entry(kedge_json_writer *writer, const kedge_log_entry *entry)
{
    char id[KEDGE_LOG_ID_HEX];
    kedge_hex_encode(entry->id, sizeof entry->id, id);
    kedge_json_begin_object(writer);
    write_integer(writer, "n", entry->at.num);
    write_integer(writer, "c", entry->created_s);
    write_text(writer, "t", entry->type);
    write_integer(writer, "v", entry->version);
    write_text(writer, "i", kedge_bytes_of(id));
    write_integer(writer, "r", entry->revision);
    write_text(writer, "e", entry->external);
    if (entry->external.size == 0) {
        kedge_json_key(writer, "b");
        kedge_json_raw(writer, entry->body);
    }
    write_text(writer, "s", entry->snapshot);
    write_text(writer, "h", entry->history);
    write_text(writer, "p", entry->pending);
    kedge_json_end_object(writer);
}

/* One that is there has the same text. */
static kedge_status put(const archiving *work, const kedge_buffer *text,
                        char hash[KEDGE_SHA256_HEX], kedge_error *error)
{
    const kedge_blobs *blobs = work->log->project->blobs;
    kedge_buffer compressed = kedge_buffer_make(work->log->project->allocator);
    kedge_status status = kedge_buffer_status(text, error);
    if (status == KEDGE_OK) status = kedge_gzip(kedge_buffer_bytes(text), &compressed, error);
    if (status == KEDGE_OK) {
        kedge_sha256_hex(kedge_buffer_bytes(text), hash);
        kedge_log_key key = kedge_log_key_archive(work->log, hash);
        status = blobs->vtable->put_if_absent(blobs->self, kedge_log_key_bytes(&key),
                                              kedge_buffer_bytes(&compressed), error);
        if (status == KEDGE_CONFLICT) status = KEDGE_OK;
    }
    kedge_buffer_free(&compressed);
    return status;
}

static void begin_part(archiving *work)
{
    kedge_buffer_clear(&work->part);
    work->writer = kedge_json_write(&work->part);
    work->open = (kedge_log_archive_part){.from = work->entries};
    kedge_json_begin_object(&work->writer);
    write_integer(&work->writer, "format", KEDGE_LOG_ARCHIVE_FORMAT);
    kedge_json_key(&work->writer, "entries");
    kedge_json_begin_array(&work->writer);
}

static kedge_status end_part(archiving *work, kedge_error *error)
{
    if (work->open.count == 0) return KEDGE_OK;
    kedge_json_end_array(&work->writer);
    kedge_json_end_object(&work->writer);
    kedge_status status = put(work, &work->part, work->open.hash, error);
    if (status != KEDGE_OK) return status;
    kedge_json_begin_object(&work->root_writer);
    write_integer(&work->root_writer, "from", work->open.from);
    write_integer(&work->root_writer, "count", work->open.count);
    write_text(&work->root_writer, "sha256", kedge_bytes_of(work->open.hash));
    kedge_json_end_object(&work->root_writer);
    begin_part(work);
    return KEDGE_OK;
}

static kedge_status add_page(archiving *work, const kedge_log_page *page, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < page->count && status == KEDGE_OK; i++) {
        write_entry(&work->writer, &page->entries[i]);
        work->entries++;
        work->open.count++;
        if (work->part.size >= KEDGE_LOG_ARCHIVE_PART_BYTES) status = end_part(work, error);
    }
    return status;
}

/* Consistently, from the first entry to the End Segment one. */
static kedge_status add_segment(archiving *work, kedge_error *error)
{
    kedge_log_reader reader = {.log = work->log,
                               .consistent = true,
                               .segment = work->segment->num,
                               .first = work->segment->first,
                               .num = work->segment->deleted,
                               .newest = work->segment->num + 1};
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && !reader.ended && reader.segment == work->segment->num) {
        kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
        status = kedge_log_read(&reader, KEDGE_LOG_PAGE_MAX, &page, error);
        if (status == KEDGE_OK) status = add_page(work, &page, error);
        kedge_log_page_free(&page);
    }
    if (status != KEDGE_OK || work->entries > work->segment->deleted)
        return status == KEDGE_OK ? end_part(work, error) : status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "log-segment-not-found",
                      "segment %lld of the log %.*s is truncated", (long long)work->segment->num,
                      (int)work->log->name.size, work->log->name.data);
}

kedge_status kedge_log_archive_write(const kedge_log *log, const kedge_log_segment *segment,
                                     char hash[KEDGE_SHA256_HEX], kedge_error *error)
{
    archiving work = {.log = log,
                      .segment = segment,
                      .part = kedge_buffer_make(log->project->allocator),
                      .root = kedge_buffer_make(log->project->allocator),
                      .entries = segment->deleted};
    work.root_writer = kedge_json_write(&work.root);
    kedge_json_begin_object(&work.root_writer);
    write_integer(&work.root_writer, "format", KEDGE_LOG_ARCHIVE_FORMAT);
    write_integer(&work.root_writer, "segment", segment->num);
    write_integer(&work.root_writer, "first", segment->first);
    kedge_json_key(&work.root_writer, "parts");
    kedge_json_begin_array(&work.root_writer);
    begin_part(&work);
    kedge_status status = add_segment(&work, error);
    kedge_json_end_array(&work.root_writer);
    write_integer(&work.root_writer, "entries", work.entries);
    kedge_json_end_object(&work.root_writer);
    if (status == KEDGE_OK) status = put(&work, &work.root, hash, error);
    kedge_buffer_free(&work.part);
    kedge_buffer_free(&work.root);
    return status;
}
