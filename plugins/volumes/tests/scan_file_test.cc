// What becomes of a file's voxels, by itself and in a conversation.
#include "data/scan_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include <medley/base/error.h>

#include "data/source.h"
#include "tests/nifti_bytes.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;

constexpr Geometry kWanted{.volume_side = 2, .series_side = 2, .frames = 3};

class ScanFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "scans_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // float32 values 0, 1, 2 ..; the diagonal of its sform.
  fs::path Ramp(const std::string& name, const std::vector<std::int16_t>& sizes, float right = 1) const {
    NiftiBytes file(sizes);
    std::int64_t count = 1;
    for (const std::int16_t size : sizes) count *= size;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i);
    file.Add(values).Set(254, std::int16_t{1}).Set(280, right).Set(300, 1.0F).Set(320, 1.0F);
    return Write(folder_ / name, name.ends_with("gz") ? Packed(file.bytes()) : file.bytes());
  }
  template <typename Fn>
  static std::string RefusalOf(const Fn& fn) {
    try {
      fn();
      return "it was taken";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  static void ExpectStandard(const at::Tensor& voxels) {
    EXPECT_NEAR(voxels.mean().item<double>(), 0, 1e-6);
    EXPECT_NEAR(voxels.std(false).item<double>(), 1, 1e-6);
  }

  fs::path folder_;
};

TEST_F(ScanFile, IsStandardisedAndItsFastestAxisIsTheLastOne) {
  const at::Tensor voxels =
      NiftiScan(Ramp("a.nii.gz", {2, 2, 2}), Modality::kVolume, {.geometry = kWanted}).voxels();
  const at::Tensor ramp = at::arange(8, at::kFloat).square().view({2, 2, 2});
  EXPECT_TRUE(at::allclose(voxels, (ramp - ramp.mean()) / ramp.std(false)));
  ExpectStandard(voxels);
}

TEST_F(ScanFile, IsResizedByTheMeanOfWhatFallsIntoAVoxelFrameByFrame) {
  const ScanForm form{.resize = true, .geometry = kWanted};
  const at::Tensor ramp = at::arange(5 * 4 * 6 * 3, at::kFloat).square().view({3, 6, 4, 5});
  at::Tensor means = at::empty({3, 2, 2, 2});
  for (std::int64_t k = 0; k < 2; ++k) {
    for (std::int64_t j = 0; j < 2; ++j) {
      for (std::int64_t i = 0; i < 2; ++i)  // the middle one of five voxels falls into both
        means.select(1, k).select(1, j).select(1, i).copy_(
            ramp.narrow(1, 3 * k, 3).narrow(2, 2 * j, 2).narrow(3, 2 * i, 3).mean({1, 2, 3}));
    }
  }
  const at::Tensor voxels = NiftiScan(Ramp("a.nii", {5, 4, 6, 3}), Modality::kSeries, form).voxels();
  EXPECT_TRUE(at::allclose(voxels, (means - means.mean()) / means.std(false), 1e-4, 1e-5));
  ExpectStandard(voxels);
}

TEST_F(ScanFile, ARawOneIsTakenAsItIsUnlessItIsResized) {
  const fs::path file = folder_ / "a.raw";
  const at::Tensor ramp = at::arange(64, at::kFloat).view({4, 4, 4});
  Write(file, {static_cast<const char*>(ramp.const_data_ptr()), ramp.nbytes()});
  EXPECT_TRUE(RawScan(file, {4, 4, 4}, Modality::kVolume, {}).voxels().equal(ramp));
  ExpectStandard(RawScan(file, {4, 4, 4}, Modality::kVolume, {.resize = true, .geometry = kWanted}).voxels());
}

TEST_F(ScanFile, TurnedToRasOneThatLiesToTheLeftIsMirroredAndOneThatDoesNotIsAsItWas) {
  const fs::path left = Ramp("left.nii", {2, 2, 2}, -1), right = Ramp("right.nii", {2, 2, 2});
  const at::Tensor stored = ReadNifti(left, Orientation::kStored);
  EXPECT_TRUE(ReadNifti(right, Orientation::kRas).equal(stored));
  EXPECT_TRUE(ReadNifti(left, Orientation::kRas).equal(stored.flip(2)));
}

TEST_F(ScanFile, AShapeThatTheModelDoesNotWantIsRefusedByTheHeaderAlone) {
  const auto refusal = [&](const std::vector<std::int16_t>& sizes, Modality modality, const ScanForm& form) {
    const fs::path file = Ramp("a.nii.gz", sizes);
    return RefusalOf([&] { NiftiScan(file, modality, form); });
  };
  EXPECT_NE(refusal({4, 3, 2}, Modality::kVolume, {.geometry = kWanted})
                .find("a.nii.gz: the volume is 2 x 3 x 4, the model wants 2 x 2 x 2; set the option resize"),
            std::string::npos);
  const ScanForm resized{.resize = true, .geometry = kWanted};
  EXPECT_EQ(refusal({4, 3, 2, 1, 1}, Modality::kVolume, resized), "it was taken");
  EXPECT_NE(refusal({4, 3, 2, 3}, Modality::kVolume, resized)
                .find("it is 4 x 3 x 2 x 3, expected 3 sizes of a volume"),
            std::string::npos);
  EXPECT_NE(refusal({4, 3, 2, 5}, Modality::kSeries, resized).find("frames are not resized"),
            std::string::npos);
}

// A header of a few bytes is not to take gigabytes in each data thread.
TEST_F(ScanFile, OneOfFarMoreVoxelsThanTheModelsIsRefusedByTheHeaderAlone) {
  const ScanForm resized{.resize = true, .geometry = kWanted};
  const auto refusal = [&](std::int16_t side) {
    const std::string header = NiftiBytes({side, 400, 400}).Set(70, std::int16_t{2}).bytes();
    const fs::path file = Write(folder_ / "a.nii", header);
    fs::resize_file(file, 352 + std::uintmax_t{400} * 400 * static_cast<std::uintmax_t>(side));
    return RefusalOf([&] { NiftiScan(file, Modality::kVolume, resized); });
  };
  EXPECT_EQ(refusal(209), "it was taken");
  EXPECT_NE(
      refusal(210).find("a.nii: it is 400 x 400 x 210, 33600000 voxels, expected at most 33554432 for a "
                        "model of 2 x 2 x 2: resample it before, or set the model's sizes"),
      std::string::npos)
      << refusal(210);
}

TEST_F(ScanFile, ARawOneThatDoesNotFitIsRefusedBeforeItIsRead) {
  const auto refusal = [&](const std::vector<std::int64_t>& shape, Modality modality, bool resize) {
    return RefusalOf(
        [&] { RawScan(folder_ / "a.raw", shape, modality, {.resize = resize, .geometry = kWanted}); });
  };
  EXPECT_NE(
      refusal({5, 4, 4, 4}, Modality::kSeries, true).find("a.raw: the series is 5 x 4 x 4 x 4, the model"),
      std::string::npos);
  EXPECT_NE(refusal({4, 4, 4}, Modality::kVolume, false).find("set the option resize"), std::string::npos);
  EXPECT_EQ(refusal({3, 4, 4, 4}, Modality::kSeries, true), "it was taken");
}

TEST_F(ScanFile, OneThatShowsNothingOrIsNotFiniteIsRefused) {
  const auto refusal = [&](float last) {
    NiftiBytes file({2, 2, 2});
    file.Add(std::vector<float>{1, 1, 1, 1, 1, 1, 1, last});
    const Scan scan =
        NiftiScan(Write(folder_ / "a.nii", file.bytes()), Modality::kVolume, {.geometry = kWanted});
    return RefusalOf([&] { scan.voxels(); });
  };
  EXPECT_NE(refusal(1).find("a.nii: all its voxels are equal"), std::string::npos);
  EXPECT_NE(refusal(NAN).find("a.nii has a value that is not finite (voxel 7 of 8"), std::string::npos);
  EXPECT_EQ(refusal(2), "it was taken");
}

TEST_F(ScanFile, AConversationNamesItAndSaysOfTheFirstHowItLies) {
  const auto line = [&](const std::string& subject, const std::string& image) {
    return R"({"subject": ")" + subject + R"(", "turns": [{"role": "user", "content": [{"image": ")" + image +
           R"(", "modality": "volume"}]}, {"role": "assistant", "content": [{"text": "yes"}]}]})" + "\n";
  };
  Ramp("b.nii.gz", {4, 4, 4});
  const fs::path first = Ramp("a.nii", {5, 4, 6}, -2), file = folder_ / "rows.jsonl";
  Write(file, line("s1", "a.nii") + line("s2", "b.nii.gz"));
  const ScanForm form{.orientation = Orientation::kRas, .resize = true, .geometry = kWanted};
  const Limits limits{.geometry = kWanted, .volume_tokens = 8, .series_tokens = 4};
  const FileConversations source(file, {.asked = 1}, limits, {.scans = form});
  ASSERT_EQ(source.Words().size(), 1U);
  EXPECT_NE(source.Words()[0].find("a.nii, has 5 x 4 x 6 voxels of 2 x 1 x 1, axes LAS"), std::string::npos)
      << source.Words()[0];
  const Conversation read = ConversationFile(file, {.scans = form}).Read(0);
  EXPECT_TRUE(std::get<Scan>(read.turns[0].items[0])
                  .voxels()
                  .equal(NiftiScan(first, Modality::kVolume, form).voxels()));
  fs::resize_file(folder_ / "b.nii.gz", 20);
  const std::string refusal = RefusalOf([&] { ConversationFile(file, {.scans = form}); });
  EXPECT_NE(refusal.find("rows.jsonl:2: turns[0].content[0].image: "), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("b.nii.gz: unexpected end of file"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace medley_volumes
