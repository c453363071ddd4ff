#include <medley/data/class_names.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/data/last_read.h>

namespace medley {
namespace {

// Nothing where it is none, or none that 64 bits hold.
std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view behind(stop, static_cast<std::size_t>(end - stop));
  const bool is_whole =
      behind.empty() || (behind.front() == '.' && behind.find_first_not_of('0', 1) == std::string_view::npos);
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string ClassName(std::string_view label) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(label.find_first_not_of(kBlanks), label.size());
  label = label.substr(begin, label.find_last_not_of(kBlanks) + 1 - begin);
  if (ValidUtf8(label) != label)  // which the run's record could not keep
    throw InputError(WithPlace("the label '" + Printable(label) + "' is not UTF-8"));
  const std::optional<std::int64_t> number = WholeNumber(label);
  return number ? std::to_string(*number) : std::string(label);
}

std::vector<std::string> SortedClasses(const std::set<std::string>& names) {
  std::vector<std::pair<std::int64_t, std::string>> numbers;
  std::vector<std::string> sorted, words;
  for (const std::string& name : names) {
    if (const std::optional<std::int64_t> number = WholeNumber(name))
      numbers.emplace_back(*number, name);
    else
      words.push_back(name);
  }
  std::ranges::sort(numbers);
  for (auto& [number, name] : numbers) sorted.push_back(std::move(name));
  sorted.insert(sorted.end(), words.begin(), words.end());
  return sorted;
}

ClassTable::ClassTable(const std::vector<std::string>& names) {
  for (const std::string& name : names) labels_.emplace(name, std::ssize(labels_));
}

std::int64_t ClassTable::Require(const std::string& name, const std::function<std::string()>& place) const {
  if (const auto found = labels_.find(name); found != labels_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, label] : labels_) known.push_back(other);
  const bool is_short = name.size() < 3 || WholeNumber(name);  // near to any other
  const std::string meant = is_short ? "" : DidYouMean(name, known);
  throw InputError(
      place() + ": '" + Printable(name) + "' is none of the run's " + std::to_string(labels_.size()) +
      " classes" + (meant.empty() ? "." : meant) +
      " They are those of the training file when a run begins: take the item out, or begin a run "
      "whose training file has some of it; init_from takes all but the last layer");
}

}  // namespace medley
