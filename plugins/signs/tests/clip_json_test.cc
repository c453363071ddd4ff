#include "pose/clip_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include <medley/base/error.h>

namespace medley_signs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Points of a frame: x tells which one it is, y grows downwards.
json Points(std::size_t count, double x, double y) {
  json points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({x + 0.001 * static_cast<double>(i), y, -0.5});
  return points;
}

class ClipJson : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "signs_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    json body = Points(33, 0.1, 0.5);
    body[11][1] = body[12][1] = 0.75;  // the shoulders
    video_ = {{"frames", {{{"frame_number", 0}, {"height", 1080}, {"width", 1920}}}},
              {"video_info", {{"video_name", "W07_a.mp4"}}},
              {"pose_landmarks", {body, body, nullptr, nullptr}},
              {"hand_landmarks",
               {{{"left", Points(21, 0.3, 0.25)}, {"right", nullptr}},
                {{"left", nullptr}, {"right", Points(21, 0.6, 0.25)}},
                {{"left", Points(21, 0.9, 0.25)}, {"right", nullptr}},
                {{"left", nullptr}, {"right", nullptr}}}}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Clip Read(bool swap_hands, YAxis y = YAxis::kDown) const {
    return LandmarkFiles(Write("07_a_landmarks.json", video_.dump()), y, swap_hands).Read(0);
  }
  std::string Refusal(const std::string& text) const {
    try {
      LandmarkFiles(Write("07_a_landmarks.json", text), YAxis::kDown, true).Read(0);
      return "it was read";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  void ExpectRefused(const json& video, const std::string& what) const {
    const std::string refusal = Refusal(video.dump());
    EXPECT_NE(refusal.find("07_a_landmarks.json: " + what), std::string::npos) << refusal;
  }

  fs::path folder_;
  json video_;
};

TEST_F(ClipJson, BodyAndHandsAreWhereMediaPipeHasThem) {
  const Clip clip = Read(false);
  ASSERT_EQ(clip.frames.size(), 3u) << "the last frame has nothing";
  EXPECT_EQ(clip.width, 1920);
  EXPECT_EQ(clip.height, 1080);
  const Frame& frame = clip.frames[0];
  EXPECT_EQ(frame[kNose], (Point{0.1, 0.5}));
  EXPECT_EQ(frame[kLeftEye].x, 0.1 + 0.001 * 2);
  EXPECT_EQ(frame[kRightEar].x, 0.1 + 0.001 * 8);
  EXPECT_EQ(frame[kRightWrist].x, 0.1 + 0.001 * 16);
  EXPECT_EQ(frame[kNeck], (frame[kLeftShoulder] + frame[kRightShoulder]) * 0.5);
  const auto point = [](double x, int i) { return x + 0.001 * i; };
  EXPECT_EQ(frame[kLeftHand].x, point(0.3, 0));
  for (const auto& [name, i] : {std::pair{"indexTip_left", 8},
                                {"indexMCP_left", 5},
                                {"middleTip_left", 12},
                                {"ringDIP_left", 15},
                                {"littlePIP_left", 18},
                                {"thumbTip_left", 4},
                                {"thumbIP_left", 3},
                                {"thumbMP_left", 2},
                                {"thumbCMC_left", 1}}) {
    for (std::size_t joint = 0; joint < kJoints; ++joint) {
      if (JointName(joint) != name) continue;
      EXPECT_EQ(frame[joint].x, point(0.3, i)) << name;
    }
  }
  EXPECT_FALSE(frame[kRightHand].found());
  EXPECT_EQ(clip.frames[1][kRightHand].x, 0.6);
  EXPECT_FALSE(clip.frames[2][kNose].found()) << "a frame may have a hand alone";
}

TEST_F(ClipJson, HandsThatAreNamedAsInAMirrorChangeSides) {
  const Clip mirrored = Read(true);
  EXPECT_EQ(mirrored.frames[0][kRightHand].x, 0.3);
  EXPECT_FALSE(mirrored.frames[0][kLeftHand].found());
  EXPECT_EQ(mirrored.frames[1][kLeftHand].x, 0.6);
}

TEST_F(ClipJson, YCanBeTurnedAndItsDirectionIsSeen) {
  EXPECT_EQ(Read(true, YAxis::kUp).frames[0][kLeftShoulder].y, 0.25);
  const fs::path file = folder_ / "07_a_landmarks.json";
  EXPECT_EQ(ShouldersBelowNose(LandmarkFiles(file, YAxis::kDown, true)), 1);
  EXPECT_EQ(ShouldersBelowNose(LandmarkFiles(file, YAxis::kUp, true)), 0);
}

TEST_F(ClipJson, AFolderHasAClipOfEachFileThatIsNamedSo) {
  for (const char* name : {"07_b_landmarks.json", "eat_a_landmarks.json", "7_normalized.json", "readme.txt"})
    Write(name, video_.dump());
  fs::create_directory_symlink(folder_, folder_ / "loop_landmarks.json");
  const LandmarkFiles files(folder_, YAxis::kDown, true);
  ASSERT_EQ(files.size(), 2);
  EXPECT_EQ(files.Subjects()[0].label, "7");
  EXPECT_EQ(files.Subjects()[1].label, "eat");
  EXPECT_NE(files.hashes()[0], files.hashes()[1]);
  EXPECT_EQ(files.Read(1), Read(true));
  fs::create_directory(folder_ / "empty");
  try {
    LandmarkFiles(folder_ / "empty", YAxis::kDown, true);
    FAIL() << "it was taken";
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("empty has no files LABEL_..._landmarks.json"),
              std::string::npos);
  }
  fs::create_symlink("self_landmarks.json", folder_ / "self_landmarks.json");
  try {
    LandmarkFiles(folder_, YAxis::kDown, true);
    FAIL() << "it was taken";
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("self_landmarks.json is a link that leads to no file"),
              std::string::npos)
        << error.what();
  }
}

