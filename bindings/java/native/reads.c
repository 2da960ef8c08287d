/* Methods of io.kedge.Native that read: items, scans, queries, indexes, counters. */
#include "kedge_java.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The JSON of a document, which is freed. */
static jbyteArray document_bytes(JNIEnv *env, kedge_document *document)
{
    java_text text = {0};
    text.bytes = kedge_document_json(document, &text.size);
    jbyteArray made = java_bytes(env, text);
    kedge_document_free(document);
    return made;
}

/* NULL when there is none and `or_null`, or when an exception is pending. */
static kedge_document *read_item(JNIEnv *env, jlong db, jbyteArray collection, jbyteArray id,
                                 jboolean or_null)
{
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){collection, id}, copies, 2)) return NULL;
    kedge_document *document = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_get(java_pointer(db), copies[0].bytes, copies[1].bytes,
                                          copies[1].size, &document, &error);
    java_free_all(copies, 2);
    if (status == KEDGE_NOT_FOUND && or_null) return NULL;
    return java_ok(env, status, &error) ? document : NULL;
}

static jobject get(JNIEnv *env, jclass class, jlong db, jbyteArray collection, jbyteArray id,
                   jboolean or_null)
{
    (void)class;
    java_text text = {0};
    kedge_document *document = read_item(env, db, collection, id, or_null);
    if (!document) return NULL;
    text.bytes = kedge_document_json(document, &text.size);
    jobject made = java_string(env, text);
    kedge_document_free(document);
    return made;
}

static jbyteArray get_bytes(JNIEnv *env, jclass class, jlong db, jbyteArray collection,
                            jbyteArray id)
{
    (void)class;
    kedge_document *document = read_item(env, db, collection, id, JNI_FALSE);
    return document ? document_bytes(env, document) : NULL;
}

static jbyteArray get_project(JNIEnv *env, jclass class, jlong db, jboolean or_null)
{
    (void)class;
    kedge_document *document = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_get_project(java_pointer(db), &document, &error);
    if (status == KEDGE_NOT_FOUND && or_null) return NULL;
    return java_ok(env, status, &error) ? document_bytes(env, document) : NULL;
}

static jlong scan_open(JNIEnv *env, jclass class, jlong db, jbyteArray collection, jbyteArray after,
                       jbyteArray prefix, jlong limit, jboolean descending)
{
    (void)class;
    java_copy copies[3];
    if (!java_copy_all(env, (jbyteArray[]){collection, after, prefix}, copies, 3)) return 0;
    kedge_scan_options options = KEDGE_SCAN_OPTIONS_INIT;
    options.after = copies[1].bytes;
    options.after_size = copies[1].size;
    options.prefix = copies[2].bytes;
    options.prefix_size = copies[2].size;
    options.limit = limit;
    options.descending = descending;
    kedge_scan *scan = NULL;
    kedge_error error = {0};
    const kedge_status status =
        kedge_scan_open(java_pointer(db), copies[0].bytes, &options, &scan, &error);
    java_free_all(copies, 3);
    (void)java_ok(env, status, &error);
    return java_handle(scan);
}

/* ---- the rows of a scan ---- */

#define SCAN_BYTES     8192 /* of the rows of one call without the last one; they fit into L1 */
#define SCAN_END       (-1) /* in place of a size: no row follows */
#define APART          (-1) /* in place of the value's size: it stands apart, and ends the piece */
#define NUMBER_BYTES   2
#define ROW_HEAD_BYTES (2 * NUMBER_BYTES)

/* A piece as io.kedge.ScanRows reads it. A row is two numbers, the id and the value: twice the size
 * of the id, and one more when all of the row is ASCII; the size of the value, or APART. */
typedef struct scan_rows {
    size_t used;
    char bytes[SCAN_BYTES + ROW_HEAD_BYTES + KEDGE_LIMIT_ITEM_ID_BYTES];
} scan_rows;

_Static_assert(SCAN_BYTES <= INT16_MAX, "a size in a piece is a number of two bytes");
_Static_assert(2 * KEDGE_LIMIT_ITEM_ID_BYTES < INT16_MAX, "so is twice the size of an id");

static void add(scan_rows *rows, const void *bytes, size_t size)
{
    memcpy(rows->bytes + rows->used, bytes, size);
    rows->used += size;
}

/* Two bytes, the higher one first. */
static void put_number(char *to, int32_t number)
{
    to[0] = (char)(number >> 8);
    to[1] = (char)number;
}

static bool is_ascii(const char *bytes, size_t size)
{
    uint64_t all = 0, word;
    size_t at = 0;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        all |= word;
    }
    for (; at < size; at++)
        all |= (unsigned char)bytes[at];
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* False: the value had no room. */
static bool add_row(scan_rows *rows, java_text id, java_text value, size_t room)
{
    char *head = rows->bytes + rows->used;
    const bool fits = rows->used + ROW_HEAD_BYTES + id.size + value.size <= room;
    rows->used += ROW_HEAD_BYTES;
    add(rows, id.bytes, id.size);
    if (fits) add(rows, value.bytes, value.size);
    const bool ascii = fits && is_ascii(head + ROW_HEAD_BYTES, id.size + value.size);
    put_number(head, (int32_t)(2 * id.size + ascii));
    put_number(head + NUMBER_BYTES, fits ? (int32_t)value.size : APART);
    return fits;
}

