/* The messages of event logs: append, entries, metadata, truncation, archives, and the description
 * of a log.
 *
 * Readers of requests have the errors of wire/request.h. Readers of responses are strict: they
 * return KEDGE_PROTOCOL when the body is not such a response. */
#ifndef KEDGE_WIRE_LOG_H
#define KEDGE_WIRE_LOG_H

#include "wire/poke.h"
#include "wire/request.h"

#define KEDGE_WIRE_LOG_ID_SIZE       16
#define KEDGE_WIRE_LOG_TYPE_BYTES    64
#define KEDGE_WIRE_LOG_METADATA_SIZE 1025 /* with a NUL */

/* ---- append ---- */

/* Borrows its texts. */
typedef struct kedge_wire_log_append {
    kedge_bytes type; /* of a read request: in type_text */
    int64_t version;
    kedge_bytes body; /* JSON; empty: null */
    int64_t expected; /* -1: at the end */
    int64_t since;    /* -1: none */
    bool has_id;
    uint8_t id[KEDGE_WIRE_LOG_ID_SIZE];
    bool entries; /* a conflict responds with the entries in between */
    char type_text[KEDGE_WIRE_LOG_TYPE_BYTES + 1];
} kedge_wire_log_append;

void kedge_wire_log_append_write(const kedge_wire_log_append *request, kedge_buffer *out);
/* `out` must not be moved; `body` borrows from the request. */
kedge_status kedge_wire_log_append_read(const kedge_wire_request *request,
                                        kedge_wire_log_append *out, kedge_error *error);

typedef struct kedge_wire_log_appended {
    int64_t number;
    bool before; /* the entry was there already */
} kedge_wire_log_appended;

void kedge_wire_log_appended_write(const kedge_wire_log_appended *response, kedge_buffer *out);
kedge_status kedge_wire_log_appended_read(kedge_bytes body, kedge_wire_log_appended *out,
                                          kedge_error *error);

/* ---- entries ---- */

/* Texts are empty when they are absent, but for the type. */
typedef struct kedge_wire_log_entry {
    int64_t number;
    int64_t created_s;
    kedge_bytes type;
    int64_t version;
    uint8_t id[KEDGE_WIRE_LOG_ID_SIZE];
    kedge_bytes body; /* JSON */
    kedge_bytes snapshot;
    kedge_bytes history;
    kedge_bytes pending;
} kedge_wire_log_entry;

/* A page is written piece by piece: begin, the entries, end. */
void kedge_wire_log_page_begin(kedge_json_writer *writer);
void kedge_wire_log_entry_write(kedge_json_writer *writer, const kedge_wire_log_entry *entry);

typedef struct kedge_wire_log_page {
    int64_t next;          /* where the next page starts; -1: there is none */
    int64_t last_snapshot; /* a number; -1: none */
    bool reload;           /* the reader was too far behind: the page starts at a snapshot */
} kedge_wire_log_page;

void kedge_wire_log_page_end(kedge_json_writer *writer, const kedge_wire_log_page *page);

/* A page that was read. Its texts are in `text`, or borrow from the body. */
typedef struct kedge_wire_log_entries {
    kedge_wire_log_page page;
    kedge_wire_log_entry *entries;
    size_t count;
    kedge_buffer text;
    const kedge_allocator *allocator;
} kedge_wire_log_entries;

/* The caller zeroes `out` before, and frees it in every case. */
kedge_status kedge_wire_log_entries_read(const kedge_allocator *allocator, kedge_bytes body,
                                         kedge_wire_log_entries *out, kedge_error *error);
void kedge_wire_log_entries_free(kedge_wire_log_entries *entries);

/* A conflict: the problem `log-conflict` with the next number, and, when they were asked for, a
 * page of the entries from the expected number on. Begin, entries, end. */
void kedge_wire_log_conflict_begin(kedge_json_writer *writer, int64_t next, const char *detail,
                                   bool entries);
void kedge_wire_log_conflict_end(kedge_json_writer *writer, const kedge_wire_log_page *page);
/* Of a problem with the code `log-conflict`. */
kedge_status kedge_wire_log_conflict_read(kedge_bytes body, int64_t *next, kedge_error *error);

/* ---- metadata ---- */

/* A member whose `data` is NULL is not changed; an empty one is removed. The server refuses to
 * remove a snapshot. */
typedef struct kedge_wire_log_metadata {
    kedge_bytes snapshot;
    kedge_bytes history;
    kedge_bytes pending;
    char text[3][KEDGE_WIRE_LOG_METADATA_SIZE]; /* what they point into when they were read */
} kedge_wire_log_metadata;

void kedge_wire_log_metadata_write(const kedge_wire_log_metadata *request, kedge_buffer *out);
/* `out` must not be moved. */
kedge_status kedge_wire_log_metadata_read(const kedge_wire_request *request,
                                          kedge_wire_log_metadata *out, kedge_error *error);

/* ---- truncation ---- */

/* {"before":N} */
void kedge_wire_log_truncate_write(int64_t before, kedge_buffer *out);
kedge_status kedge_wire_log_truncate_read(const kedge_wire_request *request, int64_t *before,
                                          kedge_error *error);

/* ---- archives ---- */

typedef struct kedge_wire_log_archive {
    bool remove;       /* deletes the entries from the table */
    int64_t expires_s; /* since 1970: when they may be deleted, instead; 0: not given */
} kedge_wire_log_archive;

void kedge_wire_log_archive_write(const kedge_wire_log_archive *request, kedge_buffer *out);
kedge_status kedge_wire_log_archive_read(const kedge_wire_request *request,
                                         kedge_wire_log_archive *out, kedge_error *error);

/* ---- a log ---- */

typedef struct kedge_wire_log_info {
    kedge_bytes log; /* its name; of a read response: in name_text */
    int64_t created_s;
    int64_t segment;
    int64_t first;
    int64_t next;
    int64_t last_snapshot; /* -1: none */
    kedge_bytes snapshot;  /* its id; of a read response: in snapshot_text */
    char name_text[KEDGE_LIMIT_NAME_BYTES + 1];
    char snapshot_text[KEDGE_WIRE_LOG_METADATA_SIZE];
} kedge_wire_log_info;

void kedge_wire_log_info_write(const kedge_wire_log_info *info, kedge_buffer *out);
/* `out` must not be moved. */
kedge_status kedge_wire_log_info_read(kedge_bytes body, kedge_wire_log_info *out,
                                      kedge_error *error);

/* ---- events ---- */

/* An event of a log's stream: at least the entry of this number is appended. Returns its size,
 * without a NUL. */
size_t kedge_wire_log_event_write(int64_t number, char out[KEDGE_WIRE_EVENT_BYTES_MAX]);
/* False when the event is another one. */
bool kedge_wire_log_event_read(kedge_bytes event, kedge_bytes data, int64_t *number);

#endif
