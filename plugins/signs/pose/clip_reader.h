#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pose/clip.h"

namespace medley_signs {

// Which way y grows in a file. Nothing here guesses it: with the wrong one a box lies on the wrong side of
// the head.
enum class YAxis { kDown, kUp };

inline constexpr std::int64_t kMostPixels = 100000;    // of a picture's side
inline constexpr std::size_t kMostClipFrames = 20000;  // of a clip, before any are made
inline constexpr double kFarthest = 1e6;               // of a place, in parts of a picture's sides

// The clips of a file or a folder, in whatever format. Many threads may read at once.
class ClipReader {
 public:
  virtual ~ClipReader() = default;

  virtual std::int64_t size() const = 0;
  virtual bool has_signers() const { return false; }
  // 0 <= item < size(). All but the label; an InputError with its place for a clip that is not as the format
  // says, or in which no joint was found.
  virtual Clip Read(std::int64_t item) const = 0;
  // What a clip is of, of each.
  struct Subject {
    std::string label;        // as medley::ClassName has it
    std::int64_t signer = 0;  // 0 where nobody says
  };
  virtual std::vector<Subject> Subjects() const = 0;
  // medley::HashItem of what tells an item from others: its bytes, or its file's name.
  virtual std::span<const std::uint64_t> hashes() const = 0;
  virtual bool is_told_by_names() const { return false; }
  // For what is wrong with an item's label.
  virtual std::string PlaceOfLabel(std::int64_t item) const = 0;
};

// What all formats do at the end: frames at the end in which no joint was found are cut off, as files are
// padded with them, and y grows downwards. `place`: for the InputError where nothing is left.
void Finish(Clip& clip, YAxis y, const std::function<std::string()>& place);
// Puts the neck between the shoulders, where both were found.
void AddNeck(Frame& frame);

// In what part of the frames of its first clips the shoulders stand below the nose, as they do where y grows
// as it is said; nothing where that cannot be seen.
std::optional<double> ShouldersBelowNose(const ClipReader& reader);

}  // namespace medley_signs
