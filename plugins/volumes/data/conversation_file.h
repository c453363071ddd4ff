#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/data/jsonl_file.h>

#include "data/conversation.h"
#include "data/conversation_json.h"
#include "data/subject_groups.h"
#include "data/training_answers.h"

namespace medley_volumes {

// Conversations of a .jsonl file, one a line; of a .json file that is a list of them; or of the .json files
// of a folder, and of the folders in it, each a list or one. ConversationOf says what is read:
//   {"subject": "s12", "one_scan": 0.5, "turns": [
//     {"role": "user", "content": [{"image": "s12-1.raw", "modality": "volume", "shape": [24, 24, 24]},
//                                  {"text": " how large are the ventricles?"}]},
//     {"role": "assistant", "content": [{"text": " the ventricles are small"}]}]}
// A scan's file is beside that which names it. Of a NIfTI-1 file (.nii, .nii.gz) the header says the shape.
// Any other one is float32 in the machine's byte order, the last dimension first, as `shape` says; expected
// are mean 0 and deviation 1. "one_scan" may be missing.
class ConversationFile {
 public:
  // Reads through all conversations once, and looks at the sizes or headers of the scans' files, each once:
  // of all that are wrong one WrongScans.
  explicit ConversationFile(const std::filesystem::path& path, ReadingForm form = {});

  std::int64_t size() const { return std::ssize(scans_); }
  // Scans are read when their voxels are asked for. What is read must not outlive this.
  Conversation Read(std::int64_t item) const;
  // The conversations of each subject, or of those who stand together in some.
  const std::vector<std::vector<std::int64_t>>& by_subject() const { return by_subject_; }
  const std::vector<std::string>& subjects() const { return subjects_; }  // their names
  // Of an item, read when the file was.
  const ScanCounts& scans(std::int64_t item) const { return scans_[static_cast<std::size_t>(item)]; }
  const std::string& subject(std::int64_t item) const { return subject_of_[static_cast<std::size_t>(item)]; }
  LastWords last_words(std::int64_t item) const { return last_words_[static_cast<std::size_t>(item)]; }
  // HashItem of each one's bytes.
  const std::vector<std::uint64_t>& hashes() const { return hashes_; }
  // Of each modality the first scan that is a NIfTI file.
  const std::map<Modality, std::filesystem::path>& first_nifti() const { return first_nifti_; }
  // Of the voxels of all scans that have a name, each once, as the model wants them.
  std::int64_t named_bytes() const { return named_bytes_; }

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t record = 0;
  };

  void Add(const Conversation& conversation);

  ReadingForm form_;
  std::unique_ptr<ScanHeaders> headers_ = std::make_unique<ScanHeaders>();
  std::vector<std::filesystem::path> paths_;
  std::optional<medley::JsonlFile> only_;  // that is kept open, where there is one
  std::vector<Place> places_;              // of the items
  SubjectGroups groups_;                   // while it is read
  std::vector<std::vector<std::int64_t>> by_subject_;
  std::vector<std::string> subjects_;
  std::vector<std::string> subject_of_;  // by item, as it says
  std::vector<ScanCounts> scans_;
  std::vector<LastWords> last_words_;
  std::vector<std::uint64_t> hashes_;
  std::map<Modality, std::filesystem::path> first_nifti_;
  std::set<std::string> names_;  // of scans
  std::int64_t named_bytes_ = 0;
};

// Writes FOLDER/NAME.jsonl and a file for each scan, and makes the folder. An InputError where that cannot
// be.
std::filesystem::path WriteConversations(const std::filesystem::path& folder, const std::string& name,
                                         const std::vector<Conversation>& conversations);

}  // namespace medley_volumes
