#include <gtest/gtest.h>

#include <map>
#include <set>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/estimate/gpu.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

const std::filesystem::path kPresets = std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs/gpus";

std::vector<std::string> NamesOf(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

TEST(Gpus, ThePresetsAreThereTheSmallestFirst) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  std::set<std::string> names;
  Gpu before;
  for (const Gpu& gpu : gpus) {
    names.insert(gpu.name);
    EXPECT_GE(gpu.usable(), before.usable()) << gpu.name;
    EXPECT_GE(gpu.memory, before.memory) << gpu.name;
    EXPECT_LT(gpu.usable(), gpu.memory) << gpu.name;
    before = gpu;
  }
  EXPECT_EQ(names, (std::set<std::string>{
                       "GTX 1650",   "GTX 1050 Ti", "RTX 3070", "RTX 4060 8 GB",     "RTX 4060 Ti 8 GB",
                       "RTX 3080",   "RTX 3060",    "T4",       "RTX 4060 Ti 16 GB", "V100 16 GB",
                       "A10G",       "L4",          "RTX 4090", "RTX 3090",          "RTX 5090",
                       "V100 32 GB", "A100 40 GB",  "L40S",     "RTX A6000",         "A100 80 GB",
                       "H100",       "H200",        "B200"}));
  EXPECT_EQ(names.size(), gpus.size());
  EXPECT_EQ(gpus.front().name, "GTX 1650");
  EXPECT_EQ(gpus.back().name, "B200");
}

// A driver names 1 to 10 % less than what is sold: error correction alone takes a sixteenth.
TEST(Gpus, HaveWhatTheirKindHasAndSayWhereItIsFrom) {
  const std::map<std::string, double> sold = {{"GTX 1050 Ti", 4},
                                              {"GTX 1650", 4},
                                              {"RTX 3060", 12},
                                              {"RTX 3070", 8},
                                              {"RTX 3080", 10},
                                              {"RTX 3090", 24},
                                              {"RTX 4060 8 GB", 8},
                                              {"RTX 4060 Ti 8 GB", 8},
                                              {"RTX 4060 Ti 16 GB", 16},
                                              {"RTX 4090", 24},
                                              {"RTX 5090", 32},
                                              {"T4", 16},
                                              {"V100 16 GB", 16},
                                              {"V100 32 GB", 32},
                                              {"A10G", 24},
                                              {"L4", 24},
                                              {"L40S", 48},
                                              {"RTX A6000", 48},
                                              {"A100 40 GB", 40},
                                              {"A100 80 GB", 80},
                                              {"H100", 80},
                                              {"H200", 141},
                                              {"B200", 192}};
  for (const auto& path : ListDirectory(kPresets)) {
    const auto json = nlohmann::json::parse(std::ifstream(path));
    const Gpu gpu = ReadGpu(path);
    ASSERT_EQ(sold.count(gpu.name), 1U) << gpu.name;
    const double part = static_cast<double>(gpu.memory) / (sold.at(gpu.name) * (1 << 30));
    EXPECT_GT(part, 0.9) << gpu.name;
    EXPECT_LT(part, 1) << gpu.name;
    EXPECT_EQ(json.value("$schema", ""), "../schema/gpu.schema.json") << path;
    EXPECT_TRUE(Has(json.value("comment", ""), "memory: ")) << path;
  }
}

TEST(Gpus, AnAmpereHoldsTwoWorkspacesOfEightMiBAndAnEighthAHopperTwoOf32) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  EXPECT_EQ(FindGpu(gpus, "RTX 3090").workspace, 2 * 8'519'680);
  EXPECT_EQ(FindGpu(gpus, "H100").workspace, std::int64_t{64} << 20);
}

TEST(Gpus, AreFoundWhateverTheSpelling) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  for (const char* name :
       {"RTX 3090", "rtx3090", "rtx-3090", "RTX_3090", "3090", "NVIDIA GeForce RTX 3090", " Rtx  3090 "})
    EXPECT_EQ(FindGpu(gpus, name).name, "RTX 3090") << name;
  EXPECT_EQ(FindGpu(gpus, "a100-80gb").name, "A100 80 GB");
  EXPECT_EQ(FindGpu(gpus, "Tesla T4").name, "T4");
  EXPECT_EQ(FindGpu(gpus, "a6000").name, "RTX A6000");
  EXPECT_EQ(FindGpu(gpus, "l4").name, "L4");
  for (const Gpu& gpu : gpus) EXPECT_EQ(FindGpu(gpus, gpu.name).name, gpu.name);
}

TEST(Gpus, OfAListEachIsThereOnceTheSmallestFirst) {
  const std::vector<Gpu> gpus = ReadGpus(kPresets);
  EXPECT_EQ(NamesOf(FindGpus(gpus, {"H100", "rtx 3090", "h-100", "4090"})),
            (std::vector<std::string>{"RTX 4090", "RTX 3090", "H100"}));
  EXPECT_EQ(NamesOf(FindGpus(gpus, {"all"})), NamesOf(gpus));
  EXPECT_EQ(NamesOf(FindGpus(gpus, {"t4", "ALL", "t4"})), NamesOf(gpus));
}

TEST(Gpus, AnUnknownOneIsRefusedWithTheKnownAndTheNearest) {
  const std::string mistake = MistakesOf([] { FindGpu(ReadGpus(kPresets), "RTX 3091"); });
  EXPECT_TRUE(Has(mistake, "no such GPU: 'RTX 3091'; did you mean 'RTX 3090'?")) << mistake;
  for (const char* name : {"A100 40 GB", "A100 80 GB", "H100", "H200"})
    EXPECT_TRUE(Has(mistake, name)) << name;
}

TEST(Gpus, AllUnknownOnesOfAListAreRefusedAtOnce) {
  const std::string mistake = MistakesOf([] {
    FindGpus(ReadGpus(kPresets), {"V100", "T4", "RTX 5091", "all", "abacus"});
  });
  EXPECT_TRUE(Has(mistake,
                  "no such GPU: 'V100'; did you mean 'V100 16 GB' or 'V100 32 GB'?\n"
                  "no such GPU: 'RTX 5091'; did you mean 'RTX 5090'?\n"
                  "no such GPU: 'abacus' (known: GTX 1650, "))
      << mistake;
  EXPECT_FALSE(Has(mistake, "'T4'")) << mistake;
}

TEST(Gpus, ABudgetTakesPartOfThemBesideTheContext) {
  constexpr std::int64_t kGiBytes = std::int64_t{1} << 30;
  const Gpu whole{.name = "a card",
                  .memory = 20 * kGiBytes,
                  .context = kGiBytes / 2,
                  .workspace = kGiBytes / 64,
                  .margin = kGiBytes};
  const Gpu half = Within(whole, ParseBudget("50%")), eight = Within(whole, ParseBudget("8GiB"));
  EXPECT_EQ(half.memory, 10 * kGiBytes + whole.context);
  EXPECT_EQ(half.usable(), 10 * kGiBytes - whole.workspace - half.memory / 20);
  EXPECT_EQ(eight.usable(), 8 * kGiBytes - whole.workspace - eight.memory / 20);
  for (const char* all : {"free", "100%", "20GiB", "9000000000000000000"})
    EXPECT_EQ(Within(whole, ParseBudget(all)).usable(), whole.usable()) << all;
  try {
    Within(whole, ParseBudget("1MiB"));
    FAIL() << "nothing is left";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kDoesNotFit);
    EXPECT_TRUE(Has(error.what(), "the budget of 1 MiB is below the ")) << error.what();
  }
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
