#include <medley/base/cpu.h>

#include <fstream>
#include <initializer_list>
#include <utility>

#include <medley/base/user_directories.h>

namespace medley {
namespace {

std::string ModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string Limits() {
  std::string limits;
  for (const char* name : {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                           "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR"}) {
    const auto value = Environment(name);
    if (value) limits += (limits.empty() ? "" : " ") + (name + ("=" + *value));
  }
  return limits;
}

}  // namespace

// One step of it each: a CPU that has a later one has those before.
std::string InstructionsOfThisCpu() {
  std::string widest;
#if defined(__x86_64__)
  for (const auto& [name, there] : std::initializer_list<std::pair<const char*, bool>>{
           {"sse4.2", __builtin_cpu_supports("sse4.2")},
           {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
           {"avx512", __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")},
           {"avx512_vnni", __builtin_cpu_supports("avx512vnni")},
           {"avx512_bf16", __builtin_cpu_supports("avx512bf16")},
           {"amx_bf16", __builtin_cpu_supports("amx-bf16")}}) {
    if (there) widest = name;
  }
#endif
  return widest;
}

Cpu ThisCpu() { return {ModelName(), InstructionsOfThisCpu(), Limits()}; }

std::string Describe(const Cpu& cpu) {
  std::string in_use = cpu.instructions;
  if (!cpu.limits.empty()) in_use += (in_use.empty() ? "" : ", ") + cpu.limits;
  const std::string model = cpu.model.empty() ? "unknown CPU" : cpu.model;
  return in_use.empty() ? model : model + " (" + in_use + ")";
}

}  // namespace medley
