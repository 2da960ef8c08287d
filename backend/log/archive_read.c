/* Reads and removes the archive of a segment. */
#include "backend/log/archive.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"

#include <kedge/limits.h>
#include <string.h>

/* ---- texts ---- */

static kedge_status fail(const kedge_log *log, int64_t segment, const char *what,
                         kedge_error *error)
{
    return kedge_log_corrupt(log, segment, -1, error, "%s of its archive is missing or damaged",
                             what);
}

/* The error of a read that copies into the arena: no memory, or damage. */
static kedge_status fail_read(const kedge_log *log, int64_t segment, const kedge_arena *arena,
                              const char *what, kedge_error *error)
{
    kedge_status status = kedge_arena_status(arena, error);
    return status == KEDGE_OK ? fail(log, segment, what, error) : status;
}

/* The text of a root or a part, which has the hash that names it. */
static kedge_status read_text(const kedge_log *log, int64_t segment,
                              const char hash[KEDGE_SHA256_HEX], kedge_buffer *text,
                              kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_log_key key = kedge_log_key_archive(log, hash);
    kedge_buffer compressed = kedge_buffer_make(log->project->allocator);
    char found[KEDGE_SHA256_HEX] = "";
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_log_key_bytes(&key), &compressed, error);
    if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&compressed), KEDGE_LOG_ARCHIVE_PART_BYTES_MAX,
                              text, error);
        if (status == KEDGE_OK) kedge_sha256_hex(kedge_buffer_bytes(text), found);
    }
    kedge_buffer_free(&compressed);
    bool damaged = status == KEDGE_OK && strcmp(found, hash) != 0;
    if (damaged || status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT ||
        status == KEDGE_LIMIT_EXCEEDED)
        return fail(log, segment, "an object", error);
    return status;
}

/* ---- the root ---- */

static bool read_part(kedge_bytes object, kedge_log_archive_part *part)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    return kedge_json_member_integer(object, "from", &part->from) && part->from >= 0 &&
           kedge_json_member_integer(object, "count", &part->count) && part->count > 0 &&
           kedge_json_member_chars(object, "sha256", part->hash, sizeof part->hash) &&
           kedge_hex_decode(kedge_bytes_of(part->hash), hash, sizeof hash);
}

static bool read_root(kedge_bytes object, kedge_arena *arena, kedge_log_archive_root *root)
{
    int64_t format = 0;
    kedge_bytes parts, value;
    size_t capacity = 16;
    if (!kedge_json_member_integer(object, "format", &format) ||
        format != KEDGE_LOG_ARCHIVE_FORMAT ||
        !kedge_json_member_integer(object, "segment", &root->segment) ||
        !kedge_json_member_integer(object, "first", &root->first) ||
        !kedge_json_member_integer(object, "entries", &root->entries) ||
        !kedge_json_member(object, "parts", &parts))
        return false;
    kedge_json_iterator count = kedge_json_iterate(parts);
    for (capacity = 0; kedge_json_next_element(&count, &value);)
        capacity++;
    if (capacity == 0 || capacity > KEDGE_LOG_ARCHIVE_PARTS_MAX) return false;
    root->parts = kedge_arena_take_array(arena, capacity, sizeof *root->parts);
    kedge_json_iterator iterator = kedge_json_iterate(parts);
    while (root->parts != NULL && kedge_json_next_element(&iterator, &value)) {
        if (!read_part(value, &root->parts[root->part_count])) return false;
        root->part_count++;
    }
    return root->parts != NULL && !iterator.failed;
}

kedge_status kedge_log_archive_open(const kedge_log *log, const kedge_log_segment *segment,
                                    kedge_arena *arena, kedge_log_archive_root *root,
                                    kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(log->project->allocator);
    *root = (kedge_log_archive_root){.part_count = 0};
    kedge_status status = read_text(log, segment->num, segment->archive, &text, error);
    kedge_bytes object = kedge_buffer_bytes(&text);
    if (status == KEDGE_OK)
        status = kedge_json_check(object, KEDGE_LIMIT_JSON_DEPTH, arena->allocator, error);
    if (status == KEDGE_OK && (!read_root(object, arena, root) || root->segment != segment->num ||
                               root->first != segment->first))
        status = fail_read(log, segment->num, arena, "the root", error);
    kedge_buffer_free(&text);
    return status;
}

/* ---- a part ---- */

static bool read_string(kedge_bytes object, const char *name, kedge_arena *arena, kedge_bytes *out)
{
    kedge_bytes value;
    *out = (kedge_bytes){NULL, 0};
    return !kedge_json_member(object, name, &value) || kedge_json_copy_text(value, arena, out);
}

