#include <medley/base/printable.h>
#include <medley/base/suggest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>

namespace medley {
namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Half a short name may be wrong at most, and three letters of a long one.
std::size_t MostEdits(std::size_t length) { return std::clamp<std::size_t>(length / 3, 1, 3); }

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

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::string> near = NearNames(name, candidates);
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
