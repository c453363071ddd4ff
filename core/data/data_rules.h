#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <medley/base/rows.h>

namespace medley {

class DataRules;
struct ChatStrings;  // text/chat_strings.h

// How much of a task's items is held out, as its option says; a task gets it of TaskContext::HeldOut.
struct HeldOutItems {
  double asked = 0;  // a share below 1, or a number of items; 0: none
  std::string task = {};
  std::string option = {};     // in a config: "tasks.riddles.options.held_out"
  std::string files = {};      // the names of its files, without folders
  std::string by_place = {};   // what names the order in a run that holds out by place: see ItemStream
  DataRules* rules = nullptr;  // of the run; null: nobody keeps what is decided
};

// Which items are held out.
struct DividedItems {
  Split side = Split::kHeldOut;          // the one with fewer items
  std::vector<std::int64_t> items = {};  // whose numbers these are, in ascending order
  std::string rows = {};                 // as in HeldOutShare
};

// What a run decided over the items of one option and its files.
struct HeldOutShare {
  double asked = 0;
  std::string files = {};
  double share = 0;                           // of the hashes, the lowest ones
  std::int64_t items = 0, held_out = 0;       // when it was looked at last
  std::string rows = {};                      // a sum of the hashes that are held out
  std::map<std::uint64_t, Split> sides = {};  // of hashes that are on the other side, for ever
  // Of those that are held out, how many the weights that the run began with may have been trained on.
  std::int64_t seen = 0;
};

// A run that weights were taken from (init_from), as far as it says what they were trained on.
struct EarlierItems;

// Items of a file of their own that evaluations show.
struct HeldOutFile {
  std::int64_t items = 0;
  std::int64_t trained = 0;  // of them, those that stand in the training file too
  std::string rows = {};     // as in HeldOutShare
};

// How a run reads people's files, decided when it begins and kept in its run.json ("data_rules"): which items
// of a task are held out, what its classes are called, what its chat formats' files say, and that names of
// special tokens in texts are text. A run without that record began before there was one: it holds out by
// place (ItemStream), and such names are the tokens.
//
// An item is held out where the hash of its bytes is below the share: a file that grows adds items and moves
// none, equal items are on one side, and a larger share holds out what a smaller one does. For the trainer's
// thread.
class DataRules {
 public:
  DataRules();  // of a run that begins
  DataRules(DataRules&&) noexcept;
  DataRules& operator=(DataRules&&) noexcept;
  ~DataRules();
  // Of a run without the record.
  static DataRules Earlier();
  // Of the record. InputError where it is none.
  static DataRules Of(const nlohmann::ordered_json& record);
  // Null where a run has no record.
  nlohmann::ordered_json Json() const;

  // Shares are taken over, so that what these weights were not trained on stays held out; and what they may
  // have been trained on is said.
  void TakeOver(EarlierItems from);

  bool NamesAreText() const { return !is_earlier_; }
  // Whether the task's items are held out by place: in a run without the record, and where its plugin does it
  // (ItemStream of a count), also when that has been built anew since.
  bool IsByPlace(const std::string& task) const { return is_earlier_ || by_place_.contains(task); }
  // Its plugin does; `rows`: what is held out, as in HeldOutShare.
  void NoteByPlace(const std::string& task, const std::string& rows);

  // Divides items by their hashes. Where a side would be empty the item nearest to the share goes there, for
  // ever. InputError where that cannot be: of one item, of equal ones, or where all are asked for.
  DividedItems Divide(const HeldOutItems& asked, std::span<const std::uint64_t> hashes);
  // Evaluations of the task show these items, of another file than it trains on.
  void NoteFile(const std::string& task, std::span<const std::uint64_t> training,
                std::span<const std::uint64_t> held_out);

  // The names of the task's classes by label, as its files had them when the run began; none: nobody kept
  // any.
  const std::vector<std::string>& ClassesOf(const std::string& task) const;
  void KeepClasses(const std::string& task, std::vector<std::string> names);

  // The chat format that a config names: one that is built in, "" for plain, or that of a file, as it was
  // when the run first read it. InputErrors as those of BuiltInChatFormat and ReadChatFile.
  ChatStrings Chat(const std::string& named);

  // What a task holds out, in a word: two runs that hold out the same items have the same. "": nothing that
  // is known.
  std::string RowsHeldOut(const std::string& task) const;
  // What was decided over its items; none where that was nothing.
  const std::vector<HeldOutShare>& SharesOf(const std::string& task) const;
  // How many of how many, in words; of a task that holds out nothing that is known "none".
  std::string HeldOutWords(const std::string& task) const;

  // Whether Json says something else than what was kept of it.
  bool is_changed() const { return is_changed_ && !is_earlier_; }
  void Kept() { is_changed_ = false; }
  // What a user should know of what was decided, or of what a task found in its files; each line once.
  void Say(std::string words);
  std::vector<std::string> TakeWords();

 private:
  HeldOutShare ShareOf(const HeldOutItems& asked, std::int64_t items) const;
  // `now`: how many items there are, and which are held out.
  void Keep(const HeldOutItems& asked, HeldOutShare share, const HeldOutShare& now);

  bool is_earlier_ = false, is_changed_ = true;
  std::map<std::string, std::vector<HeldOutShare>> shares_;  // by task
  std::map<std::string, std::string> by_place_;              // what is held out, by task
  std::map<std::string, HeldOutFile> files_;                 // of tasks that hold out a file
  std::map<std::string, std::vector<std::string>> classes_;  // by task
  std::map<std::string, std::string> chats_;                 // what files said, by their paths
  std::unique_ptr<EarlierItems> from_;                       // null: weights are the run's own
  std::set<std::string> said_;
  std::vector<std::string> words_;
};

struct EarlierItems {
  struct Task {
    std::map<std::string, double, std::less<>> options;  // that are numbers
    bool has_same_files = false;
  };
  std::string run;  // its directory, for words
  DataRules rules;
  std::map<std::string, Task> tasks;
};

}  // namespace medley
