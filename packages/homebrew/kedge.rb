# libkedge and the command kedge for Homebrew, on Linux. A tap names its repository in HOMEBREW_KEDGE_REPOSITORY, or puts it
# in the place of the address below, which cannot exist.
class Kedge < Formula
  desc "Local-first sync of a shared project"
  homepage ENV.fetch("HOMEBREW_KEDGE_REPOSITORY", "https://kedge.invalid")
  license "MIT"
  head homepage, branch: "main", using: :git

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "cjson"
  depends_on "curl"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "sqlite"
  depends_on "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DKEDGE_SERVER=OFF", "-DKEDGE_TESTS=OFF", *std_cmake_args
    system "cmake", "--build", "build", "--target", "kedge-installed"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"version.c").write <<~C
      #include <kedge/kedge.h>
      #include <stdio.h>
      int main(void) { return puts(kedge_library_version()) < 0; }
    C
    system ENV.cc, "version.c", "-I#{include}", "-L#{lib}", "-lkedge", "-o", "version"
    assert_match(/\d+\.\d+\.\d+/, shell_output("./version"))
  end
end
