#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace medley_volumes {

inline constexpr std::int64_t kMostScans = 4;  // of a conversation

// kVolume: [side, side, side]. kSeries: volumes over time, [frames, side, side, side].
enum class Modality { kVolume, kSeries };
inline const char* NameOf(Modality modality) { return modality == Modality::kVolume ? "volume" : "series"; }

// What a scan of each modality has, as the model wants it.
struct Geometry {
  std::int64_t volume_side = 0, series_side = 0, frames = 0;

  std::vector<std::int64_t> Shape(Modality modality) const {
    if (modality == Modality::kVolume) return {volume_side, volume_side, volume_side};
    return {frames, series_side, series_side, series_side};
  }
  std::int64_t Bytes(Modality modality) const {
    std::int64_t bytes = sizeof(float);
    for (const std::int64_t size : Shape(modality)) bytes *= size;
    return bytes;
  }
};

// Floats; made or read when they are asked for.
struct Scan {
  Modality modality = Modality::kVolume;
  std::function<at::Tensor()> voxels;
  std::filesystem::path nifti{};  // the file, where it is one that says which way its axes run
  std::string name{};             // by which a cache keeps the voxels; "": they are as soon made again
};

using Content = std::variant<std::string, Scan>;

enum class Role { kUser, kAssistant };
inline constexpr char kAssistantsScan[] = "an assistant's turn holds a scan; only users show scans";
struct Turn {
  Role role = Role::kUser;
  std::vector<Content> items;
};

// Of a turn's items [first, second): the texts that stand behind its last scan, or before it where there are
// none; blank ones at the end are none.
inline std::pair<std::size_t, std::size_t> LastTexts(const std::vector<Content>& items) {
  const auto text = [&](std::size_t end) { return std::get_if<std::string>(&items[end - 1]); };
  std::size_t end = items.size();
  while (end > 0 && (text(end) == nullptr || text(end)->find_first_not_of(" \t\r\n") == std::string::npos))
    --end;
  std::size_t begin = end;
  while (begin > 0 && text(begin) != nullptr) --begin;
  return {begin, end};
}

struct Conversation {
  std::string subject;  // where there are several, all of them
  std::vector<Turn> turns;
  // What the best reader of any one of its scans scores in the last answer, where that is known.
  double one_scan = std::numeric_limits<double>::quiet_NaN();
  std::function<std::string()> where{};  // "FILE:LINE", of a file's
  std::vector<std::string> subjects{};   // of a file's, each
};

struct ScanCounts {
  std::int64_t volumes = 0, series = 0;
};
// fn(scan) for each, in their order.
template <typename Fn>
void ForEachScan(const Conversation& conversation, const Fn& fn) {
  for (const Turn& turn : conversation.turns) {
    for (const Content& item : turn.items) {
      if (const auto* scan = std::get_if<Scan>(&item)) fn(*scan);
    }
  }
}
inline ScanCounts CountScans(const Conversation& conversation) {
  ScanCounts counts;
  ForEachScan(conversation, [&](const Scan& scan) {
    ++(scan.modality == Modality::kVolume ? counts.volumes : counts.series);
  });
  return counts;
}

}  // namespace medley_volumes
