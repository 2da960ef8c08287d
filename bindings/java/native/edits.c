/* Methods of io.kedge.Native that make edits: mutate, text, batches, undo. */
#include "kedge_java.h"

static jlong mutate(JNIEnv *env, jclass class, jlong db, jbyteArray name, jbyteArray args)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){name, args}, copies, 2)) return 0;
    int64_t sequence = 0;
    kedge_error error = {0};
    const kedge_status status = kedge_mutate(java_pointer(db), copies[0].bytes, copies[1].bytes,
                                             copies[1].size, &sequence, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
    return sequence;
}

static void cancel(JNIEnv *env, jclass class, jlong db, jlong sequence)
{
    (void)class;
    kedge_error error = {0};
    (void)java_ok(env, kedge_cancel(java_pointer(db), sequence, &error), &error);
}

static jlong edit_text(JNIEnv *env, jclass class, jlong db, jbyteArray collection, jbyteArray id,
                       jbyteArray path, jbyteArray base, jbyteArray text)
{
    (void)class;
    java_copy copies[5];
    if (!java_copy_all(env, (jbyteArray[]){collection, id, path, base, text}, copies, 5)) return 0;
    int64_t sequence = 0;
    kedge_error error = {0};
    const kedge_status status =
        kedge_text_edit(java_pointer(db), copies[0].bytes, copies[1].bytes, copies[1].size,
                        copies[2].bytes, copies[3].bytes, copies[4].bytes, &sequence, &error);
    java_free_all(copies, 5);
    (void)java_ok(env, status, &error);
    return sequence;
}

static jlong batch_begin(JNIEnv *env, jclass class, jlong db)
{
    (void)class;
    kedge_batch *batch = NULL;
    kedge_error error = {0};
    (void)java_ok(env, kedge_batch_begin(java_pointer(db), &batch, &error), &error);
    return java_handle(batch);
}

static void batch_add(JNIEnv *env, jclass class, jlong batch, jbyteArray name, jbyteArray args)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){name, args}, copies, 2)) return;
    kedge_error error = {0};
    const kedge_status status = kedge_batch_add(java_pointer(batch), copies[0].bytes,
                                                copies[1].bytes, copies[1].size, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
}

static jlong batch_commit(JNIEnv *env, jclass class, jlong batch)
{
    (void)class;
    int64_t sequence = 0;
    kedge_error error = {0};
    (void)java_ok(env, kedge_batch_commit(java_pointer(batch), &sequence, &error), &error);
    return sequence;
}

static void batch_free(JNIEnv *env, jclass class, jlong batch)
{
    (void)env, (void)class;
    kedge_batch_free(java_pointer(batch));
}

static void undo_begin(JNIEnv *env, jclass class, jlong db, jbyteArray label)
{
    (void)class;
    java_copy copy;
    if (!java_copy_all(env, &label, &copy, 1)) return;
    kedge_error error = {0};
    const kedge_status status = kedge_undo_begin(java_pointer(db), copy.bytes, &error);
    java_free_all(&copy, 1);
    (void)java_ok(env, status, &error);
}

static void undo_end(JNIEnv *env, jclass class, jlong db)
{
    (void)class;
    kedge_error error = {0};
    (void)java_ok(env, kedge_undo_end(java_pointer(db), &error), &error);
}

static jlongArray take_back(JNIEnv *env, jclass class, jlong db, jboolean redo)
{
    (void)class;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_error error = {0};
    const kedge_status status = redo ? kedge_redo(java_pointer(db), &result, &error)
                                     : kedge_undo(java_pointer(db), &result, &error);
    if (!java_ok(env, status, &error)) return NULL;
    return java_numbers(env, (jlong[]){result.sequence, result.restored, result.kept}, 3);
}

static void undo_state(JNIEnv *env, jclass class, jlong db, jlongArray numbers, jobjectArray labels)
{
    (void)class;
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    kedge_error error = {0};
    if (!java_ok(env, kedge_get_undo_state(java_pointer(db), &state, &error), &error)) return;
    java_fill_numbers(env, numbers, (jlong[]){state.undo_count, state.redo_count, state.open}, 3);
    java_fill_texts(env, labels,
                    (java_text[]){java_text_of(state.undo_label), java_text_of(state.redo_label)},
                    2);
}

java_methods java_edit_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("mutate", "(J[B[B)J", mutate),
        JAVA_METHOD("cancel", "(JJ)V", cancel),
        JAVA_METHOD("editText", "(J[B[B[B[B[B)J", edit_text),
        JAVA_METHOD("batchBegin", "(J)J", batch_begin),
        JAVA_METHOD("batchAdd", "(J[B[B)V", batch_add),
        JAVA_METHOD("batchCommit", "(J)J", batch_commit),
        JAVA_METHOD("batchFree", "(J)V", batch_free),
        JAVA_METHOD("undoBegin", "(J[B)V", undo_begin),
        JAVA_METHOD("undoEnd", "(J)V", undo_end),
        JAVA_METHOD("takeBack", "(JZ)[J", take_back),
        JAVA_METHOD("undoState", "(J[J[[B)V", undo_state),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
