#include <medley/base/libraries.h>

#include <cstdlib>
#include <optional>
#include <string>

#include <medley/base/user_directories.h>

namespace medley {
namespace {

constexpr const char* kWaitPolicy = "OMP_WAIT_POLICY";
constexpr const char* kSpins = "GOMP_SPINCOUNT";  // GNU's, which libtorch brings
constexpr const char* kBlocks = "KMP_BLOCKTIME";  // Intel's and LLVM's, in other builds of libtorch

}  // namespace

void PrepareLibraries() {
  for (const char* name : {kWaitPolicy, kSpins, kBlocks}) {
    if (Environment(name)) return;
  }
  ::setenv(kWaitPolicy, "passive", /*overwrite=*/1);  // one that is empty is none, and libgomp would warn
}

bool WaitingThreadsSpin() {
  const auto is = [](const char* name, const char* value) { return Environment(name) == value; };
  if (Environment(kSpins)) return !is(kSpins, "0");
  if (Environment(kBlocks)) return !is(kBlocks, "0");
  return !is(kWaitPolicy, "passive") && !is(kWaitPolicy, "PASSIVE");
}

}  // namespace medley
