#!/bin/sh
# Runs a program with the jars of bindings/java and bindings/kotlin, which are built without a network when their sources or
# the library have changed. Skips without the tools that scripts/test installs.
# usage: with_jar.sh SOURCE_DIR BUILD_DIR PROGRAM [ARGUMENT…]   (KEDGE_JAVA in the environment: the java that runs them)
# Words that stand for something: JAVA:CLASS and KOTLIN:CLASS, programs that run this class; MAVEN, Maven on the built project of Java; JAR, the
# jar; NATIVE, the library in it; REPORTS, the folder of Surefire's reports.
set -eu
source=$1 build=$2
shift 2
tools=${KEDGE_BINDING_MAVEN:-}
[ -n "$tools" ] || { echo "no tools; scripts/test --label bindings installs them"; exit 77; }
export KEDGE_INCLUDE="$source/include" KEDGE_ARCHIVE="$build/lib/libkedge.a"
work=$build/java
jar=$work/source/java/target/kedge-0.1.0.jar
mkdir -p "$work"
exec 9>"$work/lock"
flock 9
of=$({ cat "$KEDGE_ARCHIVE"; find "$source/include/kedge" "$source/bindings/java" "$source/bindings/kotlin" \
    "$source/tests/bindings/java" "$source/tests/bindings/kotlin" "$source/docs/how-to" "$source/bench/bindings" \( -name '*.java' -o -name '*.kt' -o -name '*.h' -o -name pom.xml -o -path '*/native/*' \) -type f |
    LC_ALL=C sort | xargs cat; } | sha256sum)
if [ "$(cat "$work/of" 2>/dev/null)" != "$of" ]; then
    rm -rf "$work/source" "$work/of" "$work/programs" "$work/apps"
    mkdir -p "$work/programs" "$work/apps"
    mkdir "$work/source" # where Maven leaves what it makes
    cp -r "$source/bindings/pom.xml" "$source/bindings/java" "$source/bindings/kotlin" "$work/source"
    cp "$source"/docs/how-to/*.kt "$source"/bench/bindings/*.kt "$work/source/kotlin/examples"
    "$source/bindings/java/native/build.sh" "$work/natives/libkedge_java.so"
    cat >"$work/programs/maven" <<END
#!/bin/sh
export MAVEN_OPTS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
exec mvn -o -B -ntp -q -f "$work/source/\${KEDGE_POM:-java/pom.xml}" -Dmaven.repo.local="$tools/repository" -Dkedge.natives="$work/natives" \\
    -Dkedge.tests="$source/tests/bindings/java" -Dkedge.headers="$source/include/kedge" \\
    -Dkedge.kotlin.tests="$source/tests/bindings/kotlin" "\$@"
END
    chmod +x "$work/programs/maven"
    KEDGE_POM=pom.xml "$work/programs/maven" package -DskipTests >&2 ||
        { echo "Maven cannot build $source/bindings/java and kotlin"; exit 1; }
    find "$source/docs/how-to" "$source/bindings/java/examples" "$source/bench/bindings" -name '*.java' -exec \
        javac -Xlint:all -Werror --release 17 -cp "$jar" -d "$work/apps" {} +
    echo "$of" >"$work/of"
fi
java=$jar:$work/apps:$work/source/java/target/test-classes:$(echo "$tools"/repository/com/google/code/gson/gson/*/gson-*.jar)
kotlin=$jar:$work/source/kotlin/target/kedge-kotlin-0.1.0.jar:$work/source/kotlin/target/test-classes$(
    find "$tools/repository/org/jetbrains/kotlin/kotlin-stdlib" "$tools/repository/org/jetbrains/kotlinx" \
        "$tools/repository/org/junit" "$tools/repository/org/opentest4j" -name '*.jar' \( -name 'kotlin*-2.2.21.jar' -o \
        -name 'kotlinx-coroutines-*-jvm-1.10.2.jar' -o -name 'kotlinx-serialization-*-jvm-1.9.0.jar' -o \
        -name 'junit-jupiter*' -o -name 'junit-platform-*1.14.4.jar' -o -name 'opentest4j*' \) -printf ':%p')
# What is timed runs without the checks of JNI.
java_program=${KEDGE_JAVA:-$source/tests/bindings/java/checked.sh}
for word; do
    shift
    case $word in
        JAVA:* | KOTLIN:*)
            class=${word#*:}
            case $word in JAVA:*) classes=$java ;; *) classes=$kotlin ;; esac
            word=$work/programs/$class
            printf '#!/bin/sh\nexec %s -cp "%s" %s "$@"\n' "$java_program" "$classes" "$class" \
                >"$word"
            chmod +x "$word"
            ;;
        MAVEN) word=$work/programs/maven ;;
        JAR) word=$jar ;;
        NATIVE) word=$work/natives/libkedge_java.so ;;
        REPORTS) word=$work/source/java/target/surefire-reports ;;
    esac
    set -- "$@" "$word"
done
flock -u 9
exec 9>&-
exec "$@"
