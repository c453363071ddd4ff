#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <medley/data/jsonl_file.h>

#include "data/conversation.h"
#include "data/scan_file.h"

namespace medley_volumes {

// Conversations, one a line of a JSONL file:
//   {"subject": "s12", "one_scan": 0.5, "turns": [
//     {"role": "user", "content": [{"image": "s12-1.raw", "modality": "volume", "shape": [24, 24, 24]},
//                                  {"text": " how large are the ventricles?"}]},
//     {"role": "assistant", "content": [{"text": " the ventricles are small"}]}]}
// A scan's file is beside it. Of a NIfTI-1 file (.nii, .nii.gz) the header says the shape. Any other one is
// float32 in the machine's byte order, the last dimension first, as `shape` says; expected are mean 0 and
// deviation 1. "one_scan" may be missing.
class ConversationFile {
 public:
  // Reads through all lines once, and looks at the sizes or headers of the scans' files. InputErrors
  // "FILE:LINE: turns[1].content[0]: ...", for a conversation that does not end with an assistant's turn and
  // for too many scans, too.
  explicit ConversationFile(const std::filesystem::path& file, const ScanForm& form = {});

  std::int64_t size() const { return file_.size(); }
  // Scans are read when their voxels are asked for. What is read must not outlive this.
  Conversation Read(std::int64_t item) const;
  // The conversations of each subject.
  const std::vector<std::vector<std::int64_t>>& by_subject() const { return by_subject_; }
  const std::vector<std::string>& subjects() const { return subjects_; }  // their names
  // Of an item, read when the file was.
  const ScanCounts& scans(std::int64_t item) const { return scans_[static_cast<std::size_t>(item)]; }
  // Of each modality the first scan that is a NIfTI file.
  const std::map<Modality, std::filesystem::path>& first_nifti() const { return first_nifti_; }

 private:
  std::filesystem::path folder_;
  medley::JsonlFile file_;
  std::vector<std::vector<std::int64_t>> by_subject_;
  std::vector<std::string> subjects_;
  std::vector<ScanCounts> scans_;
  ScanForm form_;
  std::map<Modality, std::filesystem::path> first_nifti_;
};

// Writes FOLDER/NAME.jsonl and a file for each scan, and makes the folder. An InputError where that cannot
// be.
std::filesystem::path WriteConversations(const std::filesystem::path& folder, const std::string& name,
                                         const std::vector<Conversation>& conversations);

}  // namespace medley_volumes
