/* Edits of texts that several people write: a note, a description. When two people edit one text
 * without knowing of each other, both edits survive. */
#ifndef KEDGE_TEXT_H
#define KEDGE_TEXT_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Makes the edit `kedge.text`: the text at `path` of an item (collection, id) becomes `text`.
 * `path` is a JSON Pointer (RFC 6901): "/text" is the member "text", "" the item itself. `base` is
 * what the user saw when the editing began; NULL: what is there now. An item that lacks the member
 * has an empty text there. Texts are UTF-8, NUL-terminated. Together, as JSON, they must fit into
 * the args of a mutation (8 MiB).
 *
 * Where others changed the text since `base`, now or before the server decides, the edit is merged
 * with theirs: by lines, then by words. Where both changed the same words, both stay, theirs first.
 * Nothing that anybody typed is left out.
 *
 * `*sequence` is the edit's, as of kedge_mutate; 0 when `text` is `base`, and no edit was made. It
 * may be NULL. Any thread. Errors: as of kedge_mutate; KEDGE_INVALID_ARGUMENT "text-invalid":
 * `base` or `text` is no UTF-8, or `path` no JSON Pointer; KEDGE_REJECTED: "item-not-found", or
 * "text-conflict" when the value at `path` is no text. When others delete the item or the text
 * before the server decides, the edit is in the inbox of rejected ones, with both texts. */
KEDGE_API kedge_status kedge_text_edit(kedge_db *db, const char *collection, const char *id,
                                       size_t id_size, const char *path,
                                       const char *KEDGE_NULLABLE base, const char *text,
                                       int64_t *KEDGE_NULLABLE sequence,
                                       kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