// A hundred thousand where sweeps are whole.
TEST_F(ClipJson, AFolderMayHaveVeryManyFiles) {
  const char* sweep = std::getenv("MEDLEY_SWEEP");
  const int count = sweep == nullptr || *sweep == 0 ? 100'000 : 3'000;
  for (int clip = 0; clip < count; ++clip)
    std::ofstream(folder_ /
                  ("word" + std::to_string(clip % 100) + "_" + std::to_string(clip) + "_landmarks.json"));
  const LandmarkFiles files(folder_, YAxis::kDown, true);
  EXPECT_EQ(files.size(), count);
  std::set<std::string> labels;
  for (const ClipReader::Subject& subject : files.Subjects()) labels.insert(subject.label);
  EXPECT_EQ(labels.size(), 100U);
}

TEST_F(ClipJson, WhatIsNotAsTheFormatSaysIsNamedWithItsKey) {
  const auto with = [&](const std::string& pointer, const json& value) {
    json changed = video_;
    changed[json::json_pointer(pointer)] = value;
    return changed;
  };
  ExpectRefused(with("/pose_landmarks", nullptr),
                "pose_landmarks: expected a list with an entry for each frame");
  ExpectRefused(with("/pose_landmarks/1", Points(32, 0, 0)), "pose_landmarks[1]: expected null or 33 points");
  ExpectRefused(with("/pose_landmarks/1/11/0", "x"), "pose_landmarks[1][11]: expected [x, y, z]");
  ExpectRefused(with("/hand_landmarks/0", nullptr),
                "hand_landmarks[0]: expected {\"left\": ..., \"right\": ...}");
  ExpectRefused(with("/hand_landmarks/0/left", Points(20, 0, 0)),
                "hand_landmarks[0].left: expected null or 21 points");
  ExpectRefused(with("/frames/0/width", 0), "frames[0].width: expected an integer, 1 to 100000");
  json fewer = video_;
  fewer["hand_landmarks"].erase(3);
  ExpectRefused(fewer, "hand_landmarks: 3 frames; pose_landmarks has 4");
  ExpectRefused(json::array(), "pose_landmarks: expected a list");
  ExpectRefused(with("/pose_landmarks/1/11/0", 1e39), "pose_landmarks[1][11]: expected [x, y, z], each from");
  json many = video_;
  for (const char* key : {"pose_landmarks", "hand_landmarks"})
    many[key] = std::vector<int>(kMostClipFrames + 1, 0);
  ExpectRefused(many, "pose_landmarks: 20001 frames; expected at most 20000");
  EXPECT_NE(Refusal(R"({"a": 1, "b": {"a": 2}, "a": 3})").find("the key \"a\" stands twice"),
            std::string::npos);
  json nothing = video_;
  for (const char* key : {"pose_landmarks", "hand_landmarks"}) nothing[key] = json::array();
  ExpectRefused(nothing, "no joint was found in any frame");
  EXPECT_NE(Refusal("{\"pose_landmarks\": [NaN]}").find("parse error at line 1"), std::string::npos);
  EXPECT_NE(Refusal(std::string(1000, '[')).find("more than 8 lists or objects in one another"),
            std::string::npos);
}

}  // namespace
}  // namespace medley_signs
