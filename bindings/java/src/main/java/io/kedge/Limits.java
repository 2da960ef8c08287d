/* The limits of Kedge: those of kedge/limits.h. */
package io.kedge;

/** Limits by their names without KEDGE_LIMIT_. A test compares them with the header. */
public final class Limits {
    /** Organization, project, collection, mutator. */
    public static final int NAME_BYTES = 64;
    /** Of an app. */
    public static final int SCHEMA_VERSION_BYTES = 64;
    /** Client and client group ids. */
    public static final int CLIENT_ID_BYTES = 128;
    /** Any UTF-8, also empty. */
    public static final int ITEM_ID_BYTES = 512;
    /** Canonical JSON of the project record. */
    public static final int PROJECT_RECORD_BYTES = 1536;
    /** Canonical JSON of one item: 8 MiB. */
    public static final int ITEM_BYTES = 8388608;
    /** Canonical JSON of a mutation's args: 8 MiB. */
    public static final int ARGS_BYTES = 8388608;
    /** Nested arrays and objects. */
    public static final int JSON_DEPTH = 64;
    /** 2^53 - 1. */
    public static final long MUTATION_ID = 9007199254740991L;
    /** Rejection code bytes. */
    public static final int REJECTION_CODE_BYTES = 63;
    /** Rejection message bytes. */
    public static final int REJECTION_MESSAGE_BYTES = 255;
    /** Any UTF-8, not empty. */
    public static final int RESOURCE_ID_BYTES = 512;
    /** Canonical JSON of one version: 256 KiB. */
    public static final int RESOURCE_BYTES = 262144;
    /** Collections. */
    public static final int COLLECTIONS = 256;
    /** Collection items. */
    public static final int COLLECTION_ITEMS = 1000000;
    /** Indexes. */
    public static final int INDEXES = 32;
    /** Of one index. */
    public static final int INDEX_PATHS = 4;
    /** Of one path. */
    public static final int INDEX_PATH_BYTES = 128;
    /** Watch rows. */
    public static final int WATCH_ROWS = 10000;
    /** Keys and rows: 16 MiB. */
    public static final int WATCH_BYTES = 16777216;
    /** Readers. */
    public static final int READERS = 64;
    /** 16 MiB. */
    public static final int PUSH_BYTES = 16777216;
    /** Push mutations. */
    public static final int PUSH_MUTATIONS = 10000;
    /** Items changed by one mutation. */
    public static final int MUTATION_CHANGES = 10000;
    /** In one kedge.batch. */
    public static final int BATCH_MUTATIONS = 10000;
    /** Of a client-only mutation, until conflicts end it. */
    public static final int APPLY_ATTEMPTS = 5;
    /** Outcomes per pull. */
    public static final int OUTCOMES_PER_PULL = 1000;
    /** Named in one retire request. */
    public static final int EARLIER_CLIENTS = 64;
    /** Request deadline ms. */
    public static final int REQUEST_DEADLINE_MS = 30000;
    /** Undo groups. */
    public static final int UNDO_GROUPS = 100;
    /** Undo changes. */
    public static final int UNDO_CHANGES = 10000;
    /** 4 MiB. */
    public static final int UNDO_GROUP_BYTES = 4194304;
    /** 16 MiB. */
    public static final int UNDO_BYTES = 16777216;
    /** Confirmed tail. */
    public static final int CONFIRMED_TAIL = 10000;
    /** 30 days. */
    public static final long CONFIRMED_TAIL_MS = 2592000000L;

    private Limits() {}
}
