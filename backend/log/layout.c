/* The keys of logs, built and read back. */
#include "backend/log/layout.h"

#include "common/assert.h"
#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SIX_BITS 6

/* In the order of their bytes. */
static const char characters[65] =
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

kedge_bytes kedge_log_key_bytes(const kedge_log_key *key)
{
    return (kedge_bytes){key->text, key->size};
}

static void append_character(kedge_log_key *key, char character)
{
    KEDGE_ASSERT(key->size + 1 < sizeof key->text);
    key->text[key->size++] = character;
    key->text[key->size] = '\0';
}

static void append_id(kedge_log_key *key, const uint8_t id[KEDGE_LOG_ID_SIZE])
{
    uint32_t bits = 0;
    uint32_t held = 0;
    for (size_t i = 0; i < KEDGE_LOG_ID_SIZE; i++) {
        bits = (bits << 8) | id[i];
        for (held += 8; held >= SIX_BITS; held -= SIX_BITS)
            append_character(key, characters[(bits >> (held - SIX_BITS)) & 63]);
    }
    append_character(key, characters[(bits << (SIX_BITS - held)) & 63]);
}

static void append_num(kedge_log_key *key, int64_t num)
{
    int digits = 1;
    KEDGE_ASSERT(num >= 0 && num <= KEDGE_LOG_NUMBER_MAX);
    while (num >> (SIX_BITS * digits) > 0)
        digits++;
    append_character(key, (char)('0' + digits));
    for (int i = digits - 1; i >= 0; i--)
        append_character(key, characters[(num >> (SIX_BITS * i)) & 63]);
}

kedge_log_key kedge_log_key_segments(const kedge_log *log)
{
    kedge_log_key key = {.text = "S#", .size = 2};
    append_id(&key, log->id);
    return key;
}

kedge_log_key kedge_log_key_entries(const kedge_log *log, int64_t segment)
{
    kedge_log_key key = {.text = "E#", .size = 2};
    append_id(&key, log->id);
    append_num(&key, segment);
    return key;
}

kedge_log_key kedge_log_key_pending(const kedge_log *log)
{
    kedge_log_key key = {.text = "P#", .size = 2};
    append_id(&key, log->id);
    return key;
}

static kedge_log_key key_of_project(const char *before, const kedge_project_ref *ref,
                                    const char *between, const char *behind)
{
    kedge_log_key key;
    int size = snprintf(key.text, sizeof key.text, "%s%.*s%s%.*s%s", before,
                        (int)ref->organization.size, ref->organization.data, between,
                        (int)ref->project.size, ref->project.data, behind);
    KEDGE_ASSERT(size > 0 && (size_t)size < sizeof key.text);
    key.size = (size_t)size;
    return key;
}

kedge_log_key kedge_log_key_logs(const kedge_project_ref *ref)
{
    return key_of_project("L#", ref, "/", "");
}

kedge_log_key kedge_log_key_reprocess(const kedge_project_ref *ref)
{
    return key_of_project("Reprocess#", ref, "/", "");
}

kedge_log_key kedge_log_key_blobs(const kedge_project_ref *ref)
{
    return key_of_project("", ref, "/logs/", "/");
}

kedge_log_key kedge_log_key_num(int64_t num)
{
    kedge_log_key key = {.size = 0};
    append_num(&key, num);
    return key;
}

/* -1: none of the characters. */
static int64_t value_of(char character)
{
    for (int64_t i = 0; i < 64; i++) {
        if (characters[i] == character) return i;
    }
    return -1;
}

bool kedge_log_key_read_num(kedge_bytes sort, int64_t *num)
{
    int64_t value = 0;
    if (sort.size < 2 || sort.data[0] < '1' || sort.data[0] > '9') return false;
    if (sort.size != (size_t)(sort.data[0] - '0') + 1) return false;
    for (size_t i = 1; i < sort.size; i++) {
        int64_t six_bits = value_of(sort.data[i]);
        if (six_bits < 0 || (six_bits == 0 && i == 1 && sort.size > 2)) return false;
        value = value * 64 + six_bits;
    }
    if (value > KEDGE_LOG_NUMBER_MAX) return false;
    *num = value;
    return true;
}

