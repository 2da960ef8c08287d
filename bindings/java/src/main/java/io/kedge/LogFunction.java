/* A log of an app. */
package io.kedge;

/** Gets a line for each event of a database: see kedge/log.h. */
@FunctionalInterface
public interface LogFunction {
    /**
     * Called on Kedge's thread, one line at a time.
     *
     * @param level how important the line is
     * @param event stable, for programs
     * @param message an English text for people, which may change
     */
    void log(LogLevel level, String event, String message);
}
