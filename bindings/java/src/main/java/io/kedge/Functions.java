/* The app's functions that are given to Database.builder. */
package io.kedge;

import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** Null where the app has none. */
final class Functions {
    Supplier<String> token;
    Executor dispatch;
    LogFunction log;

    /** The same functions, for a database: its builder may be changed and used again. */
    Functions copy() {
        Functions made = new Functions();
        made.token = token;
        made.dispatch = dispatch;
        made.log = log;
        return made;
    }
}