static void append(kedge_log_key *key, kedge_bytes text)
{
    KEDGE_ASSERT(key->size + text.size < sizeof key->text);
    memcpy(key->text + key->size, text.data, text.size);
    key->size += text.size;
    key->text[key->size] = '\0';
}

static kedge_log_key blobs_prefix(const kedge_log *log, const char *folder)
{
    const kedge_project_ref *ref = &log->project->ref;
    kedge_log_key key;
    int size = snprintf(key.text, sizeof key.text, "%.*s/logs/%.*s/%.*s/%s/",
                        (int)ref->organization.size, ref->organization.data, (int)ref->project.size,
                        ref->project.data, (int)log->name.size, log->name.data, folder);
    KEDGE_ASSERT(size > 0 && (size_t)size < sizeof key.text);
    key.size = (size_t)size;
    return key;
}

static kedge_log_key blob_key(const kedge_log *log, const char *folder, kedge_bytes name)
{
    kedge_log_key key = blobs_prefix(log, folder);
    append(&key, name);
    append(&key, KEDGE_BYTES(".json.gz"));
    return key;
}

kedge_log_key kedge_log_key_body(const kedge_log *log, kedge_bytes name)
{
    return blob_key(log, "bodies", name);
}

kedge_log_key kedge_log_key_archive(const kedge_log *log, const char hash[KEDGE_SHA256_HEX])
{
    return blob_key(log, "archive", kedge_bytes_of(hash));
}

kedge_log_key kedge_log_key_snapshot(const kedge_log *log, kedge_bytes id)
{
    return blob_key(log, "snapshots", id);
}

kedge_log_key kedge_log_key_snapshots(const kedge_log *log, kedge_bytes id)
{
    kedge_log_key key = blobs_prefix(log, "snapshots");
    append(&key, id);
    if (id.size > 0) append(&key, KEDGE_BYTES("/"));
    return key;
}

kedge_log_key kedge_log_key_snapshot_part(const kedge_log *log, kedge_bytes id, kedge_bytes hash)
{
    kedge_log_key key = kedge_log_key_snapshots(log, id);
    append(&key, hash);
    append(&key, KEDGE_BYTES(".json.gz"));
    return key;
}

/* A UUID of version 8 (RFC 9562, section 5.8), made of the names: whoever knows these knows it,
 * and no two organizations share one. */
kedge_log kedge_log_of(const kedge_project *project, kedge_bytes name)
{
    kedge_log log = {.project = project, .name = name};
    const kedge_bytes pieces[] = {KEDGE_BYTES("kedge log\n"), project->ref.organization,
                                  KEDGE_BYTES("/"),           project->ref.project,
                                  KEDGE_BYTES("/"),           name};
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256_of(pieces, sizeof pieces / sizeof pieces[0], hash);
    memcpy(log.id, hash, sizeof log.id);
    log.id[6] = (uint8_t)((log.id[6] & 0x0f) | 0x80);
    log.id[8] = (uint8_t)((log.id[8] & 0x3f) | 0x80);
    return log;
}

kedge_status kedge_log_corrupt(const kedge_log *log, int64_t segment, int64_t num,
                               kedge_error *error, const char *format, ...)
{
    char what[160];
    char entry[40] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (num >= 0) snprintf(entry, sizeof entry, ", entry %lld", (long long)num);
    return kedge_fail(error, KEDGE_CORRUPT, KEDGE_LOG_CORRUPT,
                      "the log %.*s is corrupt at segment %lld%s: %s", (int)log->name.size,
                      log->name.data, (long long)segment, entry, what);
}
