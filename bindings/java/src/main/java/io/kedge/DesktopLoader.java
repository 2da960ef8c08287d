/* The native library out of the jar. Android never loads this class. */
package io.kedge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/** Copies the library of this machine's kind from the jar into a folder of its own and loads it. */
@DesktopOnly
final class DesktopLoader {
    private static final String NAME = "libkedge_java.so";

    private DesktopLoader() {}

    static void load() {
        String resource = "/natives/" + machine() + "/" + NAME;
        try (InputStream library = DesktopLoader.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("the jar has no " + resource);
            }
            loadCopy(library);
        } catch (IOException failure) {
            throw new UnsatisfiedLinkError(resource + " cannot be copied: " + failure);
        }
    }

    private static void loadCopy(InputStream library) throws IOException {
        Path folder = Files.createTempDirectory("kedge"); // of this user alone
        Path file = folder.resolve(NAME);
        try {
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
            System.load(file.toString());
        } finally { // what is loaded needs no file any more
            Files.deleteIfExists(file);
            Files.deleteIfExists(folder);
        }
    }

    /** Such as linux-x86_64. */
    private static String machine() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return system + "-" + processor.replace("amd64", "x86_64");
    }
}
