#include "pose/clip_csv.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <medley/base/error.h>

#include "tests/clips.h"

namespace medley_signs {
namespace {

namespace fs = std::filesystem;

class ClipCsv : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "signs_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      clips_.push_back(MakeClip(SignOf(static_cast<std::int64_t>(13 * seed)), {.missing = 0.2},
                                medley::Split::kTraining, RandomOf(seed)));
    }
    WriteClips(File(), clips_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path File() const { return folder_ / "clips.csv"; }
  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(File()).rdbuf();
    return text.str();
  }
  void Replace(const std::string& from, const std::string& to) const {
    std::string text = Text();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(File()) << text;
  }
  // What reading the second clip says.
  std::string Refusal(std::int64_t item = 0) const {
    try {
      ClipFile(File(), kSigns, YAxis::kDown).Read(item);
      return "it was read";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  void ExpectRefused(const std::string& what, std::int64_t item = 0) const {
    EXPECT_NE(Refusal(item).find(what), std::string::npos) << Refusal(item);
  }

  fs::path folder_;
  std::vector<Clip> clips_;
};

TEST_F(ClipCsv, WhatIsWrittenIsReadBitForBit) {
  const ClipFile file(File(), kSigns, YAxis::kDown);
  ASSERT_EQ(file.size(), 4);
  for (std::int64_t item = 3; item >= 0; --item)
    EXPECT_EQ(file.Read(item), clips_[static_cast<std::size_t>(item)]);
  std::size_t clips = 0;
  for (const auto& [signer, items] : file.BySigner()) {
    for (const std::int64_t item : items) EXPECT_EQ(clips_[static_cast<std::size_t>(item)].signer, signer);
    clips += items.size();
  }
  EXPECT_EQ(clips, 4u);
}

// With the wrong direction a body's box lies on the wrong side of the head.
TEST_F(ClipCsv, TheDirectionOfYIsSaidAndNotGuessed) {
  std::vector<Clip> upwards = clips_;
  for (Clip& clip : upwards) {
    for (Frame& frame : clip.frames) ForEachFound(frame, [](Point& point) { point.y = 1 - point.y; });
  }
  WriteClips(File(), upwards);
  const ClipFile told(File(), kSigns, YAxis::kUp), untold(File(), kSigns, YAxis::kDown);
  for (std::size_t item = 0; item < clips_.size(); ++item) {
    const auto at = static_cast<std::int64_t>(item);
    const Clip& expected = clips_[item];
    EXPECT_LT(Distance(told.Read(at), expected), 1e-12);
    EXPECT_LT(Distance(Boxed(told.Read(at)), Boxed(expected)), 1e-5);
    EXPECT_GT(Distance(Boxed(untold.Read(at)), Boxed(expected)), 0.1);
  }
}

TEST_F(ClipCsv, WhatARecordingWasIsOptional) {
  std::vector<Clip> written = clips_;
  for (Clip& clip : written) clip.fps = 30, clip.width = 640, clip.height = 480;
  WriteClips(File(), written);
  for (const std::string column : {"video_fps", "video_size_width", "video_size_height"})
    Replace("," + column + ",", ",was_" + column + ",");
  const ClipFile file(File(), kSigns, YAxis::kDown);
  for (std::size_t item = 0; item < clips_.size(); ++item)
    EXPECT_EQ(file.Read(static_cast<std::int64_t>(item)), clips_[item]);
}

TEST_F(ClipCsv, AMissingColumnIsNamed) {
  Replace(",indexDIP_left_X", ",indexDIP_lift_X");
  ExpectRefused("clips.csv:1: no column 'indexDIP_left_X'; did you mean ");
}

TEST_F(ClipCsv, ARecordOneColumnShortIsNamedWithItsLine) {
  std::string text = Text();
  text = text.substr(0, text.rfind(",\"["));
  std::ofstream(File()) << text << '\n';
  ExpectRefused("clips.csv:5: expected 113 fields");  // whichever clip is read
}

TEST_F(ClipCsv, ListsOfUnlikeLengthsAreRefused) {
  const std::size_t frames = clips_[0].frames.size();
  Replace("\"[", "\"[0.5, ");
  ExpectRefused("clips.csv:2: nose_Y: " + std::to_string(frames) + " frames; expected as many");
}

TEST_F(ClipCsv, WhatIsNoFiniteNumberIsRefused) {
  Replace("\"[", "\"[nan, ");
  ExpectRefused("clips.csv:2: nose_X: frame 1 is no finite number");
  Replace("\"[nan, ", "\"[1e999, ");
  ExpectRefused("frame 1 is no finite number");
  Replace("\"[1e999, ", "\"");
  ExpectRefused("expected a list");
}

TEST_F(ClipCsv, ALabelOrSizeOutOfRangeIsRefused) {
  Replace("\n1,", "\n61,");
  ExpectRefused("clips.csv:2: labels: expected an integer, 1 to 60");
  Replace("\n61,", "\n0,");
  ExpectRefused("labels: expected an integer, 1 to 60");
  Replace("\n0,", "\n1,");
  Replace(",25,256,256,", ",25,0,256,");
  ExpectRefused("video_size_width: expected an integer, 1 to");
}

TEST_F(ClipCsv, AClipInWhichNoJointWasFoundIsRefused) {
  WriteClips(File(), std::vector<Clip>{Clip{.frames = std::vector<Frame>(3)}});
  ExpectRefused("clips.csv:2: no joint was found in any frame");
  WriteClips(File(), std::vector<Clip>{Clip{}});
  ExpectRefused("0 frames; expected");
}

}  // namespace
}  // namespace medley_signs
