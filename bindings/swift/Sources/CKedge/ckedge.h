/* What Swift sees of libkedge: its headers, and the initialisers of its structs, which are macros
 * that Swift cannot read. */
#ifndef CKEDGE_H
#define CKEDGE_H

#include <kedge/cjson.h>
#include <kedge/kedge.h>

static inline kedge_options ckedge_options(void)
{
    return (kedge_options)KEDGE_OPTIONS_INIT;
}

static inline kedge_scan_options ckedge_scan_options(void)
{
    return (kedge_scan_options)KEDGE_SCAN_OPTIONS_INIT;
}

static inline kedge_sync_status ckedge_sync_status(void)
{
    return (kedge_sync_status)KEDGE_SYNC_STATUS_INIT;
}

static inline kedge_mutation ckedge_mutation(void)
{
    return (kedge_mutation)KEDGE_MUTATION_INIT;
}

static inline kedge_undo_result ckedge_undo_result(void)
{
    return (kedge_undo_result)KEDGE_UNDO_RESULT_INIT;
}

static inline kedge_undo_state ckedge_undo_state(void)
{
    return (kedge_undo_state)KEDGE_UNDO_STATE_INIT;
}

static inline kedge_stats ckedge_stats(void)
{
    return (kedge_stats)KEDGE_STATS_INIT;
}

static inline kedge_repair_report ckedge_repair_report(void)
{
    return (kedge_repair_report)KEDGE_REPAIR_REPORT_INIT;
}

#endif
