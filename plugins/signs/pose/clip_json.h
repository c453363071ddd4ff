#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pose/clip_reader.h"

namespace medley_signs {

// Landmarks of MediaPipe as BDSLW's first stage writes them, a file for each video,
// "LABEL_..._landmarks.json": "pose_landmarks", a frame null or 33 x [x, y, z], and "hand_landmarks", a frame
// {"left", "right"}, each null or 21 x [x, y, z], in parts of the picture's sides; y grows downwards.
// "frames" has height and width.
class LandmarkFiles final : public ClipReader {
 public:
  // One such file, or a folder with them: others in it do not count. `swap_hands`: left is the right hand, as
  // MediaPipe's hands are named on a video that is not mirrored. InputError where there is none.
  LandmarkFiles(const std::filesystem::path& path, YAxis y, bool swap_hands);

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  // Errors, with file and key, for what is not as above, and for a file above 16 MiB.
  Clip Read(std::int64_t item) const override;
  std::vector<Subject> Subjects() const override;
  // Of the names of files: reading them all takes minutes.
  std::span<const std::uint64_t> hashes() const override { return hashes_; }
  bool is_told_by_names() const override { return true; }
  std::string PlaceOfLabel(std::int64_t item) const override;

 private:
  std::vector<std::filesystem::path> files_;
  std::vector<std::uint64_t> hashes_;
  YAxis y_;
  bool swap_hands_;
};

}  // namespace medley_signs
