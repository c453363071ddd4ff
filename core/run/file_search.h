#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

// Where a file may lie that was moved: at the places that correspond to its path, where something else moved
// that it lay beside or below, and by the ends of its path in the folders around. Looks at nothing itself.
class FileSearch {
 public:
  // A folder that files may lie below, and a few of those above it.
  void LookAround(const std::filesystem::path& folder);
  // Something that lay in the folder `then`, and lies in `now`: others may have moved along.
  void Moved(const std::filesystem::path& then, const std::filesystem::path& now);

  // The likeliest first, each once, without the path itself.
  std::vector<std::filesystem::path> PlacesOf(const std::filesystem::path& path) const;
  // All of them in few words: "looked at A, B, and for data/x.csv and x.csv in C, D".
  std::string Words(const std::filesystem::path& path) const;

 private:
  struct Move {
    std::filesystem::path then, now;
  };
  std::vector<std::filesystem::path> Corresponding(const std::filesystem::path& path) const;

  std::vector<std::filesystem::path> folders_;
  std::vector<Move> moves_;
};

}  // namespace medley
