// The task: its rows, its contract with a small model, and what it refuses.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/testing/checks.h>

#include "pose/clip_csv.h"
#include "tests/clips.h"

namespace medley_signs {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

const std::string kOption = "tasks.signs.options.";

medley::check::Bench MakeBench(const Overrides& overrides) {
  return medley::check::Bench(SIGNS_CONFIGS "test.json", {SIGNS_PLUGIN}, overrides);
}

std::string Findings(const medley::check::Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  return text;
}

TEST(Task, KeepsItsContractInEveryModeAndMicroBatch) {
  const auto bench = MakeBench({});
  EXPECT_EQ(Findings(medley::check::All(bench.Task("signs"), bench.model())), "");
}

TEST(Task, KeepsItsContractWithSpoter) {
  const auto bench = MakeBench({"model=" SIGNS_CONFIGS "test-spoter.json"});
  EXPECT_EQ(Findings(medley::check::All(bench.Task("signs"), bench.model())), "");
}

// Rows of a draw that micro-batches do not divide, with dropout, and clips that augmentation makes longer.
TEST(Task, KeepsItsContractWithDropoutAndAugmentation) {
  const auto bench = MakeBench({"model=" SIGNS_CONFIGS "test-dropout.json", kOption + "augment=bdslw",
                                kOption + "label_smoothing=0.1", kOption + "order=shuffled"});
  EXPECT_EQ(Findings(medley::check::Contract(bench.Task("signs"), bench.model())), "");
  EXPECT_EQ(Findings(medley::check::Gradients(bench.Task("signs"), bench.model(),
                                              {.rows = 7, .micro_rows = {0, 2, 3, 4}})),
            "");
}

template <typename Fn>
std::string Refusal(const Fn& fn) {
  try {
    fn();
    return "it was taken";
  } catch (const medley::InputError& error) {
    return error.what();
  }
}

void ExpectRefused(const Overrides& overrides, const std::string& what) {
  const std::string refusal = Refusal([&] {
    const auto bench = MakeBench(overrides);
    bench.Task("signs");
  });
  EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
}

TEST(Task, RefusesAModelOfOtherClassesOrShorterClips) {
  ExpectRefused({"model=" SIGNS_CONFIGS "test-classes.json"},
                "signs has 60 classes, the model 64; set its \"classes\" to 60");
  ExpectRefused({kOption + "longest=41"}, "lower the option longest, or raise the model's \"longest\"");
  ExpectRefused({kOption + "longest=10"}, "shortest 20 is above longest 10");
}

TEST(Task, ReadsClipsOfAFileAndKeepsItsSignersApart) {
  std::string pattern = fs::temp_directory_path() / "signs_XXXXXX";
  const fs::path folder = mkdtemp(pattern.data());
  setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  std::vector<Clip> clips;
  for (std::uint64_t seed = 0; seed < 120; ++seed) clips.push_back(WholeClip(seed, 20));
  WriteClips(folder / "clips.csv", clips);
  const Overrides file = {kOption + "data=" + (folder / "clips.csv").string()};
  {
    const auto bench = MakeBench(file);
    EXPECT_EQ(Findings(medley::check::Contract(bench.Task("signs"), bench.model())), "");
  }
  Overrides all = file;
  all.push_back(kOption + "held_out=14");
  ExpectRefused(all, "expected at least one for training");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace medley_signs
