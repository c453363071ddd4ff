#include "pose/clip_reader.h"

#include <algorithm>

#include <medley/base/error.h>

namespace medley_signs {

void Finish(Clip& clip, YAxis y, const std::function<std::string()>& place) {
  while (!clip.frames.empty() && clip.frames.back() == Frame()) clip.frames.pop_back();
  if (clip.frames.empty())
    throw medley::InputError(place() + ": no joint was found in any frame; leave the clip out");
  if (y == YAxis::kDown) return;
  for (Frame& frame : clip.frames) ForEachFound(frame, [](Point& point) { point.y = 1 - point.y; });
}

void AddNeck(Frame& frame) {
  if (frame[kLeftShoulder].found() && frame[kRightShoulder].found())
    frame[kNeck] = (frame[kLeftShoulder] + frame[kRightShoulder]) * 0.5;
}

std::optional<double> ShouldersBelowNose(const ClipReader& reader) {
  constexpr std::int64_t kLookedAt = 20;
  std::int64_t seen = 0, below = 0;
  for (std::int64_t item = 0; item < std::min(kLookedAt, reader.size()); ++item) {
    for (const Frame& frame : reader.Read(item).frames) {
      if (!frame[kNose].found() || !frame[kLeftShoulder].found() || !frame[kRightShoulder].found()) continue;
      ++seen;
      if (frame[kLeftShoulder].y + frame[kRightShoulder].y > 2 * frame[kNose].y) ++below;
    }
  }
  return seen == 0 ? std::nullopt : std::optional(static_cast<double>(below) / static_cast<double>(seen));
}

}  // namespace medley_signs
