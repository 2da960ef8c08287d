/* Methods of io.kedge.Native for the transaction that a mutator sees. */
#include "kedge_java.h"

#include <stdio.h>
#include <string.h>

static jlong tx_caller(JNIEnv *env, jclass class, jlong tx, jobjectArray texts)
{
    (void)class;
    const kedge_caller *caller = kedge_tx_caller(java_pointer(tx));
    const java_text parts[] = {java_text_of(caller->user), java_text_of(caller->role),
                               java_text_of(caller->client)};
    java_fill_texts(env, texts, parts, 3);
    return caller->now_ms;
}

/* NULL when there is none and `or_null`. */
static jbyteArray tx_get(JNIEnv *env, jclass class, jlong tx, jbyteArray collection, jbyteArray id,
                         jboolean or_null)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){collection, id}, copies, 2)) return NULL;
    java_text value = {0};
    kedge_error error = {0};
    const kedge_status status = kedge_tx_get(java_pointer(tx), copies[0].bytes, copies[1].bytes,
                                             copies[1].size, &value.bytes, &value.size, &error);
    java_free_all(copies, 2);
    if (status == KEDGE_NOT_FOUND && or_null) return NULL;
    return java_ok(env, status, &error) ? java_bytes(env, value) : NULL;
}

/* The id and the value; NULL: there are no more, or an exception is pending. */
static jobjectArray tx_next(JNIEnv *env, jclass class, jlong tx, jbyteArray collection,
                            jbyteArray after)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){collection, after}, copies, 2)) return NULL;
    java_text row[2] = {{0}};
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_next(java_pointer(tx), copies[0].bytes, copies[1].bytes, copies[1].size,
                      &row[0].bytes, &row[0].size, &row[1].bytes, &row[1].size, &error);
    java_free_all(copies, 2);
    return java_ok(env, status, &error) ? java_texts(env, row, 2) : NULL;
}

static void tx_put(JNIEnv *env, jclass class, jlong tx, jbyteArray collection, jbyteArray id,
                   jbyteArray value)
{
    (void)class;
    java_copy copies[3];
    if (!java_copy_all(env, (jbyteArray[]){collection, id, value}, copies, 3)) return;
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_put(java_pointer(tx), copies[0].bytes, copies[1].bytes, copies[1].size,
                     copies[2].bytes, copies[2].size, &error);
    java_free_all(copies, 3);
    (void)java_ok(env, status, &error);
}

static void tx_delete(JNIEnv *env, jclass class, jlong tx, jbyteArray collection, jbyteArray id)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){collection, id}, copies, 2)) return;
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_delete(java_pointer(tx), copies[0].bytes, copies[1].bytes, copies[1].size, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
}

static jbyteArray tx_get_project(JNIEnv *env, jclass class, jlong tx, jboolean or_null)
{
    (void)class;
    java_text value = {0};
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_get_project(java_pointer(tx), &value.bytes, &value.size, &error);
    if (status == KEDGE_NOT_FOUND && or_null) return NULL;
    return java_ok(env, status, &error) ? java_bytes(env, value) : NULL;
}

static void tx_put_project(JNIEnv *env, jclass class, jlong tx, jbyteArray value)
{
    (void)class;
    java_copy copy;
    if (!java_copy_all(env, &value, &copy, 1)) return;
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_put_project(java_pointer(tx), copy.bytes, copy.size, &error);
    java_free_all(&copy, 1);
    (void)java_ok(env, status, &error);
}

static kedge_status refuse_text(kedge_error *error, const char *code, size_t at, const char *what)
{
    error->status = KEDGE_INVALID_JSON;
    snprintf(error->code, sizeof error->code, "%s", code);
    snprintf(error->message, sizeof error->message, "JSON is invalid at byte %zu: %s", at, what);
    return error->status;
}

/* cJSON cuts a string at an escaped NUL, and takes control characters in it. kedge_tx_put refuses
 * both, and so does this, in the same words. */
