#include "pose/clip_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/class_names.h>
#include <medley/data/item_hash.h>

namespace medley_signs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kEnd = "_landmarks.json";
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
constexpr std::size_t kPosePoints = 33, kHandPoints = 21;

// MediaPipe's number of each joint of the body that it has.
constexpr std::array<std::pair<Joint, std::size_t>, 11> kBody = {{{kNose, 0},
                                                                  {kLeftEye, 2},
                                                                  {kRightEye, 5},
                                                                  {kLeftEar, 7},
                                                                  {kRightEar, 8},
                                                                  {kLeftShoulder, 11},
                                                                  {kRightShoulder, 12},
                                                                  {kLeftElbow, 13},
                                                                  {kRightElbow, 14},
                                                                  {kLeftWrist, 15},
                                                                  {kRightWrist, 16}}};
// Of a hand's fingers, index to little and thumb, the number of the joint next to the wrist.
constexpr std::array<std::size_t, kFingers> kFingerBegins = {5, 9, 13, 17, 1};

// A file's values, whose errors name file and key.
class Landmarks {
 public:
  Landmarks(const fs::path& file, const json& root) : file_(file), root_(root) {}

  [[noreturn]] void Fail(const std::string& key, const std::string& what) const {
    throw medley::InputError(medley::DisplayPath(file_) + ": " + key + ": " + what);
  }
  const json& List(const char* key) const {
    const auto found = root_.is_object() ? root_.find(key) : root_.end();
    if (!root_.is_object() || found == root_.end() || !found->is_array())
      Fail(key, "expected a list with an entry for each frame");
    return *found;
  }
  // The place of a point; x and y of a list of numbers.
  Point At(const json& points, std::size_t point, const std::string& key) const {
    const json& values = points[point];
    const auto is_number = [&](std::size_t i) {
      return values.is_array() && values.size() > i && values[i].is_number() &&
             std::abs(values[i].get<double>()) <= kFarthest;
    };
    if (!is_number(0) || !is_number(1))
      Fail(key + "[" + std::to_string(point) + "]", "expected [x, y, z], each from -1e6 to 1e6");
    return {values[0].get<double>(), values[1].get<double>()};
  }
  // Null where there is none.
  const json* Points(const json& points, std::size_t count, const std::string& key) const {
    if (points.is_null()) return nullptr;
    if (!points.is_array() || points.size() != count)
      Fail(key, "expected null or " + std::to_string(count) + " points [x, y, z]");
    return &points;
  }
  void TakeBody(const json& pose, const std::string& key, Frame& frame) const {
    const json* points = Points(pose, kPosePoints, key);
    if (points == nullptr) return;
    for (const auto& [joint, point] : kBody) frame[joint] = At(*points, point, key);
    AddNeck(frame);
  }
  void TakeHand(const json& hands, const char* side, std::size_t first, const std::string& key,
                Frame& frame) const {
    if (!hands.is_object() || !hands.contains(side)) Fail(key, "expected {\"left\": ..., \"right\": ...}");
    const json* points = Points(hands.at(side), kHandPoints, key + "." + side);
    if (points == nullptr) return;
    frame[first] = At(*points, 0, key + "." + side);
    for (std::size_t finger = 0; finger < kFingers; ++finger) {
      for (std::size_t from_tip = 0; from_tip < kFingerJoints; ++from_tip)
        frame[first + FingerJoint(finger, from_tip)] =
            At(*points, kFingerBegins[finger] + kFingerJoints - 1 - from_tip, key + "." + side);
    }
  }
  // Of the picture, as its first frame says it; what was there where it does not.
  std::int64_t Size(const char* key, std::int64_t otherwise) const {
    const auto frames = root_.find("frames");
    if (frames == root_.end() || !frames->is_array() || frames->empty() || !frames->front().is_object())
      return otherwise;
    const auto size = frames->front().find(key);
    if (size == frames->front().end()) return otherwise;
    if (!size->is_number_integer() || size->get<std::int64_t>() < 1 ||
        size->get<std::int64_t>() > kMostPixels)
      Fail(std::string("frames[0].") + key, "expected an integer, 1 to " + std::to_string(kMostPixels));
    return size->get<std::int64_t>();
  }

 private:
  const fs::path& file_;
  const json& root_;
};

