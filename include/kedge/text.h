/* Edits of texts that several people write: a note, a description. When two people edit one text
 * without knowing of each other, both edits survive. */
#ifndef KEDGE_TEXT_H
#define KEDGE_TEXT_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

/* Makes the edit `kedge.text`: the text at `path` of an item (collection, id) becomes `text`.
 * `path` is a JSON Pointer (RFC 6901): "/text" is the member "text", "" the item itself. `base` is
 * the text that the user saw when the editing began; NULL: the text that is there now. An item that
 * lacks the member has an empty text there. `text`, `base` and `path` are UTF-8, NUL-terminated,
 * and copied. Together, as JSON, they must fit into the args of a mutation (8 MiB).
 *
 * When others have changed the text since `base`, or change it before the server decides, the edit
 * is merged with their changes: by lines, then by words. Where both sides have changed the same
 * words, the words of both stay, those of the others first. Nothing that anybody typed is left out.
 *
 * `*sequence` is the number of the edit, as of kedge_mutate, or 0 when `text` equals `base` and no
 * edit was made. `sequence` may be NULL. Any thread. It waits as kedge_mutate does.
 *
 * Errors: as of kedge_mutate; KEDGE_INVALID_ARGUMENT "text-invalid" when `base` or `text` is not
 * UTF-8, or `path` is no JSON Pointer; KEDGE_REJECTED "item-not-found", or "text-conflict" when the
 * value at `path` is no text. When others delete the item or the text before the server decides,
 * the edit comes into the inbox of rejected ones, with both texts. */
KEDGE_API kedge_status kedge_text_edit(kedge_db *db, const char *collection, const char *id,
                                       size_t id_size, const char *path,
                                       const char *KEDGE_NULLABLE base, const char *text,
                                       int64_t *KEDGE_NULLABLE sequence,
                                       kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
