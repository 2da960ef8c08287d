/* Kedge: read and write a shared project at once, offline or online; sync keeps every copy on one
 * canonical order of changes. This header includes all others. */
#ifndef KEDGE_H
#define KEDGE_H

#include <kedge/allocator.h>
#include <kedge/base.h>
#include <kedge/database.h>
#include <kedge/error.h>
#include <kedge/limits.h>
#include <kedge/mutator.h>
#include <kedge/read.h>
#include <kedge/repair.h>
#include <kedge/sync.h>
#include <kedge/watch.h>

#endif
