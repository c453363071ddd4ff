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

// Whoever knows the classes of a run gives a clip its number.
Clip Unlabelled(Clip clip) {
  clip.label = 0;
  return clip;
}

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
      ClipFile(File(), YAxis::kDown).Read(item);
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
  const ClipFile file(File(), YAxis::kDown);
  ASSERT_EQ(file.size(), 4);
  const std::vector<ClipFile::Subject> subjects = file.Subjects();
  ASSERT_EQ(subjects.size(), 4u);
  for (std::int64_t item = 3; item >= 0; --item) {
    const auto at = static_cast<std::size_t>(item);
    EXPECT_EQ(file.Read(item), Unlabelled(clips_[at]));
    EXPECT_EQ(subjects[at].label, std::to_string(clips_[at].label + 1));
    EXPECT_EQ(subjects[at].signer, clips_[at].signer);
  }
}

// With the wrong direction a body's box lies on the wrong side of the head.
TEST_F(ClipCsv, TheDirectionOfYIsSaidAndNotGuessed) {
  std::vector<Clip> upwards = clips_;
  for (Clip& clip : upwards) {
    for (Frame& frame : clip.frames) ForEachFound(frame, [](Point& point) { point.y = 1 - point.y; });
  }
  WriteClips(File(), upwards);
  const ClipFile told(File(), YAxis::kUp), untold(File(), YAxis::kDown);
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
  const ClipFile file(File(), YAxis::kDown);
  for (std::size_t item = 0; item < clips_.size(); ++item)
    EXPECT_EQ(file.Read(static_cast<std::int64_t>(item)), Unlabelled(clips_[item]));
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
  ExpectRefused("clips.csv:2: nose_X: frame 1 is no number from -1e6 to 1e6");
  Replace("\"[nan, ", "\"[1e999, ");
  ExpectRefused("frame 1 is no number from -1e6");
  Replace("\"[1e999, ", "\"[1e39, ");  // which a float could not hold
  ExpectRefused("frame 1 is no number from -1e6");
  Replace("\"[1e39, ", "\"");
  ExpectRefused("expected a list");
}

// Each would be 864 bytes, made before the next column is looked at.
TEST_F(ClipCsv, MoreFramesThanAClipMayHaveAreRefusedBeforeAnyAreMade) {
  std::string zeros = "\"[";
  for (std::size_t frame = 0; frame <= kMostClipFrames; ++frame) zeros += "0,";
  Replace("\"[", zeros);
  ExpectRefused("clips.csv:2: nose_X: more than 20000 frames");
}

TEST_F(ClipCsv, LabelsMayBeAnyNumberOrWordButNotEmpty) {
  Replace("\n1,", "\n 61.0,");
  EXPECT_EQ(ClipFile(File(), YAxis::kDown).Subjects()[0].label, "61");
  Replace("\n 61.0,", "\nto eat,");
  const ClipFile file(File(), YAxis::kDown);
  EXPECT_EQ(file.Subjects()[0].label, "to eat");
  EXPECT_TRUE(file.PlaceOfLabel(0).ends_with("clips.csv:2: labels"));
  Replace("\nto eat,", "\n,");
  try {
    ClipFile(File(), YAxis::kDown).Subjects();
    FAIL() << "it was read";
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("clips.csv:2: labels: is empty"), std::string::npos)
        << error.what();
  }
}

TEST_F(ClipCsv, APicturesSizeOutOfRangeIsRefused) {
  Replace(",25,256,256,", ",25,0,256,");
  ExpectRefused("video_size_width: expected an integer, 1 to");
}

// As SPOTER's files have them: hands as left and right, Left and Right, or 0 and 1, each of these columns.
TEST_F(ClipCsv, HandsAreNamedInAnyOfTheirSpellings) {
  const std::string text = Text();
  const std::size_t header = text.find('\n');
  for (const auto& [left, right] : {std::pair{"_0_", "_1_"}, std::pair{"_Left_", "_Right_"}}) {
    std::string names = text.substr(0, header);
    for (const auto& [from, to] : {std::pair{"_left_", left}, std::pair{"_right_", right}}) {
      for (std::size_t at; (at = names.find(from)) != std::string::npos;)
        names.replace(at, std::string(from).size(), to);
    }
    std::ofstream(File()) << names << text.substr(header);
    const ClipFile file(File(), YAxis::kDown);
    EXPECT_EQ(file.Read(1), Unlabelled(clips_[1])) << left;
  }
}

TEST_F(ClipCsv, WithoutANeckItIsBetweenTheShoulders) {
  clips_[0].frames[1][kLeftShoulder] = {};
  WriteClips(File(), clips_);
  Replace(",neck_X,neck_Y,", ",root_X,root_Y,");
  const Clip clip = ClipFile(File(), YAxis::kDown).Read(0);
  const Frame& frame = clip.frames[0];
  EXPECT_EQ(frame[kNeck], (frame[kLeftShoulder] + frame[kRightShoulder]) * 0.5);
  EXPECT_FALSE(clip.frames[1][kNeck].found());
}

TEST_F(ClipCsv, FramesWithoutAJointAreCutOffAtTheEnd) {
  std::vector<Clip> padded = clips_;
  for (Clip& clip : padded) clip.frames.resize(clip.frames.size() + 30);
  padded[1].frames[1] = {};  // one inside stays
  WriteClips(File(), padded);
  for (const YAxis y : {YAxis::kDown, YAxis::kUp}) {
    const ClipFile file(File(), y);
    for (std::int64_t item = 0; item < 4; ++item)
      EXPECT_EQ(file.Read(item).frames.size(), clips_[static_cast<std::size_t>(item)].frames.size());
    EXPECT_EQ(file.Read(1).frames[1], Frame());
  }
}

TEST_F(ClipCsv, ASizeMayBeAWholeFloat) {
  Replace(",25,256,256,", ",25,1920.0,1080.0,");
  const Clip clip = ClipFile(File(), YAxis::kDown).Read(0);
  EXPECT_EQ(clip.width, 1920);
  EXPECT_EQ(clip.height, 1080);
  Replace(",25,1920.0,", ",25,1920.5,");
  ExpectRefused("video_size_width: expected an integer, 1 to");
}

TEST_F(ClipCsv, ShouldersAboveTheNoseTellThatYGrowsTheOtherWay) {
  EXPECT_EQ(ShouldersBelowNose(ClipFile(File(), YAxis::kDown)), 1);
  EXPECT_EQ(ShouldersBelowNose(ClipFile(File(), YAxis::kUp)), 0);
  for (Clip& clip : clips_) {
    for (Frame& frame : clip.frames) frame[kNose] = {};
  }
  WriteClips(File(), clips_);
  EXPECT_FALSE(ShouldersBelowNose(ClipFile(File(), YAxis::kDown)).has_value());
}

TEST_F(ClipCsv, AClipInWhichNoJointWasFoundIsRefused) {
  WriteClips(File(), std::vector<Clip>{Clip{.frames = std::vector<Frame>(3)}});
  ExpectRefused("clips.csv:2: no joint was found in any frame");
  WriteClips(File(), std::vector<Clip>{Clip{}});
  ExpectRefused("0 frames; expected");
}

}  // namespace
}  // namespace medley_signs
