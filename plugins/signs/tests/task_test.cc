// The task: its rows, its contract with a small model, and what it refuses.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
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

// Where the length of the clip as it was drawn would count, a row would lack frames, or have some too many.
TEST(Task, AStretchedRowHasItsOwnLength) {
  const auto rows = [](const std::string& augment) {
    const auto bench = MakeBench({kOption + "augment=" + augment, kOption + "missing=0"});
    return medley::check::Sample(bench.Task("signs"), {.seed = 5, .begin = 0, .count = 240});
  };
  const medley::Batch stretched = rows("bdslw"), drawn = rows("none");
  const at::Tensor &poses = stretched.Column("poses"), &lengths = stretched.Column("lengths");
  ASSERT_EQ(poses.sizes(), (at::IntArrayRef{240, 40, 108}));
  for (std::int64_t row = 0; row < poses.size(0); ++row) {
    const auto length = lengths[row].item<std::int64_t>();
    ASSERT_TRUE(length >= 1 && length <= 40) << length;
    // A joint that was found is not at (0, 0), the hands' (from column 24 on) no more than others.
    const at::Tensor found = poses[row].view({40, 54, 2}).abs().sum(2).gt(0);
    EXPECT_TRUE(found.narrow(0, 0, length).all().item<bool>()) << row;
    EXPECT_FALSE(found.slice(0, length).any().item<bool>()) << row;
  }
  EXPECT_GT(lengths.ne(drawn.Column("lengths")).sum().item<std::int64_t>(), 20);  // some 0.21 of them
  EXPECT_TRUE(stretched.Column("label").equal(drawn.Column("label")));
}

TEST(Task, AHandThatWasNotFoundIsWhollyZeroAndTheOtherIsNot) {
  const auto bench = MakeBench({kOption + "missing=0.2", kOption + "shortest=40"});
  const at::Tensor poses =
      medley::check::Sample(bench.Task("signs"), {.seed = 5, .begin = 0, .count = 60}).Column("poses");
  const at::Tensor found = poses.narrow(2, 24, 84).reshape({60, 40, 2, 21, 2}).abs().sum(4).gt(0);
  EXPECT_TRUE(found.any(3).equal(found.all(3)));
  EXPECT_NEAR(found.any(3).to(at::kDouble).mean().item<double>(), 0.8, 0.02);
}

template <typename Fn>
std::string InputRefusal(const Fn& fn) {
  try {
    fn();
    return "it was taken";
  } catch (const medley::InputError& error) {
    return error.what();
  }
}

void ExpectRefused(const Overrides& overrides, const std::string& what) {
  const std::string refusal = InputRefusal([&] {
    const auto bench = MakeBench(overrides);
    bench.Task("signs");
  });
  EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
}

TEST(Task, RefusesAModelOfOtherClassesOrShorterClips) {
  ExpectRefused({"model=" SIGNS_CONFIGS "test-classes.json"},
                "task 'signs' has 60 classes, the model's \"classes\" is 64. Leave \"classes\" out");
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
  {
    Overrides cut = file;
    cut.insert(cut.end(), {kOption + "shortest=1", kOption + "longest=15", kOption + "boxes=false"});
    const auto bench = MakeBench(cut);
    const medley::Batch rows =
        medley::check::Sample(bench.Task("signs"), {.seed = 5, .begin = 0, .count = 30});
    EXPECT_TRUE(rows.Column("lengths").eq(15).all().item<bool>());
    std::set<float> ends;  // of the first wrist in the last frame that is kept
    for (const Clip& clip : clips) ends.insert(static_cast<float>(clip.frames[14][kRightWrist].x));
    for (std::int64_t row = 0; row < 30; ++row)
      EXPECT_TRUE(ends.contains(rows.Column("poses")[row][14][2 * kRightWrist].item<float>())) << row;
  }
  Overrides all = file;
  all.push_back(kOption + "held_out=14");
  ExpectRefused(all, "of which none is left for training");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace medley_signs
