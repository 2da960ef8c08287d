/* Documents: a value and its id in one block. */
#ifndef KEDGE_SDK_RUNTIME_DOCUMENT_H
#define KEDGE_SDK_RUNTIME_DOCUMENT_H

#include "common/bytes.h"
#include <kedge/read.h>

/* Copies both. */
kedge_status kedge_document_new(const kedge_allocator *allocator, kedge_bytes id, kedge_bytes json,
                                kedge_document **document, kedge_error *error);

#endif
