#include "data/subject_groups.h"

namespace medley_volumes {

void SubjectGroups::Add(const std::vector<std::string>& subjects) {
  std::vector<std::size_t> numbers;
  for (const std::string& subject : subjects) {
    const auto [at, is_new] = index_.emplace(subject, parents_.size());
    if (is_new) parents_.push_back(at->second);
    numbers.push_back(at->second);
  }
  for (const std::size_t number : numbers) parents_[RootOf(number)] = RootOf(numbers.front());
  first_.push_back(numbers.front());
}

std::vector<SubjectGroups::Group> SubjectGroups::All() {
  std::vector<Group> groups;
  std::map<std::size_t, std::size_t> of_root;
  for (std::size_t conversation = 0; conversation < first_.size(); ++conversation) {
    const auto [at, is_new] = of_root.emplace(RootOf(first_[conversation]), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].conversations.push_back(static_cast<std::int64_t>(conversation));
  }
  for (const auto& [name, number] : index_) {
    std::string& all = groups[of_root.at(RootOf(number))].name;
    all += (all.empty() ? "" : " ") + name;
  }
  return groups;
}

std::size_t SubjectGroups::RootOf(std::size_t subject) {
  while (parents_[subject] != subject) subject = parents_[subject] = parents_[parents_[subject]];
  return subject;
}

}  // namespace medley_volumes
