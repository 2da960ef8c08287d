/* The native library: carried by the jar, missing, or damaged. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibraryTest {
    private static final String RESOURCE = "natives/linux-x86_64/libkedge_java.so";

    @TempDir
    Path folder;

    /** A program without its library. */
    static final class Program {
        private Program() {}

        public static void main(String[] ignored) {
            for (int i = 0; i < 2; i++) {
                try {
                    System.out.println(Kedge.libraryVersion());
                } catch (KedgeException.LibraryMissing failure) {
                    System.out.println(failure.status() + " " + failure.getMessage());
                }
            }
        }
    }

    private Path classes() throws Exception {
        return Path.of(Kedge.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    /** The classes in a folder of their own, without the library. */
    private Path copyOfClasses() throws Exception {
        try (Stream<Path> files = Files.walk(classes())) {
            for (Path file : files.filter(each -> each.toString().endsWith(".class")).toList()) {
                Path to = folder.resolve(classes().relativize(file).toString());
                Files.createDirectories(to.getParent());
                Files.copy(file, to);
            }
        }
        return folder;
    }

    private String run(Path classes, String... options) throws Exception {
        Path tests = Path.of(getClass().getProtectionDomain().getCodeSource().getLocation()
                .toURI());
        List<String> command = new java.util.ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", classes + ":" + tests, Program.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String printed = new String(process.getInputStream().readAllBytes());
        assertTrue(process.waitFor(120, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), printed);
        return printed;
    }

    private static void missing(String printed, String why) {
        List<String> lines = printed.lines().filter(line -> !line.contains("warning:")
                && !line.contains("recommended")).toList(); // the virtual machine's own
        assertEquals(2, lines.size(), printed); // the second try tells the same
        for (String line : lines) {
            assertTrue(line.startsWith(
                    "UNSUPPORTED library-missing: kedge cannot load its native library"), line);
            assertTrue(line.contains(why), line);
        }
    }

    @Test
    void a_missing_library_is_an_error_with_a_sentence() throws Exception {
        missing(run(copyOfClasses()), "the jar has no /natives/linux-x86_64/libkedge_java.so");
    }

    @Test
    void another_machine_is_told_by_its_name() throws Exception {
        missing(run(classes(), "-Dos.arch=riscv64"), "/natives/linux-riscv64/");
    }

    @Test
    void a_damaged_library_is_an_error_with_a_sentence() throws Exception {
        Path copy = copyOfClasses();
        Files.createDirectories(copy.resolve(RESOURCE).getParent());
        Files.writeString(copy.resolve(RESOURCE), "no library");
        missing(run(copy), "libkedge_java.so");
    }

    @Test
    void a_temporary_folder_that_is_not_there_is_told() throws Exception {
        missing(run(classes(), "-Djava.io.tmpdir=" + folder.resolve("none")), "cannot be copied");
    }

    @Test
    void nothing_is_left_in_the_temporary_folder() throws Exception {
        Path temporary = Files.createDirectory(folder.resolve("temporary"));
        assertEquals(Kedge.libraryVersion() + "\n" + Kedge.libraryVersion() + "\n",
                run(classes(), "-Djava.io.tmpdir=" + temporary));
        try (Stream<Path> left = Files.list(temporary)) {
            assertEquals(List.of(), left.filter(each -> each.getFileName().toString()
                    .startsWith("kedge")).toList());
        }
    }
}
