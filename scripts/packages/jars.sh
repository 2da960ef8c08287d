# Builds the jars of bindings/java as a repository of Maven: jar, sources, Javadoc and pom, each with its sums, as Maven
# Central takes them. Sourced after ../engines/install.sh.

# build_jars FOLDER CFLAGS LDFLAGS: into FOLDER/maven, with the libkedge.a of FOLDER/build. Maven asks no network.
build_jars() {
  local folder=$1 work=$1/build/bindings from=$1/build version
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$from/CMakeCache.txt")
  rm -rf "$folder/maven" "$work"
  mkdir -p "$work"
  cp -r bindings/pom.xml bindings/java bindings/kotlin "$work" # Maven leaves there what it makes
  KEDGE_INCLUDE=$KEDGE_ROOT/include KEDGE_ARCHIVE=$from/lib/libkedge.a CFLAGS=$2 LDFLAGS=$3 \
    bindings/java/native/build.sh "$work/natives/libkedge_java.so" || return
  MAVEN_OPTS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1" mvn -o -B -ntp -q -f "$work/pom.xml" -pl java \
    -Dmaven.repo.local="$BINDING_MAVEN_HOME/repository" -Dmaven.test.skip=true \
    -Dkedge.natives="$(realpath "$work/natives")" -Dkedge.machine="linux-$(uname -m)" \
    -Dproject.build.outputTimestamp="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" package || return
  publish_jar "$folder/maven" "$work/java" kedge "$version"
}

# publish_jar REPOSITORY MODULE ARTIFACT VERSION
publish_jar() {
  local to=$1/io/kedge/$3/$4 file sum
  mkdir -p "$to"
  cp "$2/target/$3-$4.jar" "$2/target/$3-$4-sources.jar" "$2/target/$3-$4-javadoc.jar" "$to" || return
  cp "$2/pom.xml" "$to/$3-$4.pom"
  for file in "$to"/*; do
    for sum in md5 sha1 sha256 sha512; do "${sum}sum" <"$file" | cut -d ' ' -f 1 | tr -d '\n' >"$file.$sum"; done
  done
}
