/* JSON Patch (RFC 6902) on a document. */
#ifndef KEDGE_MUTATE_JSON_PATCH_H
#define KEDGE_MUTATE_JSON_PATCH_H

#include "mutate/json_document.h"

/* Makes the changes of `patch`, canonical JSON, to the document; it may then be nested deeper than
 * KEDGE_LIMIT_JSON_DEPTH. When this fails, some of them may be made. KEDGE_LIMIT_EXCEEDED when the
 * document's cost is over its limit. KEDGE_REJECTED with the codes args-invalid (no patch),
 * patch-path-not-found, patch-test-failed, patch-removes-root, patch-moves-into-itself; the message
 * names the operation by its place, from 0. KEDGE_NO_MEMORY. */
kedge_status kedge_json_patch(kedge_json_document *document, kedge_bytes patch, kedge_error *error);

#endif
