/* What an undo did. */
package io.kedge;

/**
 * What an undo or redo did.
 *
 * @param sequence of the edit that it is
 * @param restored places that have their old value again
 * @param kept places that somebody had changed since, and that stay
 */
public record UndoResult(long sequence, long restored, long kept) {}
