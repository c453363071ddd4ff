#include <medley/report/short_names.h>

#include <algorithm>

namespace medley {
namespace {

constexpr std::size_t kFewestLetters = 4;

// The shortest first, the whole name last. The last word is what tells tasks apart: of the others the first
// letter stands for all.
std::vector<std::string> NamesFor(const std::string& task) {
  std::string initials;
  std::size_t begin = 0;
  for (std::size_t end; (end = task.find('_', begin)) != std::string::npos; begin = end + 1)
    initials += task.substr(begin, std::min<std::size_t>(end - begin, 1));
  const std::string last = task.substr(begin);
  std::vector<std::string> names;
  for (std::size_t letters = kFewestLetters; letters < initials.size() + last.size(); ++letters) {
    if (letters > initials.size()) names.push_back(initials + last.substr(0, letters - initials.size()));
  }
  names.push_back(initials + last);
  if (!initials.empty()) names.push_back(task);
  return names;
}

}  // namespace

bool ShortNames::IsFree(const std::string& name, const std::string& task) const {
  return std::ranges::all_of(names_, [&](const auto& other) {
    return other.first == task || (other.first != name && other.second != name);
  });
}

std::vector<std::string> ShortNames::Add(const std::vector<std::string>& tasks) {
  std::vector<std::string> added;
  for (const std::string& task : tasks) {
    if (names_.try_emplace(task).second) added.push_back(task);
  }
  // What two of them could be called is nobody's.
  std::map<std::string, int> wanted;
  for (const std::string& task : added) {
    for (const std::string& name : NamesFor(task)) ++wanted[name];
  }
  for (const std::string& task : added) {
    const std::vector<std::string> names = NamesFor(task);
    const auto own = std::ranges::find_if(
        names, [&](const std::string& name) { return wanted[name] == 1 && IsFree(name, task); });
    std::string& name = names_[task] = own == names.end() ? task : *own;
    for (int number = 2; !IsFree(name, task); ++number) name = task + "." + std::to_string(number);
  }
  return added;
}

}  // namespace medley
