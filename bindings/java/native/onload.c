/* JNI_OnLoad, the one symbol that the library exports: it finds the classes that C needs, and
 * registers the methods of io.kedge.Native. */
#include "kedge_java.h"

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *machine, void *reserved)
{
    (void)reserved;
    void *found = NULL;
    if ((*machine)->GetEnv(machine, &found, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
    JNIEnv *env = found;
    if (!java_values_load(env) || !java_callbacks_load(machine, env)) return JNI_ERR;
    jclass native = (*env)->FindClass(env, "io/kedge/Native");
    if (!native) return JNI_ERR;
    const java_methods tables[] = {java_database_methods(), java_edit_methods(),
                                   java_read_methods(),     java_sync_methods(),
                                   java_watch_methods(),    java_transaction_methods()};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if ((*env)->RegisterNatives(env, native, tables[i].methods, tables[i].count) != JNI_OK)
            return JNI_ERR;
    }
    return JNI_VERSION_1_6;
}
