#include <medley/base/printable.h>
#include <medley/base/suggest.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace medley {
namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Half a short name may be wrong at most, and three letters of a long one.
std::size_t MostEdits(std::size_t length) { return std::clamp<std::size_t>(length / 3, 1, 3); }

using Levels = std::vector<std::string>;

Levels LevelsOf(std::string_view path) {
  Levels levels(1);
  for (const char c : path) {
    if (c == '.')
      levels.emplace_back();
    else
      levels.back() += c;
  }
  return levels;
}

// How much the levels above the last ones have in common, in their order; names that stand for a "*" of the
// candidate take its place, but for those that are `known` as keys.
std::size_t TakeNames(const Levels& levels, const std::set<std::string>& known, Levels& candidate) {
  const std::size_t rows = levels.size(), columns = candidate.size();
  // What the first i and j of them share: a name counts more than a "*".
  std::vector<std::vector<std::size_t>> shared(rows, std::vector<std::size_t>(columns));
  const auto worth = [&](std::size_t i, std::size_t j) -> std::size_t {
    if (candidate[j - 1] == "*") return known.contains(levels[i - 1]) ? 0 : 1;
    return candidate[j - 1] == levels[i - 1] ? 2 : 0;
  };
  for (std::size_t i = 1; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j)
      shared[i][j] = std::max({shared[i - 1][j], shared[i][j - 1], shared[i - 1][j - 1] + worth(i, j)});
  }
  std::size_t i = rows - 1, j = columns - 1;
  const std::size_t most = shared[i][j];
  while (i > 0 && j > 0) {
    if (shared[i][j] == shared[i - 1][j]) {
      --i;
    } else if (shared[i][j] == shared[i][j - 1]) {
      --j;
    } else {
      if (candidate[j - 1] == "*") candidate[j - 1] = levels[i - 1];
      --i, --j;
    }
  }
  for (std::string& level : candidate) {
    if (level == "*") level = "NAME";
  }
  return most;
}

// The name is one that a map may have, one level below: "tasks.riddles.file" is "tasks.riddles.options.file".
std::vector<std::string> NamesInMaps(const Levels& levels, const std::vector<Levels>& candidates) {
  std::vector<std::string> found;
  for (const Levels& candidate : candidates) {
    if (levels.size() < 2 || candidate.size() != levels.size() + 1 || candidate.back() != "*") continue;
    const bool same =
        std::equal(levels.begin(), levels.end() - 1, candidate.begin(),
                   [](const auto& name, const auto& known) { return known == "*" || known == name; });
    if (!same) continue;
    Levels named(levels.begin(), levels.end() - 1);
    named.push_back(candidate[candidate.size() - 2]);
    named.push_back(levels.back());
    found.push_back(JoinNames(named, "."));
  }
  return found;
}

}  // namespace

// Optimal string alignment: the textbook table, of which three rows are kept.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::vector<std::string> NearNames(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 128;  // nobody mistypes more, and the table is quadratic
  if (name.size() > kLongest) return {};
  std::vector<std::string> nearest;
  std::size_t best = MostEdits(name.size());
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = EditDistance(name, candidate);
    if (distance > best) continue;
    if (distance < best) nearest.clear();
    best = distance;
    nearest.push_back(candidate);
  }
  return nearest;
}

std::vector<std::string> NearPaths(std::string_view path, const std::vector<std::string>& candidates) {
  const Levels levels = LevelsOf(path);
  std::vector<Levels> all;
  std::vector<std::string> last;
  std::set<std::string> known;
  for (const std::string& candidate : candidates) {
    all.push_back(LevelsOf(candidate));
    known.insert(all.back().begin(), all.back().end() - 1);
    if (all.back().back() != "*") last.push_back(all.back().back());
  }
  std::vector<std::string> near = NearNames(levels.back(), last);
  if (near.empty()) return NamesInMaps(levels, all);
  std::vector<std::string> found;
  std::size_t most = 0;
  for (Levels& candidate : all) {
    if (std::ranges::find(near, candidate.back()) == near.end()) continue;
    const std::size_t shared = TakeNames(levels, known, candidate);
    if (shared < most) continue;
    if (shared > most) found.clear();
    most = shared;
    const std::string words = JoinNames(candidate, ".");
    if (words != path && std::ranges::find(found, words) == found.end()) found.push_back(words);
  }
  return found;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  return DidYouMean(NearNames(name, candidates));
}

std::string DidYouMean(std::vector<std::string> near) {
  if (near.empty()) return "";
  for (std::string& candidate : near) candidate = "'" + candidate + "'";
  return "; did you mean " + JoinNames(near, " or ") + "?";
}

std::string NoSuchName(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  return "no such " + std::string(what) + DidYouMean(name, known) +
         (known.empty() ? " (there is none)" : " (allowed: " + JoinNames(known) + ")");
}

std::string JoinNames(const std::vector<std::string>& names, std::string_view separator) {
  std::string all;
  for (const std::string& name : names) {
    if (!all.empty()) all += separator;
    all += Printable(name);
  }
  return all;
}

std::string JoinFew(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t kFew = 4;
  if (std::ssize(names) <= kFew) return JoinNames(names);
  return JoinNames({names.begin(), names.begin() + kFew}) + " and " +
         std::to_string(std::ssize(names) - kFew) + " more";
}

}  // namespace medley
