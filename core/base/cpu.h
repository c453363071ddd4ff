#pragma once

#include <string>

namespace medley {

// What decides which kernels libtorch and its libraries take, and with them the last bits of a result.
struct Cpu {
  std::string model;  // "AMD EPYC 9R14", as the system names it; "" where it does not
  std::string
      instructions;    // the widest of those that kernels ask for: "avx512_bf16"; "" on other than x86-64
  std::string limits;  // "ATEN_CPU_CAPABILITY=avx2": variables that ask for less; "" where none is set
};

// This process's. Opens no libtorch.
Cpu ThisCpu();
// Its instructions alone, for which no file is read.
std::string InstructionsOfThisCpu();
// "AMD EPYC 9R14 (avx512_bf16, ATEN_CPU_CAPABILITY=avx2)".
std::string Describe(const Cpu& cpu);

}  // namespace medley
