#include <medley/base/libraries.h>

#include <cstdlib>
#include <string>

#include <medley/base/cpu.h>
#include <medley/base/user_directories.h>

namespace medley {
namespace {

constexpr const char* kWaitPolicy = "OMP_WAIT_POLICY";
constexpr const char* kSpins = "GOMP_SPINCOUNT";  // GNU's, which libtorch brings
constexpr const char* kKernels = "ONEDNN_MAX_CPU_ISA";
constexpr const char* kBlocks = "KMP_BLOCKTIME";  // Intel's and LLVM's, in other builds of libtorch

void LetWaitingThreadsSleep() {
  for (const char* name : {kWaitPolicy, kSpins, kBlocks}) {
    if (Environment(name)) return;
  }
  ::setenv(kWaitPolicy, "passive", /*overwrite=*/1);  // one that is empty is none, and libgomp would warn
}

}  // namespace

void MatchKernels(bool has_amx) {
  const auto aten = Environment("ATEN_CPU_CAPABILITY");
  if (!has_amx || !aten || *aten == "avx512" || Environment("DNNL_MAX_CPU_ISA")) return;
  const std::string onednn = Environment(kKernels).value_or("");
  // What asks for no AMX: all levels below, by their names.
  const bool may_use_amx = onednn.empty() || onednn == "ALL" || onednn == "DEFAULT" ||
                           onednn.find("AMX") != std::string::npos || onednn.starts_with("AVX10") ||
                           onednn == "AVX512_CORE_FP16";
  if (may_use_amx) ::setenv(kKernels, "AVX512_CORE_BF16", /*overwrite=*/1);
}

void MatchKernels() { MatchKernels(InstructionsOfThisCpu() == "amx_bf16"); }

void PrepareLibraries() {
  LetWaitingThreadsSleep();
  MatchKernels();
}

bool WaitingThreadsSpin() {
  const auto is = [](const char* name, const char* value) { return Environment(name) == value; };
  if (Environment(kSpins)) return !is(kSpins, "0");
  if (Environment(kBlocks)) return !is(kBlocks, "0");
  return !is(kWaitPolicy, "passive") && !is(kWaitPolicy, "PASSIVE");
}

}  // namespace medley
