#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace medley_volumes {

// Who is held out together: subjects of one conversation, and so on from each to those of others.
class SubjectGroups {
 public:
  // Of the next conversation; at least one.
  void Add(const std::vector<std::string>& subjects);

  struct Group {
    std::string name;  // its subjects', sorted
    std::vector<std::int64_t> conversations;
  };
  // In the order of their first conversations.
  std::vector<Group> All();

 private:
  std::size_t RootOf(std::size_t subject);

  std::map<std::string, std::size_t> index_;  // of subjects
  std::vector<std::size_t> parents_;          // of a subject another one of its group; its root's is itself
  std::vector<std::size_t> first_;            // of each conversation one of its subjects
};

}  // namespace medley_volumes
