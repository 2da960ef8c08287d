/* The options of a database. */
package io.kedge;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Options of a database, and {@link #open}. kedge/database.h explains every option. A folder, an
 * organization and a project are required.
 */
public final class DatabaseBuilder {
    private final String path;
    private final List<NamedMutator> mutators = new ArrayList<>();
    private final List<NamedMutator> clientMutators = new ArrayList<>();
    private final Functions functions = new Functions();
    private String url;
    private String caFile;
    private String organization;
    private String project;
    private String user;
    private String role;
    private String schemaVersion;
    private boolean offline;
    private boolean createProject;
    private boolean callerDriven;
    private long serverWaitMs;
    private LogLevel logLevel = LogLevel.ERROR;

    DatabaseBuilder(String path) {
        this.path = path;
    }

    /**
     * The server.
     *
     * @param text for example "https://sync.example.com"; null: it never syncs
     * @return this builder
     */
    public DatabaseBuilder url(String text) {
        url = text;
        return this;
    }

    /**
     * The certificates that are trusted.
     *
     * @param file PEM; null: those of the system
     * @return this builder
     */
    public DatabaseBuilder caFile(String file) {
        caFile = file;
        return this;
    }

    /**
     * The tenant.
     *
     * @param name cannot change after the folder's first open
     * @return this builder
     */
    public DatabaseBuilder organization(String name) {
        organization = name;
        return this;
    }

    /**
     * The project that is synced.
     *
     * @param name cannot change after the folder's first open
     * @return this builder
     */
    public DatabaseBuilder project(String name) {
        project = name;
        return this;
    }

    /**
     * A mutator that the server has, too.
     *
     * @param name of the mutator
     * @param version at least 1; increase it when the behaviour changes
     * @param function must do the same as the server's
     * @return this builder
     */
    public DatabaseBuilder mutator(String name, int version, Mutator function) {
        mutators.add(named(name, version, function));
        return this;
    }

    /**
     * A mutator that the app alone has. What it has read and written is sent to the server.
     *
     * @param name of the mutator
     * @param function the mutator
     * @return this builder
     */
    public DatabaseBuilder clientMutator(String name, Mutator function) {
        clientMutators.add(named(name, 1, function));
        return this;
    }

    private static NamedMutator named(String name, int version, Mutator function) {
        if (function == null) {
            throw new KedgeException.InvalidArgument("mutator-invalid",
                    "the mutator " + name + " has no function");
        }
        if (version < 1) { // to C a negative one would be a large one
            throw new KedgeException.InvalidArgument("mutator-invalid", "the mutator " + name
                    + " has version " + version + "; versions start at 1");
        }
        return new NamedMutator(name, version, function);
    }

    /**
     * The user that mutators see here, and that a server in open mode sees.
     *
     * @param name at most 255 bytes
     * @return this builder
     */
    public DatabaseBuilder user(String name) {
        user = name;
        return this;
    }

    /**
     * The role that mutators see here.
     *
     * @param name any text
     * @return this builder
     */
    public DatabaseBuilder role(String name) {
        role = name;
        return this;
    }

    /**
     * The version of what this release of the app writes.
     *
     * @param version 1 to 64 of A-Z a-z 0-9 _ . -
     * @return this builder
     */
    public DatabaseBuilder schemaVersion(String version) {
        schemaVersion = version;
        return this;
    }

    /**
     * Whether the database waits for {@link Database#setOnline} before it syncs.
     *
     * @param whether true: it waits
     * @return this builder
     */
    public DatabaseBuilder offline(boolean whether) {
        offline = whether;
        return this;
    }

    /**
     * Whether a database that has never synced asks the server to create the project.
     *
     * @param whether true: it asks
     * @return this builder
     */
    public DatabaseBuilder createProject(boolean whether) {
        createProject = whether;
        return this;
    }

    /**
     * Whether Kedge starts no thread, and the app runs {@link Database#loop}.
     *
     * @param whether true: no thread
     * @return this builder
     */
    public DatabaseBuilder callerDriven(boolean whether) {
        callerDriven = whether;
        return this;
    }

    /**
     * How long an edit waits for a server that lacks its mutator.
     *
     * @param milliseconds 0: until the server is newer; -1: it does not wait
     * @return this builder
     */
    public DatabaseBuilder serverWaitMs(long milliseconds) {
        serverWaitMs = milliseconds;
        return this;
    }

    /**
     * Gives the bearer token. It is called on Kedge's thread. When it throws, the database stays
     * offline until {@link Database#setOnline} or the next edit; {@link SyncStatus#lastError} tells
     * what it threw.
     *
     * @param function gives the token
     * @return this builder
     */
    public DatabaseBuilder token(Supplier<String> function) {
        functions.token = function;
        return this;
    }

    /**
     * Runs the functions of watches. The status and the query of a watch are read there, too, and
     * may take a turn: so an app whose user interface must not wait leaves it out, and hands over
     * what its functions get, for example by {@code SwingUtilities.invokeLater}.
     *
     * @param executor must run each task; null: Kedge's thread runs them
     * @return this builder
     */
    public DatabaseBuilder dispatch(Executor executor) {
        functions.dispatch = executor;
        return this;
    }

    /**
     * Gets the log.
     *
     * @param level the least important lines that are told
     * @param function gets them
     * @return this builder
     */
    public DatabaseBuilder log(LogLevel level, LogFunction function) {
        logLevel = level;
        functions.log = function;
        return this;
    }

    /**
     * Opens or creates the database. Waits until other processes that have the folder open have
     * finished what they write. When the mutators are not those of the last opening, all pending
     * edits run again before it returns, which may take seconds: open on a thread that may wait.
     *
     * @return the database, which the app closes
     * @throws KedgeException when an option is not allowed, or the folder cannot be opened
     */
    public Database open() {
        NativeLibrary.load();
        byte[][] texts = {
            Texts.terminated(path, "path"), Texts.terminatedOrNull(url, "url"),
            Texts.terminatedOrNull(caFile, "caFile"),
            Texts.terminatedOrNull(organization, "organization"),
            Texts.terminatedOrNull(project, "project"), Texts.terminatedOrNull(user, "user"),
            Texts.terminatedOrNull(role, "role"),
            Texts.terminatedOrNull(schemaVersion, "schemaVersion")};
        long[] numbers = {
            offline ? 1 : 0, createProject ? 1 : 0, callerDriven ? 1 : 0, serverWaitMs,
            logLevel.ordinal(), functions.token == null ? 0 : 1,
            functions.dispatch == null ? 0 : 1, functions.log == null ? 0 : 1, mutators.size()};
        List<NamedMutator> all = new ArrayList<>(mutators);
        all.addAll(clientMutators);
        byte[][] names = new byte[all.size()][];
        for (int i = 0; i < names.length; i++) {
            names[i] = Texts.terminated(all.get(i).name, "mutator's name");
        }
        return open(texts, numbers, all, names);
    }

    private Database open(byte[][] texts, long[] numbers, List<NamedMutator> all, byte[][] names) {
        List<Long> tokens = new ArrayList<>();
        Functions kept = functions.copy();
        tokens.add(Callbacks.keep(kept));
        long[] mutatorNumbers = new long[2 * names.length];
        for (int i = 0; i < names.length; i++) {
            mutatorNumbers[2 * i] = all.get(i).version;
            mutatorNumbers[2 * i + 1] = Callbacks.keep(all.get(i));
            tokens.add(mutatorNumbers[2 * i + 1]);
        }
        try {
            long made = Native.open(texts, numbers, tokens.get(0), names, mutatorNumbers);
            return new Database(new DatabaseHandle(made, tokens, all), kept);
        } catch (RuntimeException | Error failure) {
            tokens.forEach(Callbacks::drop);
            throw failure;
        }
    }
}
