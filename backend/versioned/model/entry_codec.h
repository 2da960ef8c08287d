/* An item as deltas, chunks and collection maps hold it: a member of a JSON object,
 *
 *     "id": {"hash": "…64 digits…", "size": N, "meta": {…}, "body": …}     or     "id": null
 *
 * `size` stands only without a body, whose own length it is otherwise; `meta` only when there is
 * any; `body` is the item's canonical JSON when it is small. null is a deletion and occurs in
 * deltas. */
#ifndef KEDGE_BACKEND_MODEL_ENTRY_CODEC_H
#define KEDGE_BACKEND_MODEL_ENTRY_CODEC_H

#include "backend/versioned/model/version.h"
#include "common/arena.h"
#include "common/json.h"

void kedge_entry_write(kedge_json_writer *writer, const kedge_entry *entry, bool deleted);

/* `key` and `value` as an iterator gives them. The entry borrows from them and from the arena. */
kedge_status kedge_entry_read(kedge_bytes key, kedge_bytes value, kedge_arena *arena,
                              kedge_entry *entry, bool *deleted, kedge_error *error);

/* A string value's text: borrowed when it has no escapes, else decoded into the arena. */
kedge_status kedge_text_read(kedge_bytes value, kedge_arena *arena, kedge_bytes *text,
                             kedge_error *error);

/* Returns the error for a stored text that is damaged. */
kedge_status kedge_record_damaged(const char *what, kedge_error *error);

#endif