std::vector<fs::path> FilesAt(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().ends_with(kEnd)) continue;
    std::error_code nowhere;  // a link may lead there, or to itself
    const fs::file_status status = entry->status(nowhere);
    if (!fs::exists(status))
      throw medley::InputError(medley::DisplayPath(entry->path()) + " is a link that leads to no file");
    if (fs::is_regular_file(status)) files.push_back(entry->path());
  }
  if (error) throw medley::InputError(medley::DisplayPath(path) + " cannot be listed: " + error.message());
  if (files.empty())
    throw medley::InputError(medley::DisplayPath(path) + " has no files LABEL_..." + std::string(kEnd) +
                             "; expected one for each clip");
  std::ranges::sort(files);
  return files;
}

bool IsUtf8(const std::string& text) try {
  json(text).dump();
  return true;
} catch (const json::exception&) {
  return false;
}

// No JsonlFile, which reads a file three times and keeps an index of each large one: right for a file of many
// records, of which any may be asked for. Of deep brackets each takes a hundred times its byte.
json Parsed(const fs::path& file) try {
  constexpr int kDeepest = 8;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kDeepest)
      throw medley::InputError(medley::DisplayPath(file) + ": more than " + std::to_string(kDeepest) +
                               " lists or objects in one another");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw medley::InputError(medley::DisplayPath(file) + ": the key " + value.dump() + " stands twice");
    return true;
  };
  return json::parse(medley::ReadFile(file, kMostBytes), check);
} catch (const json::exception& error) {
  throw medley::InputError(medley::DisplayPath(file) + ": " + error.what());
}

}  // namespace

LandmarkFiles::LandmarkFiles(const fs::path& path, YAxis y, bool swap_hands)
    : files_(FilesAt(path)), y_(y), swap_hands_(swap_hands) {
  for (const fs::path& file : files_) hashes_.push_back(medley::HashItem(file.filename().string()));
}

Clip LandmarkFiles::Read(std::int64_t item) const {
  const fs::path& file = files_[static_cast<std::size_t>(item)];
  const json root = Parsed(file);
  const Landmarks landmarks(file, root);
  const json &poses = landmarks.List("pose_landmarks"), &hands = landmarks.List("hand_landmarks");
  if (poses.size() != hands.size())
    landmarks.Fail("hand_landmarks", std::to_string(hands.size()) + " frames; pose_landmarks has " +
                                         std::to_string(poses.size()));
  if (poses.size() > kMostClipFrames)
    landmarks.Fail("pose_landmarks", std::to_string(poses.size()) + " frames; expected at most " +
                                         std::to_string(kMostClipFrames));
  Clip clip;
  clip.width = landmarks.Size("width", clip.width);
  clip.height = landmarks.Size("height", clip.height);
  clip.frames.resize(poses.size());
  for (std::size_t i = 0; i < poses.size(); ++i) {
    const std::string at = "[" + std::to_string(i) + "]";
    landmarks.TakeBody(poses[i], "pose_landmarks" + at, clip.frames[i]);
    landmarks.TakeHand(hands[i], swap_hands_ ? "right" : "left", kLeftHand, "hand_landmarks" + at,
                       clip.frames[i]);
    landmarks.TakeHand(hands[i], swap_hands_ ? "left" : "right", kRightHand, "hand_landmarks" + at,
                       clip.frames[i]);
  }
  Finish(clip, y_, [&] { return medley::DisplayPath(file); });
  return clip;
}

std::vector<ClipReader::Subject> LandmarkFiles::Subjects() const {
  std::vector<Subject> subjects;
  for (const fs::path& file : files_) {
    const std::string name = file.filename().string(), label = name.substr(0, name.find('_'));
    if (!IsUtf8(label)) throw medley::InputError(medley::DisplayPath(file) + ": its label is not UTF-8");
    subjects.push_back({.label = medley::ClassName(label)});
    if (subjects.back().label.empty() || name.find('_') == std::string::npos)
      throw medley::InputError(medley::DisplayPath(file) + ": expected a name LABEL_..." + std::string(kEnd));
  }
  return subjects;
}

std::string LandmarkFiles::PlaceOfLabel(std::int64_t item) const {
  return medley::DisplayPath(files_[static_cast<std::size_t>(item)]);
}

}  // namespace medley_signs
