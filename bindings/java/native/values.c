/* Texts, numbers and errors on their way between Java and C: see kedge_java.h. */
#include "kedge_java.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static jclass bytes_class;     /* byte[] */
static jclass exception_class; /* io.kedge.KedgeException */
static jmethodID exception_of;

bool java_values_load(JNIEnv *env)
{
    jclass bytes = (*env)->FindClass(env, "[B");
    jclass exception = bytes ? (*env)->FindClass(env, "io/kedge/KedgeException") : NULL;
    if (!exception) return false;
    exception_of =
        (*env)->GetStaticMethodID(env, exception, "of", "(I[B[B)Lio/kedge/KedgeException;");
    if (!exception_of) return false;
    bytes_class = (*env)->NewGlobalRef(env, bytes);
    exception_class = (*env)->NewGlobalRef(env, exception);
    return bytes_class && exception_class;
}

static bool copy(JNIEnv *env, jbyteArray array, java_copy *made)
{
    *made = (java_copy){NULL, 0};
    if (!array) return true;
    const jsize size = (*env)->GetArrayLength(env, array);
    made->bytes = malloc((size_t)size + 1);
    if (!made->bytes) {
        java_throw(env, KEDGE_NO_MEMORY, "out-of-memory", "there is no memory for a text");
        return false;
    }
    (*env)->GetByteArrayRegion(env, array, 0, size, (jbyte *)made->bytes);
    made->bytes[size] = '\0';
    made->size = (size_t)size;
    return true;
}

bool java_copy_all(JNIEnv *env, const jbyteArray *arrays, java_copy *copies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (copy(env, arrays[i], &copies[i])) continue;
        java_free_all(copies, i);
        return false;
    }
    return true;
}

void java_free_all(java_copy *copies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(copies[i].bytes);
        copies[i] = (java_copy){NULL, 0};
    }
}

java_text java_text_of(const char *terminated)
{
    return (java_text){terminated, terminated ? strlen(terminated) : 0};
}

jbyteArray java_bytes(JNIEnv *env, java_text text)
{
    if (!text.bytes) return NULL;
    jbyteArray made = (*env)->NewByteArray(env, (jsize)text.size);
    if (made) (*env)->SetByteArrayRegion(env, made, 0, (jsize)text.size, (const jbyte *)text.bytes);
    return made;
}

/* Whether a character needs four bytes: NewStringUTF wants two halves of a surrogate pair there.
 * All else in canonical JSON, which has no NUL, is the same in its encoding. */
static bool has_four_byte_character(java_text text)
{
    const uint64_t tops = UINT64_C(0x8080808080808080);
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= text.size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text.bytes + at, sizeof word);
        if (word & (word << 1) & (word << 2) & (word << 3) & tops) return true;
    }
    for (; at < text.size; at++)
        if ((unsigned char)text.bytes[at] >= 0xF0) return true;
    return false;
}

jobject java_string(JNIEnv *env, java_text text)
{
    if (!text.bytes) return NULL;
    return has_four_byte_character(text) ? (jobject)java_bytes(env, text)
                                         : (jobject)(*env)->NewStringUTF(env, text.bytes);
}

void java_fill_texts(JNIEnv *env, jobjectArray array, const java_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!texts[i].bytes) continue;
        jbyteArray made = java_bytes(env, texts[i]);
        if (!made) return;
        (*env)->SetObjectArrayElement(env, array, (jsize)i, made);
        (*env)->DeleteLocalRef(env, made);
    }
}

jobjectArray java_texts(JNIEnv *env, const java_text *texts, size_t count)
{
    jobjectArray made = (*env)->NewObjectArray(env, (jsize)count, bytes_class, NULL);
    if (!made) return NULL;
    java_fill_texts(env, made, texts, count);
    return (*env)->ExceptionCheck(env) ? NULL : made;
}

void java_fill_numbers(JNIEnv *env, jlongArray array, const jlong *numbers, size_t count)
{
    (*env)->SetLongArrayRegion(env, array, 0, (jsize)count, numbers);
}

jlongArray java_numbers(JNIEnv *env, const jlong *numbers, size_t count)
{
    jlongArray made = (*env)->NewLongArray(env, (jsize)count);
    if (made) java_fill_numbers(env, made, numbers, count);
    return made;
}

void java_throw(JNIEnv *env, kedge_status status, const char *code, const char *message)
{
    jbyteArray code_bytes = java_bytes(env, java_text_of(code));
    jbyteArray message_bytes = code_bytes ? java_bytes(env, java_text_of(message)) : NULL;
    if (!message_bytes) return;
    jobject made = (*env)->CallStaticObjectMethod(env, exception_class, exception_of, (jint)status,
                                                  code_bytes, message_bytes);
    if (made && !(*env)->ExceptionCheck(env)) (void)(*env)->Throw(env, made);
}

bool java_ok(JNIEnv *env, kedge_status status, const kedge_error *error)
{
    if (status == KEDGE_OK) return true;
    if (status == KEDGE_DONE) return false;
    java_throw(env, status, error->code[0] ? error->code : kedge_status_name(status),
               error->message);
    return false;
}

void *java_pointer(jlong handle)
{
    return (void *)(intptr_t)handle; /* NOLINT(performance-no-int-to-ptr) */
}

jlong java_handle(const void *pointer)
{
    return (jlong)(intptr_t)pointer;
}
