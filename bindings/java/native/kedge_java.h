/* What the files of the JNI layer share. They carry bytes and numbers between io.kedge.Native and
 * libkedge, and decide nothing: texts are UTF-8 in byte arrays both ways, a handle is a pointer as
 * a long, and a struct is an array of numbers with an array of texts. */
#ifndef KEDGE_JAVA_H
#define KEDGE_JAVA_H

#include <jni.h>
#include <kedge/cjson.h>
#include <kedge/kedge.h>

/* A row of the tables that JNI_OnLoad registers. ISO C has no cast from a function to void *. */
#define JAVA_METHOD(name, signature, function)                                                     \
    {                                                                                              \
        (char *)(name), (char *)(signature), __extension__(void *)(function)                       \
    }

/* Methods of one file: all are of io.kedge.Native. */
typedef struct java_methods {
    const JNINativeMethod *methods;
    jint count;
} java_methods;

java_methods java_database_methods(void);
java_methods java_edit_methods(void);
java_methods java_read_methods(void);
java_methods java_sync_methods(void);
java_methods java_watch_methods(void);
java_methods java_transaction_methods(void);

/* ---- values.c ---- */

/* Finds the classes of values.c. False: an exception is pending. */
bool java_values_load(JNIEnv *env);

/* A byte array of Java as C takes it: a copy with a NUL after its end, NULL for null. */
typedef struct java_copy {
    char *bytes;
    size_t size;
} java_copy;

/* Copies `count` arrays; all of them must be freed. False: an exception is pending, and none is
 * held. */
bool java_copy_all(JNIEnv *env, const jbyteArray *arrays, java_copy *copies, size_t count);
void java_free_all(java_copy *copies, size_t count);

/* A text of C; `bytes` NULL becomes null. */
typedef struct java_text {
    const char *bytes;
    size_t size;
} java_text;

java_text java_text_of(const char *terminated);

/* New arrays. NULL: an exception is pending, or for java_bytes the text was NULL. */
jbyteArray java_bytes(JNIEnv *env, java_text text);
/* A String, made with one copy, of JSON that has a NUL after its end and none inside; or, where
 * JNI cannot make one, a byte array for io.kedge.Texts. */
jobject java_string(JNIEnv *env, java_text text);
jobjectArray java_texts(JNIEnv *env, const java_text *texts, size_t count);
jlongArray java_numbers(JNIEnv *env, const jlong *numbers, size_t count);

/* Fill arrays that Java has made. */
void java_fill_numbers(JNIEnv *env, jlongArray array, const jlong *numbers, size_t count);
void java_fill_texts(JNIEnv *env, jobjectArray array, const java_text *texts, size_t count);

/* True for KEDGE_OK. Otherwise an exception for the status is pending; for KEDGE_DONE none is. */
bool java_ok(JNIEnv *env, kedge_status status, const kedge_error *error);

/* Throws the exception of a failure that C has noticed itself. */
void java_throw(JNIEnv *env, kedge_status status, const char *code, const char *message);

void *java_pointer(jlong handle);
jlong java_handle(const void *pointer);

/* ---- callbacks.c: what libkedge calls ---- */

/* `userdata` of all of them is the number by which io.kedge.Callbacks knows the app's object. */
bool java_callbacks_load(JavaVM *machine, JNIEnv *env);
void *java_token(jlong token);
kedge_status java_on_mutator(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error);
kedge_status java_on_token(void *userdata, char *buffer, size_t buffer_size);
void java_on_dispatch(void *userdata, void (*work)(void *argument), void *argument);
void java_on_log(void *userdata, kedge_log_level level, const char *event, const char *message);
void java_on_changes(void *userdata, const kedge_change *changes, size_t count);
void java_on_status(void *userdata, const kedge_sync_status *status);
void java_on_result(void *userdata, const kedge_query_changes *changes);
void java_on_rejected(void *userdata, const kedge_mutation *mutation);

/* ---- structs as numbers and texts: sync.c ---- */

enum {
    JAVA_STATUS_NUMBERS = 8,
    JAVA_STATUS_TEXTS = 3,
    JAVA_MUTATION_NUMBERS = 4,
    JAVA_MUTATION_TEXTS = 4
};
void java_status_parts(const kedge_sync_status *status, jlong *numbers, java_text *texts);
void java_mutation_parts(const kedge_mutation *mutation, jlong *numbers, java_text *texts);

#endif
