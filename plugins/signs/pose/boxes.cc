#include "pose/boxes.h"

#include <algorithm>
#include <optional>
#include <span>

namespace medley_signs {
namespace {

constexpr double kHandMargin = 0.1, kHalfBox = 3;

struct Box {
  Point from;       // becomes (0, 0)
  double side = 1;  // becomes 1
};

Point In(const Box& box, Point point) {
  return {(point.x - box.from.x) / box.side, (point.y - box.from.y) / box.side};
}

std::optional<Box> BodyBox(const Frame& frame) {
  if (!frame[kNeck].found() || !frame[kLeftEye].found()) return std::nullopt;
  double unit = 0;
  if (frame[kLeftShoulder].found() && frame[kRightShoulder].found()) {
    unit = Length(frame[kLeftShoulder] - frame[kRightShoulder]);
  } else if (frame[kNose].found()) {
    unit = Length(frame[kNeck] - frame[kNose]);
  }
  if (unit <= 0) return std::nullopt;
  return Box{{frame[kNeck].x - kHalfBox * unit, frame[kLeftEye].y - unit}, 2 * kHalfBox * unit};
}

std::optional<Box> FirstBodyBox(const Clip& clip) {
  for (const Frame& frame : clip.frames) {
    if (const std::optional<Box> box = BodyBox(frame)) return box;
  }
  return std::nullopt;
}

void PutBody(Clip& clip, Box box) {
  for (Frame& frame : clip.frames) {
    box = BodyBox(frame).value_or(box);
    for (std::size_t joint = 0; joint < kBodyJoints; ++joint) {
      if (frame[joint].found()) frame[joint] = In(box, frame[joint]);
    }
  }
}

void PutHand(std::span<Point> hand) {
  Point low{1e300, 1e300}, high{-1e300, -1e300};
  for (const Point& point : hand) {
    if (!point.found()) continue;
    low = {std::min(low.x, point.x), std::min(low.y, point.y)};
    high = {std::max(high.x, point.x), std::max(high.y, point.y)};
  }
  if (low.x > high.x) return;  // it was not seen
  const Point middle = (low + high) * 0.5;
  const double longest = std::max(high.x - low.x, high.y - low.y);
  const double side = longest > 0 ? (1 + 2 * kHandMargin) * longest : 1;
  const Box box{middle - Point{side / 2, side / 2}, side};
  for (Point& point : hand) {
    if (point.found()) point = In(box, point);
  }
}

void Centre(Clip& clip) {
  for (Frame& frame : clip.frames) ForEachFound(frame, [](Point& point) { point = point - Point{0.5, 0.5}; });
}

}  // namespace

void PutIntoBoxes(Clip& clip) {
  if (const std::optional<Box> box = FirstBodyBox(clip)) {
    PutBody(clip, *box);
    for (Frame& frame : clip.frames) {
      for (const std::size_t hand : {kLeftHand, kRightHand})
        PutHand(std::span(frame).subspan(hand, kHandJoints));
    }
  }
  Centre(clip);
}

}  // namespace medley_signs
