#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// Insertions, deletions, replacements and swaps of neighbours that lead from a to b; case does not count.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidates nearest to a name that somebody mistyped: all with the smallest distance, in their order;
// none where even the nearest is too far to be meant.
std::vector<std::string> NearNames(std::string_view name, const std::vector<std::string>& candidates);

// The same of names with dots between their levels, which a person knows by their last part and looks for on
// another level: for "learning_rate" or "eval.learning_rat" that is "optimizer.learning_rate". A "*" of a
// candidate is any name: for "zoom.rows" "tasks.*.rows" becomes "tasks.zoom.rows", for "rows"
// "tasks.NAME.rows".
std::vector<std::string> NearPaths(std::string_view path, const std::vector<std::string>& candidates);

// "; did you mean 'a'?", "; did you mean 'a' or 'b'?" or "".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);
// The same of names that are near.
std::string DidYouMean(std::vector<std::string> near);

// "no such task; did you mean 'control'? (allowed: control, zoom_gold)"
std::string NoSuchName(std::string_view what, std::string_view name, const std::vector<std::string>& known);

// "a, b, c"
std::string JoinNames(const std::vector<std::string>& names, std::string_view separator = ", ");
// The first four of them: "a, b, c, d and 2 more".
std::string JoinFew(const std::vector<std::string>& names);
// "a, b, c" or "none", for any range of names; of a map, its keys.
template <typename Names>
std::string Listed(const Names& names) {
  std::vector<std::string> list;
  for (const auto& name : names) {
    if constexpr (requires { name.first; }) {
      list.emplace_back(name.first);
    } else {
      list.emplace_back(name);
    }
  }
  return list.empty() ? "none" : JoinNames(list);
}

}  // namespace medley
