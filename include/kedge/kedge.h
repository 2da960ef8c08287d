/* Kedge, a local-first sync SDK: an app reads and writes a local copy of a shared project, online
 * or offline, and Kedge syncs the copy with the server, which decides the order of all changes.
 * This header includes all others. */
#ifndef KEDGE_H
#define KEDGE_H

#include <kedge/allocator.h>
#include <kedge/base.h>
#include <kedge/batch.h>
#include <kedge/database.h>
#include <kedge/error.h>
#include <kedge/index.h>
#include <kedge/limits.h>
#include <kedge/log.h>
#include <kedge/loop.h>
#include <kedge/mutator.h>
#include <kedge/order.h>
#include <kedge/read.h>
#include <kedge/repair.h>
#include <kedge/stats.h>
#include <kedge/sync.h>
#include <kedge/text.h>
#include <kedge/undo.h>
#include <kedge/watch.h>

#endif
