// Reading a Hugging Face folder into a model against a loop that maps the file and converts every tensor into
// fresh memory, in turn in one process. A folder that is not there is made first.
#include <ATen/Functions.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/weights/safetensors.h>

#include "tools/bench/bench.h"
#include "tools/bench/published_language.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr int kTimes = 5;

// The parameters of a run, with the folder's values.
std::vector<Parameter> Read(const fs::path& folder) { return bench::PublishedLanguage(folder).set.list(); }

std::vector<Parameter> Convert(const fs::path& folder) {
  std::vector<Parameter> converted;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".safetensors") continue;
    for (const auto& [name, tensor] : MapSafetensors(file.path())) {
      converted.push_back({name, at::empty(tensor.sizes(), at::kFloat)});
      converted.back().tensor.copy_(tensor);
    }
  }
  return converted;
}

struct Spent {
  double seconds = 0;
  std::int64_t peak = 0, kept = 0;
};

Spent Measure(const std::function<std::vector<Parameter>()>& read) {
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Parameter> parameters = read();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return {spent.count(), ReadCpuMemory().peak - before, ReadCpuMemory().now - before};
}

int TimeReading(const fs::path& folder) {
  InstallCpuAllocator();
  bench::MakeFolder(folder);
  std::vector<double> read, converted, ratios;
  Spent last;
  for (int i = -1; i < kTimes; ++i) {  // once to fill the cache of files
    const Spent loop = Measure([&] { return Convert(folder); });
    last = Measure([&] { return Read(folder); });
    if (i < 0) continue;
    converted.push_back(loop.seconds), read.push_back(last.seconds);
    ratios.push_back(last.seconds / loop.seconds);
  }
  std::printf("read %.2f s, a loop that converts %.2f s: %.2fx; peak %.3fx of the %.2f GB that stay\n",
              bench::Median(read), bench::Median(converted), bench::Median(ratios),
              static_cast<double>(last.peak) / static_cast<double>(last.kept),
              static_cast<double>(last.kept) / 1e9);
  return 0;
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc == 2) return medley::TimeReading(argv[1]);
  std::fprintf(stderr, "usage: medley_bench_pretrained FOLDER\n");
  return 2;
}
