/* Listing the keys of a folder in byte order. */
#ifndef KEDGE_BACKEND_SQLITE_FOLDER_LIST_H
#define KEDGE_BACKEND_SQLITE_FOLDER_LIST_H

#include "backend/ports/blobs.h"
#include "backend/sqlite/folder_files.h"

/* Fills `list`, which started from {0}; a failure leaves it to kedge_blob_list_free. */
kedge_status kedge_folder_list(const kedge_folder *folder, kedge_bytes prefix, kedge_bytes after,
                               size_t limit, kedge_blob_list *list, kedge_error *error);

#endif