/* Reads until `rows` is full, the value that had no room into `*apart`. False: an exception is
 * pending. */
static bool read_rows(JNIEnv *env, kedge_scan *scan, scan_rows *rows, size_t room, java_text *apart)
{
    kedge_error error = {0};
    for (;;) {
        java_text id = {0}, value = {0};
        const kedge_status status =
            kedge_scan_next(scan, &id.bytes, &id.size, &value.bytes, &value.size, &error);
        if (status == KEDGE_DONE) {
            put_number(rows->bytes + rows->used, SCAN_END);
            rows->used += NUMBER_BYTES;
            return true;
        }
        if (!java_ok(env, status, &error)) return false;
        if (id.size > KEDGE_LIMIT_ITEM_ID_BYTES) {
            java_throw(env, KEDGE_CORRUPT, "cache-damaged", "an item has an id that is too long");
            return false;
        }
        if (add_row(rows, id, value, room)) continue;
        *apart = value;
        return true;
    }
}

/* Fills `piece` with rows of at most `room` bytes, and the head of one more. Returns the value of
 * that one, or NULL: no row follows, or an exception is pending. */
static jbyteArray scan_next(JNIEnv *env, jclass class, jlong scan, jbyteArray piece, jint room)
{
    (void)class;
    scan_rows rows; /* its bytes are not cleared: that would take as long as reading them */
    rows.used = 0;
    java_text apart = {0};
    const size_t most = room > 0 && room < SCAN_BYTES ? (size_t)room : SCAN_BYTES;
    if (!read_rows(env, java_pointer(scan), &rows, most, &apart)) return NULL;
    (*env)->SetByteArrayRegion(env, piece, 0, (jsize)rows.used, (const jbyte *)rows.bytes);
    return java_bytes(env, apart);
}

static void scan_close(JNIEnv *env, jclass class, jlong scan)
{
    (void)env, (void)class;
    kedge_scan_close(java_pointer(scan));
}

static jlong query_open(JNIEnv *env, jclass class, jlong db, jbyteArray sql, jbyteArray parameters)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){sql, parameters}, copies, 2)) return 0;
    kedge_query *query = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_query_open(java_pointer(db), copies[0].bytes, copies[0].size,
                                                 copies[1].bytes, copies[1].size, &query, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
    return java_handle(query);
}

static jboolean query_next(JNIEnv *env, jclass class, jlong query)
{
    (void)class;
    kedge_error error = {0};
    return java_ok(env, kedge_query_next(java_pointer(query), &error), &error) ? JNI_TRUE
                                                                               : JNI_FALSE;
}

static jobjectArray query_columns(JNIEnv *env, jclass class, jlong query)
{
    (void)class;
    const int32_t count = kedge_query_column_count(java_pointer(query));
    java_text *names = calloc((size_t)count + 1, sizeof *names);
    if (!names) {
        java_throw(env, KEDGE_NO_MEMORY, "out-of-memory",
                   "there is no memory for names of columns");
        return NULL;
    }
    for (int32_t i = 0; i < count; i++)
        names[i] = java_text_of(kedge_query_column_name(java_pointer(query), i));
    jobjectArray made = java_texts(env, names, (size_t)count);
    free(names);
    return made;
}

static jint query_type(JNIEnv *env, jclass class, jlong query, jint column)
{
    (void)env, (void)class;
    return (jint)kedge_query_column_type(java_pointer(query), column);
}

static jbyteArray query_text(JNIEnv *env, jclass class, jlong query, jint column)
{
    (void)class;
    java_text text = {0};
    text.bytes = kedge_query_text(java_pointer(query), column, &text.size);
    if (!text.bytes) text = java_text_of(""); /* an empty blob */
    return java_bytes(env, text);
}

static jlong query_integer(JNIEnv *env, jclass class, jlong query, jint column)
{
    (void)env, (void)class;
    return kedge_query_integer(java_pointer(query), column);
}

static jdouble query_real(JNIEnv *env, jclass class, jlong query, jint column)
{
    (void)env, (void)class;
    return kedge_query_real(java_pointer(query), column);
}

static void query_close(JNIEnv *env, jclass class, jlong query)
{
    (void)env, (void)class;
    kedge_query_close(java_pointer(query));
}

/* Copies of the paths of an index. `*count` is how many; NULL: an exception is pending. */
static java_copy *take_paths(JNIEnv *env, jobjectArray paths, size_t *count)
{
    const jsize size = (*env)->GetArrayLength(env, paths);
    java_copy *copies = calloc((size_t)size + 1, sizeof *copies);
    if (!copies) {
        java_throw(env, KEDGE_NO_MEMORY, "out-of-memory", "there is no memory for the paths");
        return NULL;
    }
    for (jsize i = 0; i < size; i++) {
        jbyteArray path = (*env)->GetObjectArrayElement(env, paths, i);
        const bool copied = java_copy_all(env, &path, &copies[i], 1);
        (*env)->DeleteLocalRef(env, path);
        if (copied) continue;
        java_free_all(copies, (size_t)i);
        free(copies);
        return NULL;
    }
    *count = (size_t)size;
    return copies;
}

