// Is every task's memory planned, and is it all used? Each bench prints a table of ratios; docs/benchmarks.md
// says what they should be.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/bench/memory_bench.h"

namespace {

using Bench = void (*)(medley::bench::Session&);

struct NamedBench {
  const char* name;
  Bench run;
};
constexpr NamedBench kBenches[] = {
    {"passes", medley::bench::BenchPasses},         {"budget", medley::bench::BenchBudget},
    {"search", medley::bench::BenchSearch},         {"prediction", medley::bench::BenchPrediction},
    {"throughput", medley::bench::BenchThroughput}, {"floor", medley::bench::BenchFloor},
};

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 2 ? argv[1] : "";
  bool found = false;
  try {
    medley::bench::Session session(
        {.config = argc > 2 ? argv[2] : "", .overrides = {argv + std::min(argc, 3), argv + argc}});
    for (const NamedBench& bench : kBenches) {
      if (std::strcmp(name, bench.name) != 0 && std::strcmp(name, "all") != 0) continue;
      std::printf("%s== %s\n", found ? "\n" : "", bench.name);
      found = true;
      bench.run(session);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_memory: %s\n", error.what());
    return 1;
  }
  if (found) return 0;
  std::fprintf(stderr,
               "usage: medley_bench_memory "
               "passes|budget|search|prediction|throughput|floor|all CONFIG [key=value...]\n");
  return 2;
}