static kedge_status check_strings(const java_copy *json, kedge_error *error)
{
    static const char nul[] = "\\u0000";
    bool inside = false;
    for (size_t i = 0; i < json->size; i++) {
        const unsigned char byte = (unsigned char)json->bytes[i];
        if (byte == '"') inside = !inside;
        if (!inside) continue;
        if (byte < 0x20)
            return refuse_text(error, "json-syntax", i, "a control character stands in a string");
        if (byte != '\\') continue;
        if (strncmp(json->bytes + i, nul, strlen(nul)) == 0) /* a NUL is after the copy */
            return refuse_text(error, "json-nul", i, "a NUL is not allowed");
        i++; /* an escaped byte, which may be a quote or a backslash */
    }
    return KEDGE_OK;
}

/* What tx_with_tree does: the same numbers stand in io.kedge.Transaction. */
enum { MERGE, PATCH, CALL };

/* Of what is no JSON there is no tree: Kedge refuses the NULL with a sentence. */
static kedge_status use_tree(kedge_tx *tx, jint kind, const char *first, const char *id,
                             const java_copy *json, kedge_error *error)
{
    kedge_status status;
    /* Up to the NUL after the copy, so that nothing may follow the value. */
    cJSON *tree = cJSON_ParseWithLengthOpts(json->bytes, json->size + 1, NULL, true);
    if (kind == MERGE)
        status = kedge_tx_merge_json(tx, first, id, tree, error);
    else if (kind == PATCH)
        status = kedge_tx_patch_json(tx, first, id, tree, error);
    else
        status = kedge_tx_call_json(tx, first, tree, error);
    cJSON_Delete(tree);
    return status;
}

/* Functions that take a tree of cJSON, which is made of `json`. `first` is the collection, or the
 * name of a mutator. */
static void tx_with_tree(JNIEnv *env, jclass class, jlong tx, jint kind, jbyteArray first,
                         jbyteArray id, jbyteArray json)
{
    (void)class;
    java_copy copies[3];
    if (!java_copy_all(env, (jbyteArray[]){first, id, json}, copies, 3)) return;
    kedge_error error = {0};
    kedge_status status = check_strings(&copies[2], &error);
    if (status == KEDGE_OK)
        status =
            use_tree(java_pointer(tx), kind, copies[0].bytes, copies[1].bytes, &copies[2], &error);
    java_free_all(copies, 3);
    (void)java_ok(env, status, &error);
}

/* Throws always: the exception is what the mutator ends with. */
static void tx_reject(JNIEnv *env, jclass class, jlong tx, jbyteArray code, jbyteArray message)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){code, message}, copies, 2)) return;
    kedge_error error = {0};
    const kedge_status status =
        kedge_tx_reject(java_pointer(tx), copies[0].bytes, copies[1].bytes, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
}

/* Copies what fits, without cutting a character of UTF-8. */
static void fill(char *place, size_t room, const java_copy *copy)
{
    size_t size = copy->size < room ? copy->size : room - 1;
    while (size < copy->size && size > 0 && ((unsigned char)copy->bytes[size] & 0xc0) == 0x80)
        size--;
    memcpy(place, copy->bytes, size);
    place[size] = '\0';
}

/* Ends a mutator with a failure: fills the error of C, which may be NULL. */
static jint refuse(JNIEnv *env, jclass class, jlong error, jint status, jbyteArray code,
                   jbyteArray message)
{
    (void)class;
    kedge_error *filled = java_pointer(error);
    java_copy copies[2];
    if (!filled || !java_copy_all(env, (jbyteArray[]){code, message}, copies, 2)) return status;
    filled->status = (kedge_status)status;
    fill(filled->code, sizeof filled->code, &copies[0]);
    fill(filled->message, sizeof filled->message, &copies[1]);
    java_free_all(copies, 2);
    return status;
}

java_methods java_transaction_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("txCaller", "(J[[B)J", tx_caller),
        JAVA_METHOD("txGet", "(J[B[BZ)[B", tx_get),
        JAVA_METHOD("txNext", "(J[B[B)[[B", tx_next),
        JAVA_METHOD("txPut", "(J[B[B[B)V", tx_put),
        JAVA_METHOD("txDelete", "(J[B[B)V", tx_delete),
        JAVA_METHOD("txGetProject", "(JZ)[B", tx_get_project),
        JAVA_METHOD("txPutProject", "(J[B)V", tx_put_project),
        JAVA_METHOD("txWithTree", "(JI[B[B[B)V", tx_with_tree),
        JAVA_METHOD("txReject", "(J[B[B)V", tx_reject),
        JAVA_METHOD("refuse", "(JI[B[B)I", refuse),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
