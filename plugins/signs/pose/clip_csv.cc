#include "pose/clip_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include <medley/base/error.h>
#include <medley/data/class_names.h>

namespace medley_signs {
namespace {

constexpr std::int64_t kMostSigners = std::numeric_limits<std::int32_t>::max();

std::string_view Trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// False where it is not one finite number and nothing else.
template <typename Number>
bool Parse(std::string_view text, Number& value) {
  text = Trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() &&
         std::isfinite(static_cast<double>(value));
}

// Also where it is written as 1080.0.
bool ParseWhole(std::string_view text, std::int64_t& value) {
  double number = 0;
  if (!Parse(text, number) || number != std::floor(number) || std::abs(number) > 1e15) return false;
  value = static_cast<std::int64_t>(number);
  return true;
}

// "" or what is wrong.
std::string ParseList(std::string_view text, std::vector<double>& values) {
  values.clear();
  text = Trimmed(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return "expected a list, as in [0.5, 0.25]";
  text = Trimmed(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    if (values.size() == kMostClipFrames) return "more than " + std::to_string(kMostClipFrames) + " frames";
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!Parse(text.substr(0, comma), values.emplace_back()) || std::abs(values.back()) > kFarthest)
      return "frame " + std::to_string(values.size()) + " is no number from -1e6 to 1e6";
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return "";
}

// As the file spells the joint.
std::string NameIn(const std::vector<std::string>& columns, std::size_t joint) {
  const std::string name = JointName(joint);
  if (joint < kBodyJoints) return name;
  const std::string part = name.substr(0, name.find('_'));
  const bool is_left = joint < kRightHand;
  for (const char* side :
       is_left ? std::array{"_left", "_Left", "_0"} : std::array{"_right", "_Right", "_1"}) {
    if (std::ranges::find(columns, part + side + "_X") != columns.end()) return part + side;
  }
  return name;
}

template <typename Number>
void Append(std::string& text, Number value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

ClipFile::ClipFile(const std::filesystem::path& file, YAxis y, Labels labels)
    : file_(file),
      y_(y),
      label_(labels == Labels::kRequired ? std::optional(file_.Column("labels")) : std::nullopt),
      signer_(ColumnIfAny("signer")),
      fps_(ColumnIfAny("video_fps")),
      width_(ColumnIfAny("video_size_width")),
      height_(ColumnIfAny("video_size_height")) {
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    if (joint == kNeck && !ColumnIfAny("neck_X") && !ColumnIfAny("neck_Y")) continue;
    const std::string name = NameIn(file_.columns(), joint);
    joints_.push_back({.joint = joint, .x = file_.Column(name + "_X"), .y = file_.Column(name + "_Y")});
  }
}

std::optional<std::size_t> ClipFile::ColumnIfAny(std::string_view name) const {
  const auto found = std::find(file_.columns().begin(), file_.columns().end(), name);
  if (found == file_.columns().end()) return std::nullopt;
  return static_cast<std::size_t>(found - file_.columns().begin());
}

void ClipFile::Fail(std::int64_t item, std::size_t column, const std::string& what) const {
  throw medley::InputError(file_.PlaceOf(item) + ": " + file_.columns()[column] + ": " + what);
}

std::int64_t ClipFile::Integer(const std::vector<std::string>& fields, std::size_t column, std::int64_t low,
                               std::int64_t high, std::int64_t item) const {
  std::int64_t value = 0;
  if (!ParseWhole(fields[column], value) || value < low || value > high)
    Fail(item, column, "expected an integer, " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

Clip ClipFile::Read(std::int64_t item) const {
  const std::vector<std::string> fields = file_.Read(item);
  Clip clip;
  if (signer_) clip.signer = Integer(fields, *signer_, 0, kMostSigners, item);
  if (fps_ && (!Parse(fields[*fps_], clip.fps) || clip.fps <= 0))
    Fail(item, *fps_, "expected a number above 0");
  if (width_) clip.width = Integer(fields, *width_, 1, kMostPixels, item);
  if (height_) clip.height = Integer(fields, *height_, 1, kMostPixels, item);
  std::vector<double> values;
  const auto read = [&](std::size_t joint, std::size_t column, double Point::*part) {
    if (const std::string problem = ParseList(fields[column], values); !problem.empty())
      Fail(item, column, problem);
    if (column == joints_[0].x) clip.frames.resize(values.size());
    if (values.size() != clip.frames.size() || values.empty())
      Fail(item, column,
           std::to_string(values.size()) + " frames; expected as many as the other columns have (" +
               std::to_string(clip.frames.size()) + "), and at least one");
    for (std::size_t i = 0; i < values.size(); ++i) clip.frames[i][joint].*part = values[i];
  };
  for (const JointColumns& joint : joints_) {
    read(joint.joint, joint.x, &Point::x);
    read(joint.joint, joint.y, &Point::y);
  }
  if (joints_.size() < kJoints) std::ranges::for_each(clip.frames, AddNeck);
  Finish(clip, y_, [&] { return file_.PlaceOf(item); });
  return clip;
}

std::vector<ClipFile::Subject> ClipFile::Subjects() const {
  std::vector<Subject> subjects;
  for (std::int64_t item = 0; item < size(); ++item) {
    const std::vector<std::string> fields = file_.Read(item);
    Subject& subject = subjects.emplace_back(medley::ClassName(fields[*label_]));
    if (subject.label.empty()) Fail(item, *label_, "is empty; expected a number or a word");
    if (signer_) subject.signer = Integer(fields, *signer_, 0, kMostSigners, item);
  }
  return subjects;
}

std::string ClipFile::PlaceOfLabel(std::int64_t item) const {
  return file_.PlaceOf(item) + ": " + file_.columns()[*label_];
}

void WriteClips(const std::filesystem::path& file, std::span<const Clip> clips) {
  std::string text = "labels,signer,video_fps,video_size_width,video_size_height";
  for (std::size_t joint = 0; joint < kJoints; ++joint)
    text += "," + JointName(joint) + "_X," + JointName(joint) + "_Y";
  text += '\n';
  for (const Clip& clip : clips) {
    Append(text, clip.label + 1);
    Append(text += ',', clip.signer);
    Append(text += ',', clip.fps);
    for (const std::int64_t value : {clip.width, clip.height}) Append(text += ',', value);
    for (std::size_t joint = 0; joint < kJoints; ++joint) {
      for (double Point::*part : {&Point::x, &Point::y}) {
        text += ",\"";
        for (std::size_t i = 0; i < clip.frames.size(); ++i)
          Append(text += i == 0 ? "[" : ", ", clip.frames[i][joint].*part);
        text += clip.frames.empty() ? "[]\"" : "]\"";
      }
    }
    text += '\n';
  }
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw medley::Error(file.string() + " could not be written");
}

}  // namespace medley_signs
