#include <gtest/gtest.h>

#include <medley/base/error.h>
#include <medley/estimate/gpu.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

const std::filesystem::path kPresets = std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs/gpus";

TEST(Gpus, ThePresetsAreThereTheSmallestFirst) {
  std::vector<std::string> names;
  std::int64_t before = 0;
  for (const Gpu& gpu : ReadGpus(kPresets)) {
    names.push_back(gpu.name);
    EXPECT_GE(gpu.usable(), before) << gpu.name;
    EXPECT_LT(gpu.usable(), gpu.memory) << gpu.name;
    before = gpu.usable();
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "RTX 3090"), 1);
  EXPECT_EQ(names.front(), "RTX 4060 8 GB");
  EXPECT_EQ(names.back(), "H200");
  EXPECT_EQ(names.size(), 7U);
}

TEST(Gpus, AnAmpereHoldsTwoWorkspacesOfEightMiBAndAnEighthAHopperTwoOf32) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  EXPECT_EQ(FindGpu(gpus, "RTX 3090").workspace, 2 * 8'519'680);
  EXPECT_EQ(FindGpu(gpus, "H100").workspace, std::int64_t{64} << 20);
}

TEST(Gpus, AreFoundWhateverTheSpelling) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  for (const char* name : {"RTX 3090", "rtx3090", "rtx-3090", "RTX_3090"})
    EXPECT_EQ(FindGpu(gpus, name).name, "RTX 3090");
  EXPECT_EQ(FindGpu(gpus, "a100-80gb").name, "A100 80 GB");
}

TEST(Gpus, AnUnknownOneIsRefusedWithTheKnownAndTheNearest) {
  const std::string mistake = MistakesOf([] { FindGpu(ReadGpus(kPresets), "RTX 3091"); });
  EXPECT_TRUE(Has(mistake, "no such GPU: 'RTX 3091'; did you mean 'RTX 3090'?")) << mistake;
  for (const char* name : {"A100 40 GB", "A100 80 GB", "H100", "H200"})
    EXPECT_TRUE(Has(mistake, name)) << name;
}

TEST(Gpus, AFileWithMistakesNamesThemAll) {
  const Workspace work;
  const auto file = work.Write("gpu.json", R"({
  "name": "a card",
  "memory": "8 gigs",
  "context": "400 MiB",
  "worksace": "8 MiB"
})");
  const std::string mistakes = MistakesOf([&] { ReadGpu(file); });
  EXPECT_TRUE(Has(mistakes, "gpu.json:3:13: memory: expected a number of bytes such as 6GiB")) << mistakes;
  EXPECT_TRUE(Has(mistakes, "worksace: unknown key; did you mean 'workspace'?")) << mistakes;
  EXPECT_TRUE(Has(mistakes, "workspace")) << mistakes;
  const auto small = work.Write("small.json", R"({"name": "a card", "memory": "300 MiB", "context": "400 MiB",
                                                  "workspace": "8 MiB"})");
  EXPECT_TRUE(Has(MistakesOf([&] { ReadGpu(small); }), "expected more than context and workspace take"));
}

}  // namespace
}  // namespace medley::testing
