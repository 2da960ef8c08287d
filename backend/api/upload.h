/* Pushes whose body was uploaded. */
#ifndef KEDGE_BACKEND_API_UPLOAD_H
#define KEDGE_BACKEND_API_UPLOAD_H

#include "backend/api/call.h"
#include "backend/versioned/model/layout.h"

/* The body of a push that was uploaded. The call's request borrows from it. */
typedef struct kedge_api_upload {
    bool opened;
    kedge_key key;
    kedge_buffer body;
    kedge_api_request request;                    /* the call's, with that body, which takes room */
    bool (*has_room)(void *context, size_t size); /* of the call's; NULL: there is */
    void *room_context;
} kedge_api_upload;

static inline bool kedge_api_uploads_are_served(const kedge_backend *backend)
{
    return backend->options.blobs.vtable->presign_put != NULL;
}
/* When the request names an upload, replaces the request's body by that of the upload. Refuses the
 * call and returns false when there is no such upload. The caller must close it in both cases. */
bool kedge_api_upload_open(kedge_api_call *call, kedge_api_upload *upload);
/* Removes the upload when the response to the push is 200. */
void kedge_api_upload_close(kedge_api_call *call, kedge_api_upload *upload);

#endif
