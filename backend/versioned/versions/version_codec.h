/* The version record, written and read. The layout stands at the top of version_encode.c. */
#ifndef KEDGE_BACKEND_VERSIONS_VERSION_CODEC_H
#define KEDGE_BACKEND_VERSIONS_VERSION_CODEC_H

#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/versions/versions.h"

#define KEDGE_VERSION_ATTRIBUTES_MAX 16
#define KEDGE_VERSION_FORMAT         1
#define KEDGE_VERSION_PART_BYTES     16777216 /* plain bytes of one moved part: 16 MiB */
#define KEDGE_VERSION_PARTS_MAX      64       /* of one attribute */

/* A piece of the args or of the delta that stands in blobs. */
typedef struct kedge_version_part {
    uint8_t hash[KEDGE_SHA256_SIZE]; /* of the plain bytes */
    kedge_bytes compressed;
} kedge_version_part;

typedef struct kedge_version_record {
    kedge_arena arena; /* what the attributes and parts borrow from */
    kedge_attribute attributes[KEDGE_VERSION_ATTRIBUTES_MAX];
    size_t attribute_count;
    size_t bytes;              /* names and values */
    kedge_version_part *parts; /* to be put before the record */
    size_t part_count;
} kedge_version_record;

/* The caller must free the record's arena, also after a failure. */
kedge_status kedge_version_encode(const kedge_allocator *allocator, const kedge_version *version,
                                  kedge_version_record *record, kedge_error *error);
/* Puts the parts that do not fit the record: before the record. */
kedge_status kedge_version_put_parts(const kedge_project *project,
                                     const kedge_version_record *record, kedge_error *error);

/* Reads as much as `detail` says, and fetches no parts of anything else. KEDGE_CORRUPT, also when a
 * part is gone. */
kedge_status kedge_version_decode(const kedge_project *project, const kedge_record *record,
                                  kedge_version_detail detail, kedge_version_object **object,
                                  kedge_error *error);

/* The record at KEDGE_VERSION_IMPORTING while a project is imported. Its key is above those of all
 * versions, so a reader that looks for the newest version finds it and knows that the project does
 * not exist yet. */
bool kedge_version_is_import(const kedge_record *record);

/* Write a version as one JSON object with the members of its record, the packed and the moved ones
 * as JSON; and read it back, with the checks of a record (KEDGE_CORRUPT). */
void kedge_version_write_json(const kedge_version *version, kedge_json_writer *writer);
kedge_status kedge_version_read_json(const kedge_project *project, int64_t number, kedge_bytes json,
                                     kedge_version_object **object, kedge_error *error);

/* The hash of the `index`-th blob that the record has moved args or delta to; false after the
 * last. */
bool kedge_version_part_at(const kedge_record *record, size_t index,
                           uint8_t hash[KEDGE_SHA256_SIZE]);

/* The arrays [client, group, user, version, first, last, retired] of `runs` and `recent`. */
void kedge_runs_write(kedge_buffer *out, const kedge_run *runs, size_t count);
kedge_status kedge_runs_read(kedge_bytes text, kedge_arena *arena, kedge_run **runs, size_t *count,
                             kedge_error *error);

/* How many values an array or object holds. */
size_t kedge_json_count(kedge_bytes container);

#endif
