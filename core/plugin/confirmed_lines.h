#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace medley {

// What this user confirmed once, so that it counts where a config brings it: lines of a file in
// $XDG_STATE_HOME/medley. Without a home, or where strangers could have written the file, none.
class ConfirmedLines {
 public:
  explicit ConfirmedLines(const std::string& name);

  bool Has(const std::string& line) const { return known_.contains(line); }
  // Replaces the file where one of them is new, but not one that is ignored; what is empty or no single line
  // is left out. What cannot be written down is asked for again the next time.
  void Add(const std::vector<std::string>& lines);
  // The end of a sentence that asks for a word: what then remembers `them`, or why nothing does.
  std::string Remembers(const std::string& them) const;

 private:
  std::filesystem::path file_;  // "": there is no home
  std::string why_ignored_;     // "": the file is read
  std::set<std::string> known_;
};

}  // namespace medley
