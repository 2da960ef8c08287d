# What scripts/package makes of the bindings. Sourced after ../engines/install.sh.
#
# The jars of bindings/java and bindings/kotlin are a repository of Maven: jar, sources, Javadoc and pom, each with its sums,
# as Maven Central takes them. The SwiftPM package of bindings/swift is an archive of its sources.
KEDGE_VERSION=$(sed -n 's/^project(kedge VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
# Maven runs for seconds, in which a compiler that optimizes much and collectors in threads cost more than they save.
export MAVEN_OPTS=${MAVEN_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1}

# build_jars FOLDER CFLAGS LDFLAGS: into FOLDER/maven, with the libkedge.a of FOLDER/build. Maven asks no network.
# What was made of the same sources stays; the times in the jars are those that the poms give.
build_jars() {
  local folder=$1 work=$1/build/bindings from=$1/build made
  made=$({
    echo "$2 $3 $BINDING_MAVEN_HOME" && java -version && mvn -version && ${CC:-cc} --version
    cat "$from/lib/libkedge.a" scripts/packages/bindings.sh
    find include/kedge bindings/pom.xml bindings/java bindings/kotlin -type f | LC_ALL=C sort | xargs sha256sum
  } 2>&1 | sha256sum)
  [ ! -e "$folder/maven" ] || [ "$(cat "$from/bindings.made" 2>/dev/null)" != "$made" ] || return 0
  rm -rf "$folder/maven" "$work" "$from/bindings.made"
  mkdir -p "$work"
  cp -r bindings/pom.xml bindings/java bindings/kotlin "$work" # Maven leaves there what it makes
  rm -rf "$work"/{java,kotlin}/target                          # of a build by hand
  KEDGE_INCLUDE=$KEDGE_ROOT/include KEDGE_ARCHIVE=$from/lib/libkedge.a CFLAGS=$2 LDFLAGS=$3 \
    bindings/java/native/build.sh "$work/natives/libkedge_java.so" || return
  mvn -o -B -ntp -q -f "$work/pom.xml" -Pjavadoc -Dmaven.repo.local="$BINDING_MAVEN_HOME/repository" \
    -Dmaven.test.skip=true -Dkedge.natives="$(realpath "$work/natives")" -Dkedge.machine="linux-$(uname -m)" package ||
    return
  publish_jar "$folder/maven" "$work/java" kedge && publish_jar "$folder/maven" "$work/kotlin" kedge-kotlin &&
    echo "$made" >"$from/bindings.made"
}

# publish_jar REPOSITORY MODULE ARTIFACT
publish_jar() {
  local to=$1/io/kedge/$3/$KEDGE_VERSION name=$3-$KEDGE_VERSION file sum
  mkdir -p "$to"
  cp "$2/target/$name.jar" "$2/target/$name-sources.jar" "$2/target/$name-javadoc.jar" "$to" || return
  cp "$2/pom.xml" "$to/$name.pom"
  for file in "$to"/*; do
    for sum in md5 sha1 sha256 sha512; do "${sum}sum" <"$file" | cut -d ' ' -f 1 | tr -d '\n' >"$file.$sum"; done
  done
}

# archive_swift FOLDER: an app unpacks it and names the folder kedge.
archive_swift() {
  rm -f "$1"/kedge-swift-*.tar.gz
  git ls-files -z --cached --others --exclude-standard bindings/swift LICENSE |
    tar -c --null --files-from - --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
      --mtime="@$SOURCE_DATE_EPOCH" --format=gnu --transform='s,^bindings/swift/,kedge/,;s,^LICENSE,kedge/LICENSE,' |
    gzip -9n >"$1/kedge-swift-$KEDGE_VERSION.tar.gz"
}
