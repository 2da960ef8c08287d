/* Loads the native library once. */
package io.kedge;

/** The native library of this process. */
final class NativeLibrary {
    private static boolean loaded;

    private NativeLibrary() {}

    /**
     * Loads it unless it is loaded. What needs the library first calls this.
     *
     * @throws KedgeException.LibraryMissing when it cannot be loaded; the next call tries again
     */
    static synchronized void load() {
        if (loaded) {
            return;
        }
        try {
            if ("The Android Project".equals(System.getProperty("java.vendor"))) {
                System.loadLibrary("kedge_java"); // the app's package has it
            } else {
                DesktopLoader.load();
            }
        } catch (LinkageError | KedgeException failure) {
            throw new KedgeException.LibraryMissing(failure);
        }
        loaded = true;
    }
}
