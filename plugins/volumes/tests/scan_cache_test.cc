// What is kept of scans, by itself and between the rows of a file.
#include "data/scan_cache.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <medley/base/error.h>

#include "data/source.h"
#include "tests/nifti_bytes.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytes = 4 * 100;  // of a scan here

at::Tensor Voxels(double value) { return at::full({100}, value, at::kFloat); }

TEST(ScanCache, KeepsWhatWasAskedForLastWithinItsLimit) {
  ScanCache cache(2 * kBytes + 1);
  int read = 0;
  const auto get = [&](const std::string& name, double value) {
    return cache.Get(name, [&] { return ++read, Voxels(value); });
  };
  const at::Tensor a = get("a", 1);
  get("b", 2);
  EXPECT_TRUE(get("a", 7).is_same(a));
  EXPECT_EQ(read, 2);
  get("c", 3);  // for which b goes
  EXPECT_EQ(cache.bytes(), 2 * kBytes);
  EXPECT_TRUE(get("a", 7).is_same(a));
  EXPECT_EQ(read, 3);
  get("b", 2);  // for which c goes
  get("c", 3);  // and for that a
  EXPECT_EQ(read, 5);
  EXPECT_EQ(cache.bytes(), 2 * kBytes);
  EXPECT_TRUE(a.equal(Voxels(1))) << "who holds it has it still";
}

TEST(ScanCache, OneAboveTheLimitIsHandedOutAndLeavesTheOthers) {
  ScanCache none(0), cache(kBytes);
  EXPECT_TRUE(none.Get("a", [] { return Voxels(1); }).equal(Voxels(1)));
  EXPECT_EQ(none.bytes(), 0);
  const at::Tensor small = cache.Get("small", [] { return Voxels(1); });
  // A view keeps all that it is a view of.
  EXPECT_EQ(cache.Get("large", [] { return at::ones({101}).slice(0, 0, 3); }).numel(), 3);
  EXPECT_EQ(cache.bytes(), kBytes);
  EXPECT_TRUE(cache.Get("small", [] { return Voxels(2); }).is_same(small));
}

TEST(ScanCache, AReadThatThrowsLeavesNothing) {
  ScanCache cache(kBytes);
  EXPECT_THROW(cache.Get("a", []() -> at::Tensor { throw medley::InputError("a.nii: it ends"); }),
               medley::InputError);
  EXPECT_EQ(cache.bytes(), 0);
  EXPECT_TRUE(cache.Get("a", [] { return Voxels(1); }).equal(Voxels(1)));
}

TEST(ScanCache, ThreadsThatReadOneScanAtOnceHoldItOnce) {
  ScanCache cache(8 * kBytes);
  std::latch both(2);
  std::vector<at::Tensor> got(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        got[i] = cache.Get("a", [&] {
          both.arrive_and_wait();
          return Voxels(1);
        });
      });
    }
  }
  EXPECT_TRUE(got[0].is_same(got[1]));
  EXPECT_EQ(cache.bytes(), kBytes);
}

TEST(ScanCache, ThreadsThatAskForAllScansGetTheirOwnAndStayWithinTheLimit) {
  constexpr int kScans = 7, kAsked = 2000;
  ScanCache cache(3 * kBytes);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int asked = 0; asked < kAsked; ++asked) {
          const auto scan = static_cast<int>((asked * (i + 2) + asked / 3) % kScans);
          const at::Tensor got = cache.Get(std::to_string(scan), [&] { return Voxels(scan); });
          wrong[i] += got[99].item<float>() != static_cast<float>(scan) || cache.bytes() > 3 * kBytes;
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

constexpr Geometry kGeometry{.volume_side = 4, .series_side = 2, .frames = 3};
constexpr std::int64_t kVolumeBytes = 4 * 4 * 4 * 4;

class CachedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cached_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    for (int scan = 0; scan < kScans; ++scan) WriteScan(scan);
    // The first scan stands in two conversations.
    std::string lines;
    for (int row = 0; row <= kScans; ++row) lines += LineOf(row, Name(row % kScans));
    Write(folder_ / "rows.jsonl", lines);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static constexpr int kScans = 3;
  static std::string Name(int scan) { return std::to_string(scan) + ".nii.gz"; }
  static std::string LineOf(int row, const std::string& image) {
    return R"({"subject": "s)" + std::to_string(row) +
           R"(", "turns": [{"role": "user", "content": [{"image": ")" + image +
           R"("}]}, {"role": "assistant", "content": [{"text": "yes"}]}]})" + "\n";
  }
  fs::path WriteScan(int scan) const {
    NiftiBytes file({4, 4, 4});
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * i * static_cast<std::size_t>(scan + 3)) % 17);
    return Write(folder_ / Name(scan), Packed(file.Add(values).bytes()));
  }
  // All that is behind the headers.
  void CutBodies() const {
    for (int scan = 0; scan < kScans; ++scan) {
      std::string bytes = NiftiBytes({4, 4, 4}).Set(70, NiftiBytes::CodeOf<float>()).bytes();
      Write(folder_ / Name(scan), Packed(bytes + std::string(100, 'x')));
    }
  }
  FileConversations Source(std::int64_t cache) const {
    const Limits limits{.geometry = kGeometry, .volume_tokens = 8, .series_tokens = 4};
    return FileConversations(folder_ / "rows.jsonl", {.asked = 0}, limits, {.scans = {.geometry = kGeometry}},
                             {}, cache);
  }
  static std::vector<at::Tensor> Drawn(const FileConversations& source, std::int64_t count,
                                       bool longest = false) {
    std::vector<at::Tensor> voxels;
    medley::ForEachRow({.seed = 1, .count = count, .longest = longest}, [&](medley::Row& row) {
      ForEachScan(source.Draw(row), [&](const Scan& scan) { voxels.push_back(scan.voxels()); });
    });
    return voxels;
  }

  fs::path folder_;
};

