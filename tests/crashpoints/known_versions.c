/* What each number's record was, and the version that it made. */
#include "tests/crashpoints/known_versions.h"

#include "backend/ports/records_support.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/version_codec.h"

#include <stdlib.h>

/* A part in blobs may be gone although the record is the same, so such a version is never known. */
static bool is_whole(const kedge_record *record)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    return !kedge_version_part_at(record, 0, hash);
}

/* The attributes of the version's record; without bytes when there is none, or it has parts. */
static kedge_buffer read_record(const kedge_project *project, int64_t number)
{
    kedge_buffer encoded = kedge_buffer_make(project->allocator);
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    const kedge_records *records = project->records;
    if (records->vtable->get(records->self, &key, true, &set, NULL) != KEDGE_OK) return encoded;
    if (is_whole(&set.records[0])) kedge_record_encode(&set.records[0], &encoded);
    kedge_record_set_free(&set);
    return encoded;
}

static void forget(known_version *row)
{
    if (row->version == NULL) return;
    kedge_version_release(row->version);
    kedge_buffer_free(&row->record);
    row->version = NULL;
}

void known_versions_free(known_versions *gone)
{
    for (size_t i = 0; i < KNOWN_VERSIONS_MAX; i++)
        forget(&gone->rows[i]);
}

const kedge_version *known_versions_load(known_versions *known, const kedge_project *project,
                                         int64_t number)
{
    if (number >= KNOWN_VERSIONS_MAX) abort();
    known_version *row = &known->rows[number];
    kedge_buffer record = read_record(project, number);
    const kedge_version *version = row->version;
    if (version == NULL ||
        !kedge_bytes_equal(kedge_buffer_bytes(&row->record), kedge_buffer_bytes(&record))) {
        forget(row);
        if (kedge_version_load(project, number, &version, NULL) != KEDGE_OK) version = NULL;
        if (version != NULL && record.size > 0) {
            *row = (known_version){record, version};
            record = kedge_buffer_make(project->allocator);
        }
    }
    if (row->version != NULL) kedge_version_retain(version);
    kedge_buffer_free(&record);
    return version;
}
