/* JSON as an attribute of a record: text while it is short, else gzip when that is smaller. */
#ifndef KEDGE_BACKEND_BASE_PACKED_H
#define KEDGE_BACKEND_BASE_PACKED_H

#include "backend/ports/records.h"
#include "common/arena.h"

#define KEDGE_PACK_TEXT_BYTES 128
/* The most that one packed attribute or blob may have when it is unpacked: 256 MiB. A version with
 * a larger delta could be committed, but not read again. The largest delta is that of one mutation
 * that changes as many items as it may, each with KEDGE_BODY_INLINE_BYTES: some 130 MB. */
#define KEDGE_UNPACK_BYTES_MAX 268435456

/* Fills `attribute`; its bytes are the arena's. `name` is static storage. */
kedge_status kedge_pack(const char *name, kedge_bytes plain, kedge_arena *arena,
                        kedge_attribute *attribute, kedge_error *error);
/* `plain` borrows from the arena. KEDGE_CORRUPT. */
kedge_status kedge_unpack(const kedge_attribute *attribute, kedge_arena *arena, kedge_bytes *plain,
                          kedge_error *error);
/* gunzip of a whole blob into the arena. */
kedge_status kedge_unpack_gzip(kedge_bytes compressed, kedge_arena *arena, kedge_bytes *plain,
                               kedge_error *error);

#endif
