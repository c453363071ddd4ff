#include <medley/run/file_search.h>

#include <algorithm>

#include <medley/base/files.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr int kFoldersAbove = 5;
constexpr std::size_t kLongestEnd = 5;  // names of a path

template <typename Paths>
void AddNew(const fs::path& path, Paths& paths) {
  if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
}

// "a/b/c", "b/c" and "c" of "/a/b/c".
std::vector<fs::path> EndsOf(const fs::path& path) {
  std::vector<fs::path> ends;
  fs::path end;
  for (fs::path rest = NormalPath(path); rest.has_filename() && ends.size() < kLongestEnd;
       rest = rest.parent_path()) {
    end = end.empty() ? rest.filename() : rest.filename() / end;
    ends.push_back(end);
  }
  std::ranges::reverse(ends);
  return ends;
}

std::vector<std::string> Texts(const std::vector<fs::path>& paths) { return {paths.begin(), paths.end()}; }

}  // namespace

void FileSearch::LookAround(const fs::path& folder) {
  fs::path at = NormalPath(folder);
  for (int above = 0; above <= kFoldersAbove && at.has_relative_path(); ++above, at = at.parent_path())
    AddNew(at, folders_);
}

void FileSearch::Moved(const fs::path& then, const fs::path& now) {
  const fs::path before = NormalPath(then), after = NormalPath(now);
  if (before == after) return;
  const bool is_known =
      std::ranges::any_of(moves_, [&](const Move& move) { return move.then == before && move.now == after; });
  if (!is_known) moves_.push_back({before, after});
}

std::vector<fs::path> FileSearch::Corresponding(const fs::path& path) const {
  std::vector<fs::path> places;
  for (const Move& move : moves_) AddNew(NormalPath(move.now / path.lexically_relative(move.then)), places);
  return places;
}

std::vector<fs::path> FileSearch::PlacesOf(const fs::path& path) const {
  std::vector<fs::path> places = Corresponding(path);
  for (const fs::path& end : EndsOf(path)) {
    for (const fs::path& folder : folders_) AddNew(folder / end, places);
  }
  std::erase(places, NormalPath(path));
  return places;
}

std::string FileSearch::Words(const fs::path& path) const {
  const std::vector<fs::path> corresponding = Corresponding(path);
  std::string words = corresponding.empty() ? "" : "looked at " + JoinNames(Texts(corresponding));
  if (folders_.empty()) return words;
  return words + (words.empty() ? "looked for " : ", and for ") + JoinNames(Texts(EndsOf(path))) + " in " +
         JoinNames(Texts(folders_));
}

}  // namespace medley
