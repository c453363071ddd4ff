// Reading a Hugging Face folder into a model against a loop that maps the file and converts every tensor into
// fresh memory, in turn in one process. A folder that is not there is made first: Qwen3-0.6B's shapes in
// bf16.
#include <ATen/Functions.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/language.h>
#include <medley/model/pretrained_config.h>
#include <medley/model/pretrained_weights.h>
#include <medley/model/pretrained_writer.h>
#include <medley/model/safetensors.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPositions = 4096;
constexpr int kTimes = 5;

void MakeFolder(const fs::path& folder) {
  const PretrainedConfig config{.architecture = "Qwen3ForCausalLM",
                                .language = {.hidden = 1024,
                                             .layers = 28,
                                             .heads = 16,
                                             .kv_heads = 8,
                                             .head_dim = 128,
                                             .ffn = 3072,
                                             .vocabulary = 151936},
                                .positions = 40960};
  fs::create_directories(folder);
  std::ofstream(folder / kPretrainedConfigFile) << ToJson(config, "bfloat16", std::nullopt).dump(1);
  ParameterSet set(1, at::kCPU);
  const Language language(set, config.language, config.language.vocabulary, kPositions);
  WritePretrainedWeights(folder, set.list(), "", at::kBFloat16);
}

// The parameters of a run, with the folder's values.
std::vector<Parameter> Read(const fs::path& folder, const LanguageConfig& config) {
  ParameterSet shapes(0, at::kMeta);
  const Language meta(shapes, config, config.vocabulary, kPositions);
  const PretrainedWeights weights({.directory = folder, .root = "", .rows = config.vocabulary},
                                  shapes.list());
  ParameterSet set(0, at::kCPU, {}, &weights.given());
  const Language language(set, config, config.vocabulary, kPositions);
  weights.Fill(set.list(), {.count = config.vocabulary});
  return set.list();
}

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
  if (!fs::exists(folder / kPretrainedConfigFile)) MakeFolder(folder);
  const LanguageConfig config = ReadPretrainedConfig(folder).language;
  std::vector<double> read, converted, ratios;
  Spent last;
  for (int i = -1; i < kTimes; ++i) {  // once to fill the cache of files
    const Spent loop = Measure([&] { return Convert(folder); });
    last = Measure([&] { return Read(folder, config); });
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
