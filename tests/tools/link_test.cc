// What the programs are linked to: the same build must run with a libtorch that has CUDA and with one that
// has not.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Medley;
using test::Shell;

std::string Path(const std::string& library) { return MEDLEY_BUILD_DIR "/lib/" + library; }

// Everything that is linked to libtorch: the library, the verbs and the plugins.
std::vector<std::string> TensorLibraries() {
  std::vector<std::string> files = {Path("libmedley.so"), Path("medley/medley_verbs.so"),
                                    Path("medley/medley_check.so")};
  for (const auto& entry : std::filesystem::directory_iterator(Path("medley/" MEDLEY_PLUGIN_FOLDER)))
    files.push_back(entry.path());
  return files;
}

TEST(Linking, LibmedleyNeedsTorchCpuAndC10) {
  const std::string needed = Shell("readelf -d " + Path("libmedley.so") + " | grep NEEDED").out;
  EXPECT_NE(needed.find("[libtorch_cpu.so]"), std::string::npos) << needed;
  EXPECT_NE(needed.find("[libc10.so]"), std::string::npos) << needed;
}

TEST(Linking, NothingNeedsCuda) {
  for (const std::string& library : TensorLibraries()) {
    const std::string needed = Shell("readelf -d " + library + " | grep NEEDED").out;
    ASSERT_FALSE(needed.empty()) << library;
    for (const char* cuda : {"cuda", "cudart", "cublas", "cudnn", "nvrtc"}) {
      EXPECT_EQ(needed.find(cuda), std::string::npos) << library << ":\n" << needed;
    }
    const auto symbols =
        Shell("nm -D --undefined-only " + library + " | grep -E ' (cuda|cu[A-Z]|cublas|nvrtc)|4cuda'");
    EXPECT_EQ(symbols.out, "") << library;
  }
}

TEST(Linking, TheCommandAndItsBaseLibraryKnowNoTorch) {
  for (const std::string file : {"lib/libmedley_base.so", "bin/medley"}) {
    const std::string needed = Shell("readelf -d " MEDLEY_BUILD_DIR "/" + file + " | grep NEEDED").out;
    ASSERT_FALSE(needed.empty()) << file;
    EXPECT_EQ(needed.find("torch"), std::string::npos) << needed;
    EXPECT_EQ(needed.find("c10"), std::string::npos) << needed;
  }
}

// An empty entry would be the current directory.
TEST(Linking, NoRunPathHasAnEmptyEntry) {
  for (const std::string file : {"lib/libmedley_base.so", "lib/libmedley.so", "lib/medley/medley_verbs.so",
                                 "lib/medley/medley_check.so", "bin/medley"}) {
    const std::string path =
        Shell("readelf -d " MEDLEY_BUILD_DIR "/" + file + " | sed -n 's/.*runpath: \\[\\(.*\\)\\]/\\1/p'")
            .out;
    EXPECT_NE(path, "") << file;
    EXPECT_EQ((":" + path.substr(0, path.find('\n')) + ":").find("::"), std::string::npos)
        << file << ": " << path;
  }
}

// The dynamic linker itself says what it opens.
void ExpectNoTorch(const std::string& arguments) {
  const auto result = Shell("LD_DEBUG=files " + Medley() + arguments + " 2>&1 >/dev/null");
  EXPECT_NE(result.out.find("libmedley_base.so"), std::string::npos) << "LD_DEBUG said nothing";
  EXPECT_EQ(result.out.find("libtorch"), std::string::npos) << arguments;
  EXPECT_EQ(result.out.find("libc10"), std::string::npos) << arguments;
}

TEST(Linking, PlainVerbsOpenNoLibtorch) {
  ExpectNoTorch("version --json");
  ExpectNoTorch("tasks --json");
  ExpectNoTorch("validate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json");
}

}  // namespace
}  // namespace medley
