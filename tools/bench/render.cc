// Pictures a second and core: the renderer, its per-pixel oracle, and the memory that both write to. Every
// program of the comparison draws the same scenes; `--export=FOLDER` hands them to
// tools/bench/render_pygame.py.
#include <benchmark/benchmark.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <medley/base/error.h>

#include "tasks/world/control_scenes.h"
#include "tasks/world/random_states.h"
#include "tests/tasks/per_pixel_render.h"

namespace medley::world {
namespace {

constexpr int kScenes = 64;
constexpr std::size_t kMemory = std::size_t{256} << 20;  // far beyond any cache

struct SceneSet {
  std::string kind;
  int size;
  std::vector<Scene> scenes;

  std::string name() const { return kind + "/" + std::to_string(size); }
  std::size_t bytes() const {
    return scenes.size() * 3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  }
};

Scene MakeScene(std::string_view kind, int i) {
  RowRandom random(CombineSeeds(HashName(kind), static_cast<std::uint64_t>(i)));
  if (kind == "bare") return {BareState(random), {}};
  if (kind == "full") return {FullState(random), {}};
  return ControlScene(i, random);
}

std::vector<SceneSet> MakeSets() {
  std::vector<SceneSet> sets;
  for (const int size : {224, 128}) {
    for (const char* kind : {"bare", "full", "control"}) {
      SceneSet set{kind, size, {}};
      for (int i = 0; i < kScenes; ++i) set.scenes.push_back(MakeScene(kind, i));
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

std::span<std::uint8_t> Memory() {
  static std::vector<std::uint8_t> memory(kMemory, 1);  // its pages are touched
  return memory;
}

void Count(benchmark::State& state, std::size_t pictures, std::size_t bytes) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pictures));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

// One batch again and again, as the pygame loops do it.
void OneBatch(benchmark::State& state, const SceneSet& set) {
  const auto batch = Memory().first(set.bytes());
  for (auto _ : state) {
    Render(set.scenes, set.size, batch);
    benchmark::ClobberMemory();
  }
  Count(state, set.scenes.size(), set.bytes());
}

void Oracle(benchmark::State& state, const SceneSet& set) {
  const auto batch = Memory().first(set.bytes());
  const std::size_t picture = set.bytes() / set.scenes.size();
  for (auto _ : state) {
    for (std::size_t i = 0; i < set.scenes.size(); ++i)
      per_pixel::Render(set.scenes[i], set.size, batch.subspan(i * picture, picture));
    benchmark::ClobberMemory();
  }
  Count(state, set.scenes.size(), set.bytes());
}

// Batch after batch through the memory: each is out of every cache when its turn comes again.
void ThroughMemory(benchmark::State& state, const SceneSet& set) {
  std::size_t at = 0;
  for (auto _ : state) {
    if (at + set.bytes() > kMemory) at = 0;
    Render(set.scenes, set.size, Memory().subspan(at, set.bytes()));
    at += set.bytes();
    benchmark::ClobberMemory();
  }
  Count(state, set.scenes.size(), set.bytes());
}

void Memset(benchmark::State& state) {
  for (auto _ : state) {
    std::memset(Memory().data(), 7, kMemory);
    benchmark::ClobberMemory();
  }
  Count(state, 0, kMemory);
}

#if defined(__SSE2__)
// Past the cache: nothing is read before it is overwritten.
void Stream(benchmark::State& state) {
  const __m128i value = _mm_set1_epi8(3);
  std::uint8_t* first = Memory().data();
  first += 64 - reinterpret_cast<std::uintptr_t>(first) % 64;
  for (auto _ : state) {
    for (std::size_t i = 0; i + 128 <= kMemory; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(first + i), value);
    _mm_sfence();
    benchmark::ClobberMemory();
  }
  Count(state, 0, kMemory);
}
#endif

void Copy(benchmark::State& state) {
  const std::size_t half = kMemory / 2;
  for (auto _ : state) {
    std::memcpy(Memory().data(), Memory().data() + half, half);
    benchmark::ClobberMemory();
  }
  Count(state, 0, half);
}

nlohmann::json ToJson(const State& state) {
  nlohmann::json json{{"agent", {state.agent.x, state.agent.y}},
                      {"agent_radius", state.agent_radius},
                      {"direction", state.direction},
                      {"gold_radius", state.gold_radius},
                      {"gold", nlohmann::json::array()},
                      {"walls", nlohmann::json::array()}};
  for (const Point& gold : state.gold) json["gold"].push_back({gold.x, gold.y});
  for (const Wall& wall : state.walls) json["walls"].push_back({wall.x, wall.y, wall.w, wall.h, wall.angle});
  return json;
}

// scenes.json, and the pictures of each set as [scenes, 3, size, size] bytes.
void Export(const std::vector<SceneSet>& sets, const std::filesystem::path& folder) {
  nlohmann::json all = nlohmann::json::array();
  for (const SceneSet& set : sets) {
    if (set.kind == "control") continue;  // pygame would draw its close-ups whole
    const std::string file = "pictures-" + std::to_string(all.size()) + ".bytes";
    std::vector<std::uint8_t> pictures(set.bytes());
    Render(set.scenes, set.size, pictures);
    std::ofstream(folder / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(pictures.data()), static_cast<std::streamsize>(pictures.size()));
    nlohmann::json states = nlohmann::json::array();
    for (const Scene& scene : set.scenes) states.push_back(ToJson(scene.state));
    all.push_back(
        {{"name", set.name()}, {"size", set.size}, {"pictures", file}, {"states", std::move(states)}});
  }
  std::ofstream out(folder / "scenes.json");
  if (!(out << all << std::flush)) throw Error("cannot write " + (folder / "scenes.json").string());
}

void Register(const std::vector<SceneSet>& sets) {
  for (const SceneSet& set : sets) {
    const auto add = [&set](const char* what, void (*run)(benchmark::State&, const SceneSet&)) {
      benchmark::RegisterBenchmark((what + set.name()).c_str(),
                                   [&set, run](benchmark::State& state) { run(state, set); });
    };
    add("medley/", OneBatch);
    add("oracle/", Oracle);
    add("memory/", ThroughMemory);
  }
  benchmark::RegisterBenchmark("write/memset", Memset);
#if defined(__SSE2__)
  benchmark::RegisterBenchmark("write/stream", Stream);
#endif
  benchmark::RegisterBenchmark("write/copy", Copy);
}

}  // namespace
}  // namespace medley::world

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto sets = medley::world::MakeSets();
  constexpr std::string_view kExport = "--export=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(kExport)) {
    try {
      medley::world::Export(sets, std::string_view(argv[1]).substr(kExport.size()));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "medley_bench_render: %s\n", error.what());
      return 1;
    }
    return 0;
  }
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  medley::world::Register(sets);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
