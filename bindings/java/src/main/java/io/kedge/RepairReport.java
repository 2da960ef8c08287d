/* What a repair found. */
package io.kedge;

/**
 * How many edits a repair found: {@code kedge_repair_report} of kedge/repair.h.
 *
 * @param pending saved: the new folder sends them
 * @param rejected saved in the inbox
 * @param confirmed saved for a restore of the backend
 * @param damaged in the inbox with the code "damaged"
 * @param missing known to have existed, but not found; -1: cannot be known
 */
public record RepairReport(long pending, long rejected, long confirmed, long damaged,
        long missing) {}