TEST_F(CachedFile, GivesTheRowsThatOneWithoutACacheGives) {
  const FileConversations without = Source(0), some = Source(2 * kVolumeBytes), all = Source(1 << 20);
  const std::vector<at::Tensor> expected = Drawn(without, 40), few = Drawn(some, 40), many = Drawn(all, 40);
  ASSERT_EQ(expected.size(), 40U);
  for (std::size_t row = 0; row < expected.size(); ++row) {
    EXPECT_TRUE(few[row].equal(expected[row])) << row;
    EXPECT_TRUE(many[row].equal(expected[row])) << row;
  }
}

TEST_F(CachedFile, ReadsAScanWhenItIsDrawnAndThenNoMore) {
  const FileConversations source = Source(1 << 20);
  const std::vector<at::Tensor> first = Drawn(source, 8);
  CutBodies();
  const std::vector<at::Tensor> again = Drawn(source, 8);
  for (std::size_t row = 0; row < first.size(); ++row) EXPECT_TRUE(again[row].is_same(first[row])) << row;
  // Whose header is right passes until it is drawn, and then is named.
  const FileConversations other = Source(1 << 20);
  try {
    Drawn(other, 1);
    ADD_FAILURE() << "it was read";
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find(".nii.gz: it ends at byte 452, in the values"),
              std::string::npos)
        << error.what();
  }
}

// Else a plan would hang on what was drawn before.
TEST_F(CachedFile, TheLongestRowIsReadEachTimeAndLeavesTheCacheAsItIs) {
  const FileConversations source = Source(1 << 20);
  Drawn(source, 8);
  const at::Tensor longest = Drawn(source, 1, /*longest=*/true).front();
  EXPECT_FALSE(Drawn(source, 1, /*longest=*/true).front().is_same(longest));
  CutBodies();
  EXPECT_THROW(Drawn(source, 1, /*longest=*/true), medley::InputError);
}

TEST_F(CachedFile, CountsEachScanOnceUpToTheLimit) {
  EXPECT_EQ(Source(1 << 20).CacheBytes(), kScans * kVolumeBytes);
  EXPECT_EQ(Source(2 * kVolumeBytes).CacheBytes(), 2 * kVolumeBytes);
  EXPECT_EQ(Source(0).CacheBytes(), 0);
}

TEST_F(CachedFile, AllWrongHeadersAreNamedAtOnceEachByItsFirstConversation) {
  std::string lines;
  for (int row = 0; row < 26; ++row) lines += LineOf(row, "w" + std::to_string(row / 2) + ".nii");
  for (int scan = 0; scan < 13; ++scan)
    Write(folder_ / ("w" + std::to_string(scan) + ".nii"),
          NiftiBytes({4, 4, 4}).Set(40, static_cast<std::int16_t>(8 + scan)).bytes());
  const auto refusal = [&](const std::string& text) -> std::string {
    Write(folder_ / "rows.jsonl", text);
    try {
      Source(0);
      return "it was taken";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  };
  const std::string words = refusal(lines);
  EXPECT_TRUE(words.starts_with("13 scans cannot be taken\n")) << words;
  for (const int scan : {0, 1, 9})
    EXPECT_NE(words.find("rows.jsonl:" + std::to_string(2 * scan + 1) + ": turns[0].content[0].image: "),
              std::string::npos)
        << words;
  EXPECT_NE(words.find("w9.nii: bytes 40 to 41 (dim[0]): found 17, expected 1 to 7"), std::string::npos)
      << words;
  EXPECT_EQ(words.find("w10.nii"), std::string::npos) << words;
  EXPECT_TRUE(words.ends_with("\n  and 3 more")) << words;
  // Two of one conversation.
  const std::string two = refusal(
      R"({"subject": "s", "images": ["none.nii", "w1.nii"], "turns": [{"role": "user", "content": "which?"}, )"
      R"({"role": "assistant", "content": "one"}]})");
  EXPECT_NE(two.find("rows.jsonl:1: images[0]: "), std::string::npos) << two;
  EXPECT_NE(two.find("none.nii"), std::string::npos) << two;
  EXPECT_NE(two.find("rows.jsonl:1: images[1]: "), std::string::npos) << two;
}

}  // namespace
}  // namespace medley_volumes
