#pragma once

#include <array>
#include <string>
#include <string_view>

namespace medley::test {

// Of an environment what the linker and libtorch look at when they are loaded.
inline std::string LoadingEnvironment(char** environment) {
  constexpr std::array<std::string_view, 12> kPrefixes = {"LD_",     "GLIBC_", "MALLOC_", "OMP_",
                                                          "GOMP_",   "KMP_",   "MKL_",    "DNNL_",
                                                          "ONEDNN_", "ATEN_",  "TORCH_",  "MEDLEY_TORCH"};
  std::string found;
  for (char** next = environment; *next != nullptr; ++next) {
    for (const std::string_view prefix : kPrefixes) {
      if (std::string_view(*next).starts_with(prefix)) found.append(*next).push_back('\n');
    }
  }
  return found;
}

}  // namespace medley::test