static bool read_entry(kedge_bytes object, const kedge_log_archive_root *root, kedge_arena *arena,
                       kedge_log_entry *out)
{
    char id[KEDGE_LOG_ID_HEX];
    kedge_bytes body;
    *out = (kedge_log_entry){.at = {.segment = root->segment}};
    if (!kedge_json_member_integer(object, "n", &out->at.num) ||
        !kedge_json_member_integer(object, "c", &out->created_s) ||
        !kedge_json_member_integer(object, "v", &out->version) ||
        !kedge_json_member_integer(object, "r", &out->revision) ||
        !kedge_json_member_chars(object, "i", id, sizeof id) ||
        !kedge_hex_decode(kedge_bytes_of(id), out->id, sizeof out->id))
        return false;
    out->at.number = root->first + out->at.num;
    if (kedge_json_member(object, "b", &body) && !kedge_arena_copy(arena, body, &out->body))
        return false;
    return read_string(object, "t", arena, &out->type) &&
           read_string(object, "e", arena, &out->external) &&
           read_string(object, "s", arena, &out->snapshot) &&
           read_string(object, "h", arena, &out->history) &&
           read_string(object, "p", arena, &out->pending) && out->type.size > 0 &&
           (out->body.size > 0) != (out->external.size > 0);
}

static const kedge_log_archive_part *part_of(const kedge_log_archive_root *root, int64_t num)
{
    for (size_t i = 0; i < root->part_count; i++) {
        const kedge_log_archive_part *part = &root->parts[i];
        if (num >= part->from && num < part->from + part->count) return part;
    }
    return NULL;
}

static kedge_status read_entries(const kedge_log *log, const kedge_log_archive_root *root,
                                 const kedge_log_archive_part *part, kedge_bytes object,
                                 kedge_arena *arena, kedge_log_archived *out, kedge_error *error)
{
    kedge_bytes entries, value;
    *out = (kedge_log_archived){
        .entries = kedge_arena_take_array(arena, (size_t)part->count, sizeof *out->entries)};
    if (out->entries == NULL) return kedge_fail_no_memory(error);
    if (!kedge_json_member(object, "entries", &entries))
        return fail(log, root->segment, "a part", error);
    kedge_json_iterator iterator = kedge_json_iterate(entries);
    while (kedge_json_next_element(&iterator, &value)) {
        if ((int64_t)out->count == part->count ||
            !read_entry(value, root, arena, &out->entries[out->count]))
            return fail_read(log, root->segment, arena, "a part", error);
        out->count++;
    }
    if ((int64_t)out->count == part->count && out->entries[0].at.num == part->from) return KEDGE_OK;
    return fail(log, root->segment, "a part", error);
}

/* The text has the hash that the root gives, and what wrote it had checked every body. */
kedge_status kedge_log_archive_read(const kedge_log *log, const kedge_log_archive_root *root,
                                    int64_t num, kedge_arena *arena, kedge_log_archived *out,
                                    kedge_error *error)
{
    const kedge_log_archive_part *part = part_of(root, num);
    *out = (kedge_log_archived){.count = 0};
    if (part == NULL) {
        return kedge_log_corrupt(log, root->segment, num, error, "the archive lacks the entry");
    }
    kedge_buffer text = kedge_buffer_make(log->project->allocator);
    kedge_status status = read_text(log, root->segment, part->hash, &text, error);
    if (status == KEDGE_OK) {
        status = read_entries(log, root, part, kedge_buffer_bytes(&text), arena, out, error);
    }
    kedge_buffer_free(&text);
    return status;
}

/* ---- removal ---- */

static kedge_status remove_blob(const kedge_log *log, const kedge_log_key *key, kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    return blobs->vtable->remove(blobs->self, kedge_log_key_bytes(key), error);
}

static kedge_status remove_part(const kedge_log *log, const kedge_log_archive_root *root,
                                const kedge_log_archive_part *part, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(log->project->allocator);
    kedge_log_archived archived;
    kedge_status status = kedge_log_archive_read(log, root, part->from, &arena, &archived, error);
    for (size_t i = 0; i < archived.count && status == KEDGE_OK; i++) {
        if (archived.entries[i].external.size == 0) continue;
        kedge_log_key body = kedge_log_key_body(log, archived.entries[i].external);
        status = remove_blob(log, &body, error);
    }
    kedge_arena_free(&arena);
    if (status != KEDGE_OK && status != KEDGE_CORRUPT) return status;
    kedge_log_key key = kedge_log_key_archive(log, part->hash);
    return remove_blob(log, &key, error);
}

kedge_status kedge_log_archive_remove(const kedge_log *log, const kedge_log_segment *segment,
                                      kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(log->project->allocator);
    kedge_log_archive_root root;
    kedge_status status = kedge_log_archive_open(log, segment, &arena, &root, error);
    if (status == KEDGE_CORRUPT) status = KEDGE_OK; /* an earlier call removed it */
    for (size_t i = 0; i < root.part_count && status == KEDGE_OK; i++)
        status = remove_part(log, &root, &root.parts[i], error);
    kedge_log_key key = kedge_log_key_archive(log, segment->archive);
    if (status == KEDGE_OK) status = remove_blob(log, &key, error);
    kedge_arena_free(&arena);
    return status;
}