static void declare_index(JNIEnv *env, jclass class, jlong db, jbyteArray name,
                          jbyteArray collection, jobjectArray paths)
{
    (void)class;
    java_copy copies[2];
    size_t count = 0;
    if (!java_copy_all(env, (jbyteArray[]){name, collection}, copies, 2)) return;
    java_copy *path_copies = take_paths(env, paths, &count);
    if (path_copies) {
        kedge_error error = {KEDGE_NO_MEMORY, "out-of-memory", "there is no memory for the paths"};
        kedge_status status = KEDGE_NO_MEMORY;
        const char **texts = calloc(count + 1, sizeof *texts);
        for (size_t i = 0; texts && i < count; i++)
            texts[i] = path_copies[i].bytes;
        if (texts)
            status = kedge_index(java_pointer(db), copies[0].bytes, copies[1].bytes, texts, count,
                                 &error);
        free(texts);
        java_free_all(path_copies, count);
        free(path_copies);
        (void)java_ok(env, status, &error);
    }
    java_free_all(copies, 2);
}

static void drop_index(JNIEnv *env, jclass class, jlong db, jbyteArray name)
{
    (void)class;
    java_copy copy;
    if (!java_copy_all(env, &name, &copy, 1)) return;
    kedge_error error = {0};
    const kedge_status status = kedge_index_drop(java_pointer(db), copy.bytes, &error);
    java_free_all(&copy, 1);
    (void)java_ok(env, status, &error);
}

static jlong index_list_open(JNIEnv *env, jclass class, jlong db)
{
    (void)class;
    kedge_index_list *list = NULL;
    kedge_error error = {0};
    (void)java_ok(env, kedge_index_list_open(java_pointer(db), &list, &error), &error);
    return java_handle(list);
}

/* The name, the collection and the paths; NULL: there are no more, or an exception is pending. */
static jobjectArray index_list_next(JNIEnv *env, jclass class, jlong list)
{
    (void)class;
    const char *name, *collection, *paths;
    kedge_error error = {0};
    const kedge_status status =
        kedge_index_list_next(java_pointer(list), &name, &collection, &paths, &error);
    if (!java_ok(env, status, &error)) return NULL;
    const java_text row[] = {java_text_of(name), java_text_of(collection), java_text_of(paths)};
    return java_texts(env, row, 3);
}

static void index_list_close(JNIEnv *env, jclass class, jlong list)
{
    (void)env, (void)class;
    kedge_index_list_close(java_pointer(list));
}

static jlongArray stats(JNIEnv *env, jclass class, jlong db)
{
    (void)class;
    kedge_stats stats = KEDGE_STATS_INIT;
    kedge_error error = {0};
    if (!java_ok(env, kedge_get_stats(java_pointer(db), &stats, &error), &error)) return NULL;
    const jlong numbers[] = {
        stats.edits,          stats.edits_refused,  stats.requests,         stats.request_bytes,
        stats.responses,      stats.response_bytes, stats.failures,         stats.pokes,
        stats.pulls,          stats.outbox_bytes,   stats.outbox_wal_bytes, stats.cache_bytes,
        stats.cache_wal_bytes};
    return java_numbers(env, numbers, sizeof numbers / sizeof *numbers);
}

java_methods java_read_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("get", "(J[B[BZ)Ljava/lang/Object;", get),
        JAVA_METHOD("getBytes", "(J[B[B)[B", get_bytes),
        JAVA_METHOD("getProject", "(JZ)[B", get_project),
        JAVA_METHOD("scanOpen", "(J[B[B[BJZ)J", scan_open),
        JAVA_METHOD("scanNext", "(J[BI)[B", scan_next),
        JAVA_METHOD("scanClose", "(J)V", scan_close),
        JAVA_METHOD("queryOpen", "(J[B[B)J", query_open),
        JAVA_METHOD("queryNext", "(J)Z", query_next),
        JAVA_METHOD("queryColumns", "(J)[[B", query_columns),
        JAVA_METHOD("queryType", "(JI)I", query_type),
        JAVA_METHOD("queryText", "(JI)[B", query_text),
        JAVA_METHOD("queryInteger", "(JI)J", query_integer),
        JAVA_METHOD("queryReal", "(JI)D", query_real),
        JAVA_METHOD("queryClose", "(J)V", query_close),
        JAVA_METHOD("declareIndex", "(J[B[B[[B)V", declare_index),
        JAVA_METHOD("dropIndex", "(J[B)V", drop_index),
        JAVA_METHOD("indexListOpen", "(J)J", index_list_open),
        JAVA_METHOD("indexListNext", "(J)[[B", index_list_next),
        JAVA_METHOD("indexListClose", "(J)V", index_list_close),
        JAVA_METHOD("stats", "(J)[J", stats),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
